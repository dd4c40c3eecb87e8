"""Virtual time and chance: what happens next, in an order that a seed decides completely.

Everything in a simulated world is an event here, and every draw comes from `rng`. The digest covers
each event and each note with its time: two runs of a seed are the same if their digests are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from hashlib import blake2b
from heapq import heappop, heappush
from random import Random
from typing import Final

from headrace.testing.virtual_clock import VirtualClock

REMEMBERED: Final = 30


class Alarm:
    """An event that has not happened yet."""

    __slots__ = ("call", "what")

    def __init__(self, what: str, call: Callable[[], None]) -> None:
        self.what = what
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Schedule:
    """The events to come, the time, and the memory of what has happened.

    >>> schedule = Schedule(seed=1)
    >>> _ = schedule.after(20, "later", lambda: print(schedule.elapsed_ms))
    >>> _ = schedule.after(10, "sooner", lambda: print(schedule.elapsed_ms))
    >>> while schedule.step(until_ms=1_000):
    ...     pass
    10
    20
    """

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.clock = VirtualClock()
        self.events = 0
        self.recent: deque[str] = deque(maxlen=REMEMBERED)
        self._started_ms = self.clock.now_ms()
        self._heap: list[tuple[int, int, Alarm]] = []
        self._count = 0
        self._digest = blake2b(digest_size=8)

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    @property
    def elapsed_ms(self) -> int:
        return self.clock.monotonic_ms()

    def after(self, delay_ms: int, what: str, call: Callable[[], None]) -> Alarm:
        """Let something happen; what is due at the same moment happens in the order of calls."""
        self._count += 1
        alarm = Alarm(what, call)
        heappush(self._heap, (self.clock.now_ms() + delay_ms, self._count, alarm))
        return alarm

    def note(self, text: str) -> None:
        """Remember something that happens within an event."""
        line = f"{self.clock.monotonic_ms():6d} ms  {text}"
        self.recent.append(line)
        self._digest.update(line.encode())

    def step(self, until_ms: int) -> bool:
        """Let the next event happen; False if there is none before `until_ms`."""
        while self._heap and self._heap[0][0] <= self._started_ms + until_ms:
            at_ms, _, alarm = heappop(self._heap)
            if alarm.call is None:
                continue
            self.clock.advance(at_ms - self.clock.now_ms())
            self.events += 1
            self.note(alarm.what)
            alarm.call()
            return True
        return False

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()
