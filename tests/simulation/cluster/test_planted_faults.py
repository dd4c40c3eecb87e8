"""Whether the simulation of clusters would notice: each planted fault breaks an invariant.

Each has a seed that is known to find it, which is tried first, so that this takes seconds; if the
worlds have changed since, the next seeds are tried, up to a bound.
"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import chain
from typing import Final

import pytest

from tests.simulation.cluster.plants import PLANTED, Plant, broken_by, elect_anybody
from tests.simulation.cluster.shrinking import shrink

# A world takes seconds of a processor: minutes on a machine that is busy with much else.
pytestmark = pytest.mark.timeout(900)

MOST_SEEDS: Final = 60


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_noticed(plant: Plant) -> None:
    """The invariant that the fault violates breaks in one of the first worlds."""
    first = PLANTED[plant].first_seed
    found = broken_by(plant, list(chain([first], range(1, MOST_SEEDS))))
    assert found is not None, f"{plant.__name__} breaks none of {PLANTED[plant].invariants}"


@pytest.mark.thorough
def test_a_failing_seed_shrinks_to_a_short_story() -> None:
    """Only what the failure needs is told, and the same invariant breaks."""
    with ExitStack() as stack:
        elect_anybody(stack)
        story = shrink(PLANTED[elect_anybody].first_seed, lambda _: None)
    assert story is not None
    assert story.invariant == "elects-in-sync"
    assert len(story.sentences) <= 4
