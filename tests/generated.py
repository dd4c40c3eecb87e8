"""How much is drawn at random: a sample in `make test`, twenty times as much in `make thorough`."""

from __future__ import annotations

import os
from typing import Final

THOROUGH: Final = "HEADRACE_THOROUGH" in os.environ
_TIMES: Final = 20


def examples(sample: int) -> int:
    """How many examples or seeds to try where `make test` tries `sample`."""
    return sample * _TIMES if THOROUGH else sample
