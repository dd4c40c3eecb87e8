"""Groups and transactions in worlds drawn from a seed, with invariants after every event.

A world is described in `world`, the invariants are listed in `witness`. `make sim SEED=n` replays
one seed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.generated import examples
from tests.simulation.world import World

# A world takes seconds of a processor: minutes on a machine that is busy with much else.
pytestmark = pytest.mark.timeout(900)

# Seeds that once found a fault, beside those among the first hundreds.
FAILED_ONCE: Final = (
    # A power cut took the name of a transaction index, and aborted records became visible.
    *(1971, 2384),
    # The coordinator could not note that a partition takes part; the write went in all the same.
    *(1084, 1100, 1109, 1111, 1131, 1156, 1158, 1264, 1301, 1316, 1347, 1421, 1459),
    # An expression that stands for topics which others had by name gave its members nothing.
    *(1076, 1179, 1413),
)
BLOCK: Final = 50
SEEDS: Final = examples(100)
BLOCKS: list[Sequence[int]] = [range(first, first + BLOCK) for first in range(1, SEEDS, BLOCK)]
BLOCKS.append(FAILED_ONCE)
if "HEADRACE_SEED" in os.environ:
    BLOCKS = [[int(os.environ["HEADRACE_SEED"])]]


def _name(seeds: Sequence[int]) -> str:
    return "failed-once" if seeds is FAILED_ONCE else f"{seeds[0]}-{seeds[-1]}"


@pytest.mark.seeds
@pytest.mark.parametrize("seeds", BLOCKS, ids=_name)
def test_groups_and_transactions(seeds: Sequence[int]) -> None:
    """Whatever happens in whatever order, the invariants hold after every event."""
    for seed in seeds:
        World(seed).run()


def test_a_seed_is_the_same_world_every_time() -> None:
    """Every event and every byte on disk is the same, whatever order sets have in a process."""
    program = (
        "from tests.simulation.world import World; world = World(8); world.run(); "
        "import sys; sys.stdout.write(world.fingerprint())"
    )
    fingerprints = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
            timeout=600,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(fingerprints) == 1
