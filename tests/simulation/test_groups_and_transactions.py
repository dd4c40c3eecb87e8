"""Groups and transactions in worlds drawn from a seed, with invariants after every event.

`make sim SEED=n` replays one seed; the invariants are listed in `witness`.
"""

from __future__ import annotations

import os

import pytest

from tests.simulation.world import World

FAILED_ONCE: list[int] = []
SEEDS = [*range(1, 21), *FAILED_ONCE]
if "HEADRACE_SEED" in os.environ:
    SEEDS = [int(os.environ["HEADRACE_SEED"])]


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_and_transactions(seed: int) -> None:
    """Whatever happens in whatever order, the invariants hold after every event."""
    World(seed).run()
