"""Checks the machine: limits and a clock that a broker depends on."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from typing import Final

from headrace.cli.doctor.findings import Finding, fail, ok, warn

_ENOUGH_HANDLES: Final = 10_000
_FEW_HANDLES: Final = 1_024
_2025_S: Final = 1_735_689_600


def examine_machine() -> Iterator[Finding]:
    # A broker raises its own soft limit, so the hard one counts.
    yield examine_handles(resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    yield examine_clock(time.time())


def examine_handles(limit: int) -> Finding:
    """Judge how many files and sockets a process may open."""
    if limit == resource.RLIM_INFINITY:
        return ok("file handles", "unlimited")
    remedy = "raise it: ulimit -Hn 100000, or LimitNOFILE=100000 in the service's unit"
    if limit < _FEW_HANDLES:
        return fail("file handles", f"at most {limit} for a process", remedy)
    if limit < _ENOUGH_HANDLES:
        return warn("file handles", f"at most {limit} for a process", remedy)
    return ok("file handles", f"up to {limit} for a process")


def examine_clock(now_s: float) -> Finding:
    """Records carry the time of their machines, and retention believes it."""
    if now_s < _2025_S:
        year = time.gmtime(now_s).tm_year
        return fail("clock", f"it shows the year {year}", "set the clock, better by NTP")
    shown = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now_s))
    return ok("clock", shown)
