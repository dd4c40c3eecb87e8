from __future__ import annotations

import pytest

from headrace.runtime.clock import Clock
from headrace.testing import VirtualClock


def test_time_passes_only_on_demand() -> None:
    """Both clocks move together and only when told."""
    clock: Clock = VirtualClock(now_ms=5_000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (5_000, 0)
    assert isinstance(clock, VirtualClock)
    clock.advance(1_500)
    clock.advance(0)
    assert (clock.now_ms(), clock.monotonic_ms()) == (6_500, 1_500)


def test_the_wall_clock_may_be_set_back() -> None:
    """An operator or NTP moves the wall clock; deadlines are not touched."""
    clock = VirtualClock(now_ms=5_000)
    clock.advance(100)
    clock.set_wall(1_000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (1_000, 100)


def test_time_never_goes_back() -> None:
    """A negative advance is a mistake in the test."""
    with pytest.raises(ValueError, match="set_wall"):
        VirtualClock().advance(-1)
