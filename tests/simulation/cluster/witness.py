"""Looks at every broker after each of its turns, and says which invariant is broken.

    committed-survives        what is committed stays: see `promises` for when it may not
    one-leader                a leader epoch of a partition has one leader
    logs-agree                replicas have the same batches below their high watermarks
    high-watermark            never goes back for a leader, never ahead of what is committed
    acknowledged-is-committed what was acknowledged with acks=all is committed, as it was sent
    acknowledged-in-sync      and at least min.insync.replicas brokers have it
    joins-in-sync             who enters the ISR has everything that is committed
    no-duplicates, no-gaps    an idempotent producer's batches are there once and in order
    readers-see-committed     readers get what is committed, from where they asked, and no aborts
    only-committed-is-visible readers of committed records see nothing aborted or undecided
    exactly-once, one-outcome of transactions, as in `tests.simulation.witness`
    commits-as-acknowledged   committed offsets of groups are those that were acknowledged, or later
    loads                     internal topics can be loaded wherever they are led
    no-exceptions             no task of a broker fails in a way that nobody expected

and those of `law` with every transaction of the tree. When everything has healed:

    progress                  every client has finished its work
    all-in-sync               every replica is in sync and all have the same bytes
    images-agree              every broker knows what the tree says, and plays the role it says
    all-or-nothing, no-hanging, chain   of transactions, as in `tests.simulation.witness`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from headrace.coordinator.host import HostState
from headrace.replica.partition import Partition
from headrace.testing.simulated_network import SimulatedCall
from headrace.types import TopicPartition
from headrace.wire.messages.fetch import FetchRequest
from headrace.wire.messages.offset_fetch import OffsetFetchRequest
from headrace.wire.messages.produce import ProduceRequest
from tests.simulation.catalogue import Catalogue
from tests.simulation.cluster.answers import Answers, server_of
from tests.simulation.cluster.committed import CommittedLog, ReplicaView, chained, read_batches
from tests.simulation.cluster.keeper import WatchedStore
from tests.simulation.cluster.law import Law, State
from tests.simulation.cluster.lives import BrokerLife
from tests.simulation.cluster.promises import Promises
from tests.simulation.failure import InvariantBroken, check, fail
from tests.simulation.offsets_ledger import OffsetsLedger
from tests.simulation.transactions_ledger import TransactionsLedger

_READ_COMMITTED: Final = 1


class Witness:
    """All that was promised to anybody, and the checks of it."""

    def __init__(
        self,
        store: WatchedStore,
        catalogue: Catalogue,
        chain_group: str,
        *,
        is_up: Callable[[int], bool],
        allows_unclean: Callable[[str], bool],
        min_in_sync: Callable[[str], int],
        is_strict: bool,
    ) -> None:
        self.broken: InvariantBroken | None = None
        self.law = Law(store, allows_unclean)
        self.promises = Promises(self.law, is_up, is_strict=is_strict)
        self.committed: dict[TopicPartition, CommittedLog] = {}
        self.transactions = TransactionsLedger()
        self.offsets = OffsetsLedger(catalogue, chain_group)
        self.written: dict[TopicPartition, list[bytes]] = {}
        # How often committed records were lost, and might be, of topics on which others rely:
        # from then on nobody knows what transactions and groups should have.
        self.losses = 0
        self._store = store
        self._allows_unclean = allows_unclean
        self._views: dict[tuple[int, TopicPartition], ReplicaView] = {}
        self._leaders: dict[tuple[CommittedLog, int], int] = {}
        self.answers = Answers(
            self.committed,
            self.law,
            self.promises,
            holders=self._holders,
            min_in_sync=min_in_sync if is_strict else lambda _: 0,
            is_overtaken=self._is_overtaken,
        )
        self.law.on_change = self._on_change
        store.on_commit = self._guarded(self.law.on_commit)

    def _guarded(self, look: Callable[..., None]) -> Callable[..., None]:
        """What is found inside a broker's turn is kept until it is over: tasks swallow it."""

        def guarded(*args: Any) -> None:
            try:
                look(*args)
            except InvariantBroken as broken:
                self.broken = self.broken or broken

        return guarded

    def guard(self, name: str) -> Callable[..., None]:
        return self._guarded(getattr(self, name))

    # What goes over the wire.

    def on_arrival(self, call: SimulatedCall) -> None:
        if call.client_id[0] == "c":
            self.offsets.on_arrival(call)

    def on_answer(self, life: BrokerLife, call: SimulatedCall, response: Any) -> None:
        # Whatever the answer tells is true by now, and the broker may not see the end of its turn.
        self._look_at_replicas(life)
        request = call.request
        if call.client_id[0] != "c":
            return  # a broker
        if isinstance(request, ProduceRequest | FetchRequest):
            assert life.running is not None
            self.answers.note(call, response, life.running.broker.storage.partitions)
        elif self.losses:
            pass
        elif isinstance(request, OffsetFetchRequest):
            if self._is_answered_by_leader(call):
                self.offsets.on_answer(call, response)
        else:
            self.offsets.on_answer(call, response)
            self.transactions.on_answer(call, response)

    def _is_answered_by_leader(self, call: SimulatedCall) -> bool:
        """A coordinator that was deposed and does not know yet may tell what was true before."""
        leaders = {
            state.leader
            for where, state in self.law.states.items()
            if where.topic == "__consumer_offsets"
        }
        return leaders == {server_of(call)}

    # The tree.

    def _on_change(self, where: TopicPartition, before: State | None, after: State | None) -> None:
        self.promises.on_change(where, before, after)
        if after is None:
            self._forget(where)
            return
        if before is None:
            self.committed[where] = CommittedLog(where, after.topic_id)
            return
        for broker_id in set(after.isr) - set(before.isr):
            view = self._views.get((broker_id, where))
            committed = self.committed[where]
            if view is None or view.life.is_dead or where in self.promises.excused:
                continue
            check(
                view.log.log_end_offset >= committed.end,
                "joins-in-sync",
                f"broker {broker_id} enters the ISR of {where} with {view.log.log_end_offset} of "
                f"{committed.end} offsets",
            )

    def _forget(self, where: TopicPartition) -> None:
        self.committed.pop(where, None)
        for key in [each for each in self._views if each[1] == where]:
            del self._views[key]
        self.transactions.forget(where.topic)
        self.offsets.on_topic_deleted(where.topic)

    # After every turn of a broker.

    def look_at(self, life: BrokerLife) -> None:
        self._look_at_replicas(life)
        self.answers.settle()

    def _look_at_replicas(self, life: BrokerLife) -> None:
        if life.running is not None and not life.has_died:
            looked = life.looked_at
            for partition in life.running.broker.storage.partitions.values():
                log = partition.log
                seen = (
                    log.log_end_offset,
                    log.high_watermark,
                    log.truncations,
                    partition.leader_epoch,
                )
                if looked.get(partition) == seen:
                    continue  # Nothing has happened to it.
                looked[partition] = seen
                committed = self.committed.get(partition.topic_partition)
                if committed is not None and committed.topic_id == partition.topic_id:
                    self._look_at_replica(life, partition, committed)

    def _look_at_replica(
        self, life: BrokerLife, partition: Partition, committed: CommittedLog
    ) -> None:
        log = partition.log
        key = (life.id, partition.topic_partition)
        view = self._views.get(key)
        if view is None or view.log is not log:
            before, view = view, ReplicaView(log, life)
            view.led = -1 if before is None else before.leads
            self._views[key] = view
            view.era = committed.era if log.log_end_offset == 0 else -1
        who = f"the replica on {life.name}"
        if partition.is_leader:
            if view.leads != partition.leader_epoch:
                self._on_leads(life, partition, committed, view)
            elif log.truncations != view.truncations:
                fail("high-watermark", f"{who} of {committed.where} leads, and cuts its log")
        elif view.leads >= 0:
            view.leads = -1
        if log.truncations != view.truncations:
            view.truncations = log.truncations
            view.compared = _known_end(committed, min(view.compared, log.log_end_offset))
            view.high_watermark = 0
            view.era = committed.era
        if view.era != committed.era:
            if log.leader_epochs.latest_epoch < committed.era_epoch:
                return  # It does not know yet that records were lost.
            view.era = committed.era
            view.compared = _known_end(committed, min(view.compared, committed.end))
        if self._allows_unclean(committed.where.topic) and (
            not partition.is_leader
            or self._is_overtaken(committed.where, life.id, partition.leader_epoch)
        ):
            return  # Whom it follows, or itself, may have been replaced: it is compared in the end.
        high_watermark = log.high_watermark
        if high_watermark != view.high_watermark:
            self._on_high_watermark(partition, committed, view, who)
        view.led = -1
        if log.log_end_offset >= committed.end:
            self.promises.holds_everything(committed.where, life.id)

    def _on_leads(
        self, life: BrokerLife, partition: Partition, committed: CommittedLog, view: ReplicaView
    ) -> None:
        """A broker begins to lead: it has everything, or is late, or nobody was promised."""
        where, epoch = committed.where, partition.leader_epoch
        other = self._leaders.setdefault((committed, epoch), life.id)
        check(other == life.id, "one-leader", f"{where}: {other} and {life.id} lead {epoch}")
        view.leads = epoch
        view.high_watermark = 0
        if epoch < committed.epoch:
            return
        agreed = self._agreed_end(partition, committed)
        reason = self.promises.excused.pop(where, None)
        if agreed < committed.end:
            check(
                reason is not None,
                "committed-survives",
                f"{life.name} leads {where} in epoch {epoch} with {agreed} of {committed.end} "
                "offsets that are committed",
            )
            if not self._allows_unclean(where.topic):
                self.losses += 1
            committed.cut(agreed, epoch)
            self.transactions.cut(where, committed.stable)
            view.era = committed.era
            view.compared = committed.end

    def _agreed_end(self, partition: Partition, committed: CommittedLog) -> int:
        agreed, chain = 0, b""
        for header, data in read_batches(partition.log, 0, partition.log.log_end_offset):
            chain = chained(chain, data)
            if committed.chain_at(header.next_offset) != chain:
                break
            agreed = header.next_offset
        return agreed

    def _on_high_watermark(
        self, partition: Partition, committed: CommittedLog, view: ReplicaView, who: str
    ) -> None:
        log, where = partition.log, committed.where
        high_watermark = log.high_watermark
        if partition.is_leader:
            check(
                high_watermark >= view.high_watermark,
                "high-watermark",
                f"that of {who} of {where} went from {view.high_watermark} to {high_watermark}",
            )
        view.high_watermark = high_watermark
        view.compare(committed, high_watermark, who)
        if high_watermark <= committed.end:
            return
        if committed.era and not partition.is_leader:
            return  # It may remember what was committed before records were lost.
        # Nobody saw what a leader committed in the turn in which it died; its checkpoint may tell.
        epoch = partition.leader_epoch if partition.is_leader else view.led
        check(
            epoch >= max(committed.epoch, 0),
            "high-watermark",
            f"{who} of {where}, in epoch {partition.leader_epoch}, has {high_watermark}, but only "
            f"{committed.end} offsets are committed in epoch {committed.epoch}",
        )
        for header, data in read_batches(log, committed.end, high_watermark):
            committed.extend(header, data, epoch)
        view.compared = committed.end
        if not where.topic.startswith("__"):
            found = committed.newly_stable()
            if not self.losses:
                self.transactions.extend(where, committed.stable, found)

    def _holders(self, where: TopicPartition, end_offset: int) -> list[int]:
        """Which brokers have a partition up to an offset, running or not."""
        return [
            broker_id
            for (broker_id, each), view in self._views.items()
            if each == where and view.log.log_end_offset >= end_offset
        ]

    def _is_overtaken(self, where: TopicPartition, broker_id: int, epoch: int = -1) -> bool:
        """Whether a broker may go on as a leader whose successor does not have all that it has."""
        state, committed = self.law.states.get(where), self.committed.get(where)
        if state is None or committed is None:
            return False
        if not (
            self._allows_unclean(where.topic) or committed.era or where in self.promises.excused
        ):
            return False
        return state.leader != broker_id or (epoch >= 0 and state.leader_epoch != epoch)

    # When everything has healed.

    def look_at_groups(self, lives: Iterable[BrokerLife]) -> None:
        """What the groups' coordinators have committed, where they lead."""
        for life in lives:
            if life.running is None or life.is_dead:
                continue
            for index, host in life.running.broker.groups.hosts.items():
                state = self.law.states.get(TopicPartition("__consumer_offsets", index))
                if host.state is HostState.ACTIVE and state is not None:
                    partition = host.partition
                    is_safe = partition.high_watermark >= partition.log.log_end_offset
                    if state.leader == life.id and is_safe and not self.losses:
                        names = set(host.shard.offsets.group_ids())
                        self.offsets.look(host.shard, names, for_good=True)

    def is_in_sync(self) -> bool:
        return all(
            state.leader >= 0 and set(state.isr) == set(state.replicas)
            for state in self.law.states.values()
        )


def _known_end(committed: CommittedLog, offset: int) -> int:
    """The last end of a committed batch that is not beyond an offset."""
    while offset > 0 and committed.chain_at(offset) is None:
        offset -= 1
    return offset
