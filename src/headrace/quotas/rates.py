"""How fast somebody was lately, measured as Kafka does, and how long to wait because of it.

Use is added up in samples of one window each. A sample is kept while anything that it counts lies
within the last `samples` windows. The rate is what all samples hold by the time since the oldest
one began, and that time is taken to be `samples - 1` windows at least: whoever begins may use that
much at once before the rate is too high.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

LONGEST_THROTTLE_MS: Final = 0x7FFFFFFF  # the field of an answer holds no more


@dataclass(frozen=True, slots=True)
class QuotaWindow:
    """How use is remembered: `quota.window.num` samples of `quota.window.size.seconds`."""

    samples: int = 11
    size_ms: int = 1_000

    @property
    def span_ms(self) -> int:
        """After so long without any use nothing of it is remembered."""
        return self.samples * self.size_ms


class SampledRate:
    """The use of somebody. An object that has seen nothing for a whole span is like a new one."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        # Each is [when it began, its latest use, how much]; in the order of time.
        self._samples: list[list[float]] = []

    def record(self, amount: float, now_ms: int, window: QuotaWindow) -> None:
        """Somebody used this much, or gives it back if it is negative."""
        samples = self._samples
        if not samples or now_ms - samples[-1][0] >= window.size_ms:
            samples.append([now_ms, now_ms, amount])
            # One more than the window has: the oldest one may overlap with its beginning.
            if len(samples) > window.samples + 1:
                del samples[0]
        else:
            latest = samples[-1]
            latest[1] = now_ms
            latest[2] += amount

    def used(self, now_ms: int, window: QuotaWindow) -> float:
        """All that is remembered."""
        samples = self._samples
        while samples and now_ms - samples[0][1] >= window.span_ms:
            del samples[0]
        return sum(sample[2] for sample in samples)

    def elapsed_ms(self, now_ms: int, window: QuotaWindow) -> int:
        """The time in which it was used."""
        elapsed = now_ms - int(self._samples[0][0]) if self._samples else 0
        missing = window.samples - 1 - elapsed // window.size_ms
        return max(elapsed + max(missing, 0) * window.size_ms, 1)

    def per_second(self, now_ms: int, window: QuotaWindow) -> float:
        return self.used(now_ms, window) * 1000 / self.elapsed_ms(now_ms, window)

    def throttle_ms(self, limit: float, now_ms: int, window: QuotaWindow) -> int:
        """How long nothing more may be used, so that the rate comes down to the limit; 0 if it is.

        A rate R over a time T falls to the limit L when T has grown by (R - L) / L * T.
        """
        rate = self.per_second(now_ms, window)
        if rate <= limit:
            return 0
        wait_ms = (rate - limit) / limit * self.elapsed_ms(now_ms, window)
        return min(math.floor(min(wait_ms, LONGEST_THROTTLE_MS) + 0.5), LONGEST_THROTTLE_MS)
