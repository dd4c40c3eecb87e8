"""What must be true when everything has healed and nobody does anything any more."""

from __future__ import annotations

from headrace.cluster.following import differences
from headrace.cluster.store import load_image
from headrace.types import TopicPartition
from tests.simulation.cluster.committed import ReplicaView
from tests.simulation.cluster.keeper import WatchedStore
from tests.simulation.cluster.law import State
from tests.simulation.cluster.lives import BrokerLife
from tests.simulation.cluster.witness import Witness
from tests.simulation.failure import check


def check_end(witness: Witness, store: WatchedStore, lives: list[BrokerLife]) -> None:
    """All replicas in sync, all logs the same, all images true, all transactions over."""
    for where, state in witness.law.states.items():
        check(
            state.leader >= 0 and set(state.isr) == set(state.replicas),
            "all-in-sync",
            f"{where} is {state} although everybody is well",
        )
        _check_replicas(witness, where, state, lives)
    fresh = load_image(store.session())
    for life in lives:
        assert life.running is not None
        image = life.running.broker.metadata.image
        left = differences(image, fresh)
        check(not left, "images-agree", f"{life.name} does not know of {left}")
        _check_roles(witness, life)
    if not witness.losses:
        _check_transactions(witness, lives)


def _check_replicas(
    witness: Witness, where: TopicPartition, state: State, lives: list[BrokerLife]
) -> None:
    committed = witness.committed[where]
    for life in lives:
        if life.id not in state.replicas:
            continue
        assert life.running is not None
        partition = life.running.broker.storage.partitions.get(where)
        check(partition is not None, "all-in-sync", f"{life.name} has no {where}")
        assert partition is not None
        log = partition.log
        check(
            log.log_end_offset == committed.end == log.high_watermark,
            "all-in-sync",
            f"{where} on {life.name} ends at {log.log_end_offset}, its high watermark is "
            f"{log.high_watermark}, committed is {committed.end}",
        )
        view = ReplicaView(log, life)
        view.compare(committed, committed.end, f"in the end the replica on {life.name}")
        check(view.compared == committed.end, "logs-agree", f"{where} on {life.name} has holes")


def _check_roles(witness: Witness, life: BrokerLife) -> None:
    assert life.running is not None
    partitions = life.running.broker.storage.partitions
    mine = {where for where, state in witness.law.states.items() if life.id in state.replicas}
    check(
        set(partitions) == mine,
        "images-agree",
        f"{life.name} has {sorted(partitions)} instead of {sorted(mine)}",
    )
    for where, partition in partitions.items():
        state = witness.law.states[TopicPartition(*where)]
        known = (partition.is_leader, partition.leader_epoch)
        wanted = (state.leader == life.id, state.leader_epoch)
        check(known == wanted, "images-agree", f"{life.name} plays {known} in {where}: {state}")


def _check_transactions(witness: Witness, lives: list[BrokerLife]) -> None:
    for life in lives:
        assert life.running is not None
        for host in life.running.broker.transactions.active():
            for known in host.shard.transactions.values():
                check(known.is_idle, "no-hanging", f"{known} has not ended")
    for where, committed in witness.committed.items():
        check(
            where.topic.startswith("__") or committed.stable == committed.end,
            "no-hanging",
            f"{where} ends at {committed.end}, but is stable up to {committed.stable}",
        )
    for attempt in witness.transactions.attempts.values():
        if witness.transactions.check_complete(attempt):
            witness.offsets.check_promised(attempt)
    expected = {
        b"%s@%d" % (str(where).encode(), record.offset)
        for where, end in witness.offsets.chain.items()
        for record in witness.committed[where].visible_between(0, end)
    }
    found = set(witness.transactions.sources)
    check(
        found == expected,
        "chain",
        f"too much: {sorted(found - expected)}, missing: {sorted(expected - found)}, "
        f"committed is {witness.offsets.chain}",
    )
