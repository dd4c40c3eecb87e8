"""Whether the simulation would notice: faults are planted, and an invariant must break.

Each of these faults was written by hand once to see whether anything catches it. They are what an
innocent change may do: forget a check, answer too early, lose what must be done after a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from headrace.coordinator.effects import Effects
from headrace.coordinator.group import classic, consumer
from headrace.coordinator.group.consumer import ConsumerGroup
from headrace.coordinator.group.offsets import CommittedOffsets
from headrace.coordinator.host import Host
from headrace.coordinator.transaction.shard import TransactionShard
from headrace.log.txn_index import TransactionIndex
from tests.simulation.failure import InvariantBroken
from tests.simulation.world import World

# A world takes seconds of a processor: minutes on a machine that is busy with much else.
pytestmark = pytest.mark.timeout(900)

MOST_SEEDS: Final = 120

Plant = Callable[[pytest.MonkeyPatch], None]


def answer_before_commit(patch: pytest.MonkeyPatch) -> None:
    """A reply leaves when its records are appended, flushed or not."""

    def perform(self: Host[Any, Any, Any], effects: Effects[Any, Any], now_ms: int) -> None:
        if not effects.records or self._append(effects, now_ms):
            self._carry_out(effects)

    patch.setattr(Host, "perform", perform)


def drop_markers_at_load(patch: pytest.MonkeyPatch) -> None:
    """A coordinator that restarts does not end what it had decided to end."""
    on_loaded = TransactionShard.on_loaded

    def silent(self: TransactionShard, now_ms: int) -> Effects[Any, Any]:
        effects = on_loaded(self, now_ms)
        effects.sends.clear()
        return effects

    patch.setattr(TransactionShard, "on_loaded", silent)


def take_commits_of_any_generation(patch: pytest.MonkeyPatch) -> None:
    """Members of the past may commit, in a transaction or without."""
    for owner in (classic, consumer):
        patch.setattr(owner, "check_offset_commit", lambda *_args, **_options: None)


def apply_aborted_offsets(patch: pytest.MonkeyPatch) -> None:
    """Offsets of an aborted transaction count."""
    end = CommittedOffsets.replay_end_transaction

    def commit(self: CommittedOffsets, producer_id: int, commit: bool) -> None:
        end(self, producer_id, True)

    patch.setattr(CommittedOffsets, "replay_end_transaction", commit)


def show_pending_offsets_as_stable(patch: pytest.MonkeyPatch) -> None:
    """The next owner begins where an open transaction of the last one began."""
    patch.setattr(CommittedOffsets, "is_pending", lambda *_: False)


def give_out_what_is_owned(patch: pytest.MonkeyPatch) -> None:
    """A member of the consumer protocol gets a partition before its owner has given it up."""
    patch.setattr(ConsumerGroup, "is_owned", lambda *_: False)


def forget_aborts(patch: pytest.MonkeyPatch) -> None:
    """Readers are not told which transactions were aborted."""
    patch.setattr(TransactionIndex, "append", lambda *_: None)


PLANTED: Final[dict[Plant, set[str]]] = {
    answer_before_commit: {"commits-as-acknowledged", "commits-survive", "epochs-grow"},
    drop_markers_at_load: {"progress", "no-hanging"},
    take_commits_of_any_generation: {"exactly-once", "offsets-go-forward"},
    apply_aborted_offsets: {"chain", "exactly-once"},
    show_pending_offsets_as_stable: {"exactly-once"},
    give_out_what_is_owned: {"one-owner"},
    forget_aborts: {"only-committed-is-visible"},
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_noticed(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The invariant that the fault violates breaks in one of the first worlds."""
    plant(monkeypatch)
    broken = set()
    for seed in range(1, MOST_SEEDS + 1):
        try:
            World(seed).run()
        except InvariantBroken as found:
            broken.add(str(found).partition(":")[0])
            if broken & PLANTED[plant]:
                return
    pytest.fail(f"broken were only {broken or 'none'}")
