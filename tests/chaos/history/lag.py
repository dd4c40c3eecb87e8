"""How long consumers stood still while records waited for them: the stuck consumer.

A wait begins when a record beyond the consumer's position is known to be visible (its commit
was acknowledged, or somebody polled it) and ends when the consumer polls anything further. Time
in which a consumer catches up is no wait. A consumer without a position, fresh from a
rebalance, is not judged: what it never reads shows as unseen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tests.chaos.history.finding import Anomaly, Finding
from tests.chaos.history.index import Index
from tests.chaos.history.operation import Kind, Operation, Outcome


class Wait(NamedTuple):
    """One consumer's longest wait on one key."""

    process: str
    key: str
    duration_ms: int
    ended_ms: int


class _Arrivals:
    """When the records of one key are known to have been visible, by offset."""

    def __init__(self, known: dict[int, int]) -> None:
        self._offsets = sorted(known)
        self._since_ms = [known[offset] for offset in self._offsets]
        for at in range(len(self._since_ms) - 2, -1, -1):  # a later record proves earlier ones
            self._since_ms[at] = min(self._since_ms[at], self._since_ms[at + 1])

    def visible_beyond_ms(self, offset: int) -> int | None:
        """Since when something after `offset` has been there to read; None if nothing is."""
        at = bisect_right(self._offsets, offset)
        return self._since_ms[at] if at < len(self._offsets) else None


class _Position(NamedTuple):
    offset: int
    since_ms: int


def waits(index: Index) -> Iterator[Wait]:
    """The longest wait of every consumer on every key that it waited for."""
    arrivals = _arrivals(index)
    held: dict[str, dict[str, _Position]] = defaultdict(dict)
    longest: dict[tuple[str, str], Wait] = {}
    for operation in index.history:
        positions = held[operation.process]
        match operation.kind:
            case Kind.ASSIGN:
                start = _Position(-1, operation.ended_ms)
                held[operation.process] = dict.fromkeys(operation.keys, start)
            case Kind.SUBSCRIBE | Kind.REBALANCE | Kind.CRASH:
                positions.clear()
            case Kind.POLL | Kind.TXN:
                _advance(operation, positions)
                for wait in _waiting(operation, positions, arrivals):
                    known = longest.get(wait[:2])
                    if known is None or known.duration_ms < wait.duration_ms:
                        longest[wait[:2]] = wait
    yield from longest.values()


def _arrivals(index: Index) -> dict[str, _Arrivals]:
    known: dict[str, dict[int, int]] = defaultdict(dict)
    for operation in index.history:
        committed = operation.sent if operation.outcome is Outcome.OK else ()
        for key, offset, _ in (*committed, *operation.polled):
            if offset is not None:
                earlier = known[key].get(offset, operation.ended_ms)
                known[key][offset] = min(earlier, operation.ended_ms)
    return {key: _Arrivals(offsets) for key, offsets in known.items()}


def _advance(operation: Operation, positions: dict[str, _Position]) -> None:
    for key, offset, _ in operation.polled:
        if offset is not None:
            positions[key] = _Position(offset, operation.ended_ms)


def _waiting(
    operation: Operation, positions: dict[str, _Position], arrivals: dict[str, _Arrivals]
) -> Iterator[Wait]:
    for key, position in positions.items():
        beyond_ms = arrivals[key].visible_beyond_ms(position.offset) if key in arrivals else None
        if beyond_ms is not None:
            duration_ms = operation.began_ms - max(beyond_ms, position.since_ms)
            if duration_ms > 0:
                yield Wait(operation.process, key, duration_ms, operation.began_ms)


def realtime_lag(index: Index, limit_ms: int) -> Iterator[Finding]:
    """Waits that took longer than the limit."""
    for wait in waits(index):
        if wait.duration_ms > limit_ms:
            detail = f"{wait.process} polled nothing new for {wait.duration_ms} ms"
            yield Finding(Anomaly.REALTIME_LAG, wait.key, detail)
