"""Workers that share a queue in simulated clusters: every record is settled once, and every one is,
whatever befalls the leader of the queue and both coordinators meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

import pytest

from headrace.broker.sharing.partitions import SharePartitions
from headrace.broker.sharing.states import KeptShare, ShareStates
from headrace.coordinator.group.share import ShareGroup
from headrace.coordinator.group.share.partitions import StatePartitions
from headrace.errors import Error
from tests.simulation.cluster.queues import QueueWitness
from tests.simulation.cluster.world import ClusterWorld
from tests.simulation.failure import InvariantBroken

# A world takes seconds of a processor: minutes on a machine that is busy with much else.
pytestmark = pytest.mark.timeout(900)

SEEDS: Final = range(601, 603)
MOST_SEEDS: Final = 20


def test_every_record_of_a_queue_is_settled_once() -> None:
    """Accepted, rejected, or delivered as often as it may be; and some were delivered again."""
    redelivered = 0
    for seed in SEEDS:
        queues = QueueWitness()
        ClusterWorld(seed, queues=queues).run()
        assert queues.settled
        redelivered += queues.redelivered
    assert redelivered


def acknowledge_what_is_not_kept(stack: ExitStack) -> None:
    """A worker is told that its word is kept before the share coordinator has heard of it."""

    async def write(*_: Any) -> Error:
        return Error.NONE

    stack.enter_context(patch.object(ShareStates, "write", write))


def forget_what_was_settled(stack: ExitStack) -> None:
    """A new leader of the queue believes that everything beyond the start is still to be done."""
    read = ShareStates.read

    async def without_batches(self: ShareStates, *args: Any) -> KeptShare | Error:
        kept = await read(self, *args)
        return kept._replace(batches=[]) if isinstance(kept, KeptShare) else kept

    stack.enter_context(patch.object(ShareStates, "read", without_batches))


def forget_that_there_is_state(stack: ExitStack) -> None:
    """A new group coordinator begins all states anew."""
    on_loaded = ShareGroup.on_loaded

    def forgetful(self: ShareGroup, now_ms: int) -> None:
        on_loaded(self, now_ms)
        self.partitions = StatePartitions()

    stack.enter_context(patch.object(ShareGroup, "on_loaded", forgetful))


def deliver_without_limit(stack: ExitStack) -> None:
    """Nobody counts how often a record was delivered."""
    limits = SharePartitions.limits

    def endless(self: SharePartitions, group_id: str) -> Any:
        return replace(limits(self, group_id), delivery_count_limit=1_000)

    stack.enter_context(patch.object(SharePartitions, "limits", endless))


PLANTED: Final[dict[Callable[[ExitStack], None], tuple[int, str]]] = {
    acknowledge_what_is_not_kept: (601, "one-outcome"),
    forget_what_was_settled: (601, "one-outcome"),
    forget_that_there_is_state: (601, "one-outcome"),
    deliver_without_limit: (601, "delivery-limit"),
}
"""Faults with the first seed in which each is noticed, and the invariant that it breaks."""


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_noticed(plant: Callable[[ExitStack], None]) -> None:
    """The invariant that the fault violates breaks in one of the first worlds."""
    first, invariant = PLANTED[plant]
    with ExitStack() as stack:
        plant(stack)
        for seed in (first, *range(SEEDS[0], SEEDS[0] + MOST_SEEDS)):
            try:
                ClusterWorld(seed, queues=QueueWitness()).run()
            except InvariantBroken as broken:
                if str(broken).startswith(invariant):
                    return
    pytest.fail(f"{plant.__name__} does not break {invariant}")
