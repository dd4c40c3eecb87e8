"""How long to wait before the next try: twice as long each time, up to a bound, never in step.

The bound keeps a repaired cause from waiting for hours; the jitter keeps many pipelines that lost
the same broker from coming back at the same moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Backoff(NamedTuple):
    first_s: float = 1.0
    max_s: float = 60.0

    def delay_s(self, failures: int, draw: Callable[[], float]) -> float:
        """The pause after this many failures in a row; `draw` gives numbers from 0 to 1."""
        # Beyond 2^32 the power only grows too large for a float; the bound has long been reached.
        full_s = min(self.max_s, self.first_s * 2.0 ** min(failures - 1, 32))
        return full_s * (0.5 + 0.5 * draw())
