"""Faults that are planted to see whether the simulation would notice.

Each is what an innocent change may do: forget a check, count too early, believe what is old. Beside
each stands which invariants must break, and the first seed in which one of them does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest.mock import patch

from headrace.broker.membership import isr, membership, metadata
from headrace.broker.membership.controller import Controller
from headrace.broker.membership.metadata import Metadata
from headrace.broker.storage import fetchers
from headrace.broker.transactions.remote import RemoteTransactions
from headrace.cluster import controller
from headrace.cluster.image import PartitionImage
from headrace.coordination.tree import Check
from headrace.coordinator.effects import Effects
from headrace.coordinator.host import Host
from headrace.errors import Error
from headrace.log.producer_state import ProducerState
from headrace.replica import following
from headrace.replica.isr import InSyncReplicas
from headrace.replica.leadership import Leadership
from headrace.replica.partition import Partition

Plant = Callable[[ExitStack], None]


def _put(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    stack.enter_context(patch.object(owner, name, value))


def truncate_to_the_high_watermark(stack: ExitStack) -> None:
    """A new follower cuts its log where it believes everything is committed (before KIP-101)."""
    follow = Partition.follow

    def cut(self: Partition, leadership: Leadership) -> None:
        epoch = self.leader_epoch
        follow(self, leadership)
        if self.leader_epoch != epoch:
            self.log.truncate_to(self.log.high_watermark)
            following._stay_inside(self)

    _put(stack, Partition, "follow", cut)


def ignore_divergence(stack: ExitStack) -> None:
    """A leader never tells a follower that their histories differ."""
    read = Partition.read_for_replica

    def believe(self: Partition, fetch: Any, *args: Any, **options: Any) -> Any:
        return read(self, fetch._replace(last_fetched_epoch=-1), *args, **options)

    _put(stack, Partition, "read_for_replica", believe)


def elect_anybody(stack: ExitStack) -> None:
    """Every topic allows unclean elections, whatever it says."""
    _put(stack, Controller, "_unclean_allowed", lambda *_: True)


def acknowledge_what_is_written(stack: ExitStack) -> None:
    """acks=all is answered when the leader has the records."""

    def is_acknowledged(self: Partition, required: int, *, acks: int = -1) -> bool:
        return self.durable_offset >= required

    _put(stack, Partition, "is_acknowledged", is_acknowledged)


def count_committed_members_only(stack: ExitStack) -> None:
    """The high watermark does not wait for members that are about to enter the ISR."""

    def recount(self: InSyncReplicas) -> None:
        self._joining.clear()
        self.awaited = tuple(
            follower for each, follower in self.followers.items() if each in self._leadership.isr
        )

    _put(stack, InSyncReplicas, "_recount", recount)


def count_a_shrink_early(stack: ExitStack) -> None:
    """Whoever is to leave the ISR does not count from the moment of the proposal."""
    recount = InSyncReplicas._recount

    def early(self: InSyncReplicas) -> None:
        recount(self)
        if self.proposed is not None:
            self.awaited = tuple(
                each for each in self.awaited if each.broker_id in (self.proposed or ())
            )

    _put(stack, InSyncReplicas, "_recount", early)


def enter_before_catching_up(stack: ExitStack) -> None:
    """A follower enters the ISR wherever its log ends."""
    _put(stack, Partition, "_least_end", lambda _: 0)
    wanted = InSyncReplicas.wanted

    def anybody(self: InSyncReplicas, *args: Any, **options: Any) -> Any:
        for follower in self.followers.values():
            follower.last_caught_up_ms = args[0]
        return wanted(self, *args, **{**options, "least_end": 0})

    _put(stack, InSyncReplicas, "wanted", anybody)


def keep_leading(stack: ExitStack) -> None:
    """Who leads does not listen when somebody else is to."""
    follow = Partition.follow

    def stay(self: Partition, leadership: Leadership) -> None:
        if not self.is_leader:
            follow(self, leadership)

    _put(stack, Partition, "follow", stay)


def decide_without_epoch(stack: ExitStack) -> None:
    """A controller does not check that it still is the controller."""
    ops_for = vars(metadata)["ops_for"]

    def unchecked(*args: Any, **options: Any) -> Any:
        return [op for op in ops_for(*args, **options) if not isinstance(op, Check)]

    _put(stack, metadata, "ops_for", unchecked)
    _put(stack, Controller, "_resign", lambda *_: None)


def start_without_stepping_down(stack: ExitStack) -> None:
    """A broker that starts is in sync wherever its last life was."""
    _put(stack, membership, "step_down", lambda *_: [])


def run_ahead_of_the_leader(stack: ExitStack) -> None:
    """A follower takes for committed all that it has."""
    follow_offsets = following.follow_offsets

    def ahead(partition: Partition, *, high_watermark: int, log_start_offset: int) -> None:
        end = max(high_watermark, partition.log.log_end_offset)
        follow_offsets(partition, high_watermark=end, log_start_offset=log_start_offset)

    _put(stack, following, "follow_offsets", ahead)


def forget_producers_when_cutting(stack: ExitStack) -> None:
    """A log that is cut knows its producers no more."""
    reload = ProducerState.truncate_and_reload

    def forget(self: ProducerState, *args: Any) -> None:
        reload(self, *args)
        self._producers.clear()

    _put(stack, ProducerState, "truncate_and_reload", forget)


def believe_every_transaction(stack: ExitStack) -> None:
    """A leader does not ask the coordinator whether a transaction is open."""

    async def admit(self: Any, _id: str, _producer: Any, partitions: Any, *, adds: bool) -> Any:
        return dict.fromkeys(partitions, Error.NONE)

    _put(stack, RemoteTransactions, "admit_remote", admit)


def answer_before_commit(stack: ExitStack) -> None:
    """A coordinator answers when its records are written, replicated or not."""

    def perform(self: Host[Any, Any, Any], effects: Effects[Any, Any], now_ms: int) -> None:
        if not effects.records or self._append(effects, now_ms):
            self._carry_out(effects)

    _put(stack, Host, "perform", perform)


def release_as_success(stack: ExitStack) -> None:
    """Who waits for a commit is told that all is well, also when the leader is deposed."""
    _put(stack, Partition, "commit_fault", lambda *_, **__: None)


def drop_old_replicas_first(stack: ExitStack) -> None:
    """A partition that moves lets its old replicas go before the new ones have caught up."""
    advance = vars(controller)["advance"]

    def hurry(partition: PartitionImage, alive: Any) -> PartitionImage:
        early = replace(partition, isr=(*partition.isr, *partition.adding))
        moved: PartitionImage = advance(early, alive)
        return moved

    _put(stack, controller, "advance", hurry)


def forget_after_reconnect(stack: ExitStack) -> None:
    """Whoever was disconnected goes on without reading what it has missed."""

    async def refresh(self: Metadata) -> None:
        return None

    _put(stack, Metadata, "refresh", refresh)


def enter_from_an_earlier_life(stack: ExitStack) -> None:
    """Who had caught up before its broker started again enters the ISR as if it still had all."""
    wanted = InSyncReplicas.wanted

    def whoever(self: InSyncReplicas, *args: Any, **options: Any) -> Any:
        epochs = {each: follower.broker_epoch for each, follower in self.followers.items()}
        return wanted(self, *args, **{**options, "broker_epochs": epochs})

    decide_one = isr._decide_one

    def believe(image: Any, proposal: Any) -> Any:
        return decide_one(image, replace(proposal, joining={}))

    _put(stack, InSyncReplicas, "wanted", whoever)
    _put(stack, isr, "_decide_one", believe)


def sleep_through_a_flush(stack: ExitStack) -> None:
    """A fetcher that gets a partition with a flush under way is not woken when it is done.

    This one was in the code, and was found by the simulation.
    """

    def add(self: Any, partition: Partition) -> None:
        self._machine.add(partition)
        self._wake.set()

    _put(stack, fetchers._Fetcher, "add", add)


@dataclass(frozen=True, slots=True)
class Expectation:
    """Which invariants a planted fault breaks, and a seed in which it does."""

    invariants: frozenset[str]
    first_seed: int


def _breaks(first_seed: int, *invariants: str) -> Expectation:
    return Expectation(frozenset(invariants), first_seed)


PLANTED: Final[dict[Plant, Expectation]] = {
    truncate_to_the_high_watermark: _breaks(2, "committed-survives", "logs-agree"),
    ignore_divergence: _breaks(1, "logs-agree", "all-in-sync"),
    elect_anybody: _breaks(2, "elects-in-sync"),
    acknowledge_what_is_written: _breaks(1, "acknowledged-is-committed"),
    count_committed_members_only: _breaks(12, "joins-in-sync", "committed-survives"),
    count_a_shrink_early: _breaks(8, "committed-survives", "logs-agree", "joins-in-sync"),
    enter_before_catching_up: _breaks(1, "joins-in-sync"),
    keep_leading: _breaks(4, "all-in-sync", "images-agree", "progress"),
    decide_without_epoch: _breaks(1, "controller-acts"),
    start_without_stepping_down: _breaks(19, "committed-survives"),
    run_ahead_of_the_leader: _breaks(1, "high-watermark"),
    forget_producers_when_cutting: _breaks(3, "no-duplicates", "no-gaps"),
    believe_every_transaction: _breaks(5, "no-hanging", "progress", "all-or-nothing"),
    answer_before_commit: _breaks(10, "commits-as-acknowledged", "exactly-once", "all-or-nothing"),
    release_as_success: _breaks(1, "acknowledged-is-committed"),
    drop_old_replicas_first: _breaks(12, "isr-of-replicas", "committed-survives", "joins-in-sync"),
    forget_after_reconnect: _breaks(1, "images-agree", "progress", "all-in-sync"),
    sleep_through_a_flush: _breaks(24, "all-in-sync", "progress"),
    enter_from_an_earlier_life: _breaks(68, "joins-in-sync", "committed-survives"),
}


def broken_by(plant: Plant, seeds: Sequence[int]) -> tuple[int, str] | None:
    """The first of these seeds in which a planted fault breaks what it should, and what."""
    from tests.simulation.cluster.world import ClusterWorld
    from tests.simulation.failure import InvariantBroken

    with ExitStack() as stack:
        plant(stack)
        for seed in seeds:
            try:
                ClusterWorld(seed).run()
            except InvariantBroken as broken:
                name = str(broken).partition(":")[0]
                if name in PLANTED[plant].invariants:
                    return seed, name
    return None
