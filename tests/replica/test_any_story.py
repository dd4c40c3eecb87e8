"""Random stories of three replicas: whatever happens, what is committed stays, and logs agree.

The rules are those of a cluster with clean elections. Brokers die and return, hear of news late or
not at all, lose answers; leaders change their in-sync replicas while somebody else changes the
partition. A second machine also takes away what was not synced, and flushes before it counts.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headrace.replica.waiters import CommitWaiter
from tests.generated import examples
from tests.replica.cluster import (
    LAG_TIME_MAX_MS,
    Cluster,
    Replica,
    answer,
    batch,
)
from tests.settings import log_config

BROKERS = (1, 2, 3)
brokers = st.sampled_from(BROKERS)
work = st.sampled_from(
    [
        *("produce", "produce", "produce_carelessly", "fetch", "fetch", "fetch", "fetch"),
        *("propose", "decide", "flush", "checkpoint", "lose_an_answer"),
    ]
)


class Replicas(RuleBasedStateMachine):
    """Processes die, disks remember."""

    config = log_config()
    survives_power_cuts = False

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(*BROKERS, config=self.config)
        self.cluster.elect(1)
        self.written = 0
        self.acked: dict[int, str] = {}  # by offset
        self.committed: dict[int, str] = {}  # as anybody could have read them
        self.proposed: tuple[Replica, int, tuple[int, ...]] | None = None

    # -- what may happen --------------------------------------------------------------------------

    @rule(steps=st.lists(st.tuples(work, brokers), min_size=1, max_size=10))
    def work(self, steps: list[tuple[str, int]]) -> None:
        """What happens all the time."""
        for what, where in steps:
            if self.cluster[where].is_alive:
                getattr(self, f"_{what}")(self.cluster[where])
            self.what_can_be_read_is_the_same_everywhere_and_for_ever()

    def _produce(self, replica: Replica, acks: int = -1) -> None:
        """To whoever believes that it leads."""
        partition = replica.partition
        if not partition.is_leader:
            return
        value = f"m{self.written}"
        self.written += 1
        appended = partition.append(batch(value), acks=acks, now_ms=self.cluster.now_ms)
        if acks == -1:
            self._await(replica, appended.last_offset, value)

    def _produce_carelessly(self, replica: Replica) -> None:
        self._produce(replica, acks=1)

    def _await(self, replica: Replica, offset: int, value: str) -> None:
        partition = replica.partition

        def told() -> None:
            if partition.commit_fault(offset + 1) is None:
                self.acked[offset] = value

        if partition.is_acknowledged(offset + 1):
            told()
        else:
            partition.await_commit(offset + 1, CommitWaiter(told))

    def _fetch(self, replica: Replica) -> None:
        self.cluster.fetch(replica.id)

    def _flush(self, replica: Replica) -> None:
        replica.flush()

    def _checkpoint(self, replica: Replica) -> None:
        replica.checkpoint()

    def _lose_an_answer(self, replica: Replica) -> None:
        """The leader hears where the follower is, and the follower hears nothing."""
        fetcher = replica.fetcher
        if fetcher is None or fetcher.leader_id < 0:
            return
        request = fetcher.next_request(self.cluster.now_ms)
        leader = self.cluster[fetcher.leader_id]
        if request is not None:
            if leader.is_alive:
                answer(leader, request, self.cluster.now_ms)
            fetcher.on_lost(self.cluster.now_ms)

    def _propose(self, replica: Replica) -> None:
        """A leader begins to change its in-sync replicas; one such change is under way at most."""
        partition = replica.partition
        if self.proposed is not None or not partition.is_leader:
            return
        wanted = partition.wanted_isr(
            self.cluster.now_ms, lag_time_max_ms=LAG_TIME_MAX_MS, broker_epochs=self.cluster.epochs
        )
        if wanted is not None:
            known = partition.leadership.partition_epoch
            partition.propose_isr(wanted)
            self.proposed = (replica, known, wanted)

    def _decide(self, _: Replica | None = None) -> None:
        """The tree takes the proposal if nobody changed the partition since the leader looked."""
        if self.proposed is None:
            return
        replica, known, wanted = self.proposed
        self.proposed = None
        if self.cluster.state.partition_epoch == known:
            self.cluster.commit(replace(self.cluster.state, isr=wanted))
        if replica.is_alive and replica.hears:
            replica.partition.settle_isr()

    @rule(ms=st.sampled_from([1, 1000, LAG_TIME_MAX_MS // 2, LAG_TIME_MAX_MS + 1]))
    def wait(self, ms: int) -> None:
        self.cluster.now_ms += ms

    @rule(where=brokers, at_once=st.booleans())
    def stop(self, where: int, at_once: bool) -> None:
        """A broker dies, and the controller hears of it at once or perhaps later."""
        if self.cluster[where].is_alive:
            self._stop(self.cluster[where])
            if at_once:
                self.hear_of_a_loss(where)

    def _stop(self, replica: Replica) -> None:
        replica.kill()

    @rule(where=brokers)
    def hear_of_a_loss(self, where: int) -> None:
        """The controller's turn."""
        state = self.cluster.state
        if not self.cluster[where].is_alive and (where in state.isr or where == state.leader):
            self.cluster.lose(where)

    @rule(where=brokers)
    def start(self, where: int) -> None:
        if not self.cluster[where].is_alive:
            self.cluster.start(where)

    @rule(where=brokers)
    def elect(self, where: int) -> None:
        """A preferred election, or any other clean one."""
        if where in self.cluster.state.isr and self.cluster[where].is_alive:
            self.cluster.elect(where, self.cluster.state.isr)

    @rule(where=brokers)
    def go_deaf_or_hear(self, where: int) -> None:
        replica = self.cluster[where]
        if not replica.hears and replica.is_alive:
            self.cluster.apply(replica)
            if self.proposed is None or self.proposed[0] is not replica:
                replica.partition.settle_isr()
        replica.hears = not replica.hears

    # -- what must hold ---------------------------------------------------------------------------

    @invariant()
    def what_can_be_read_is_the_same_everywhere_and_for_ever(self) -> None:
        for replica in self.cluster.replicas.values():
            if not replica.is_alive:
                continue
            for offset, value in enumerate(replica.readable()):
                known = self.committed.setdefault(offset, value)
                assert value == known, f"offset {offset} was {known}, {replica.id} has {value}"
        for offset, value in self.acked.items():
            assert self.committed.get(offset) == value, f"{value} was acknowledged"

    @invariant()
    def a_leader_of_the_present_epoch_has_everything(self) -> None:
        state = self.cluster.state
        if state.leader < 0 or not self.cluster[state.leader].is_alive:
            return
        leader = self.cluster[state.leader]
        if leader.partition.leader_epoch != state.leader_epoch:
            return
        values = leader.values()
        for offset, value in self.committed.items():
            assert offset < len(values), f"{leader.id} lost {value} at {offset}"
            assert values[offset] == value

    def teardown(self) -> None:
        """Everybody comes back, and everybody has the same."""
        cluster = self.cluster
        self._decide()
        for replica in cluster.replicas.values():
            if replica.is_alive:
                replica.hears = True
                cluster.apply(replica)
            else:
                cluster.start(replica.id)
        if cluster.state.leader < 0 or not cluster.leader.is_alive:
            alive = [each for each in cluster.state.isr if cluster[each].is_alive]
            cluster.elect(alive[0], cluster.state.isr)
        if cluster.leader.partition.is_leader:
            cluster.leader.partition.settle_isr()
        cluster.replicate()
        self.what_can_be_read_is_the_same_everywhere_and_for_ever()
        self.a_leader_of_the_present_epoch_has_everything()
        end = cluster.leader.log.log_end_offset
        for replica in cluster.replicas.values():
            assert replica.partition.high_watermark == replica.log.log_end_offset == end
            assert replica.data(end) == cluster.leader.data(end)
        assert set(cluster.state.isr) == set(BROKERS)


class DurableReplicas(Replicas):
    """The power fails, and flush.messages=1 says what may count before it does."""

    config = log_config(flush_messages=1)

    def _stop(self, replica: Replica) -> None:
        replica.crash()


_SETTINGS = settings(
    max_examples=examples(50),
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestReplicas = Replicas.TestCase
TestReplicas.settings = _SETTINGS
TestDurableReplicas = DurableReplicas.TestCase
TestDurableReplicas.settings = _SETTINGS
