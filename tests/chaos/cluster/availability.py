"""How long partitions could not be written: the gaps between a prober's acknowledgements.

A prober keeps one record in flight per partition, so the time between two acknowledgements is
the time for which the partition gave none. A fault is charged with every gap that touches the
time from its beginning until a while after its mending. Knows nothing of clusters.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tests.chaos.history.operation import Kind, Operation, Outcome

AFTERMATH_MS = 3000


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault as it was done."""

    fault: str
    target: str
    began_ms: int
    ended_ms: int  # when everything was mended


class Gap(NamedTuple):
    began_ms: int
    ended_ms: int

    @property
    def duration_ms(self) -> int:
        return self.ended_ms - self.began_ms


Gaps = dict[str, dict[str, list[Gap]]]  # by client and key, in the order of time


def gaps(history: Iterable[Operation], clients: Mapping[str, str]) -> Gaps:
    """Between which moments each client got no acknowledgement; `clients` names them by slot."""
    successes: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for operation in history:
        client = clients.get(operation.process.partition("-")[0])
        if client and operation.kind is Kind.SEND and operation.outcome is Outcome.OK:
            for record in operation.sent:
                successes[client][record.key].append(operation.ended_ms)
    return {
        client: {key: _between(sorted(times)) for key, times in keys.items()}
        for client, keys in successes.items()
    }


def _between(times: list[int]) -> list[Gap]:
    return [Gap(*pair) for pair in pairwise(times)]


def longest(found: list[Gap], began_ms: int, ended_ms: int) -> int:
    """The longest of these gaps that touches the time."""
    first = bisect_left(found, began_ms, key=lambda gap: gap.ended_ms)
    touching = []
    for gap in found[first:]:
        if gap.began_ms > ended_ms:
            break
        touching.append(gap.duration_ms)
    return max(touching, default=0)


def unavailability(found: Gaps, strikes: Sequence[Strike], at: int) -> dict[str, dict[str, int]]:
    """By client and partition: the longest gap that a strike is charged with, in ms.

    Its aftermath ends where the next one begins, so that nobody pays for a successor.
    """
    strike = strikes[at]
    until_ms = strike.ended_ms + AFTERMATH_MS
    if at + 1 < len(strikes):
        until_ms = min(until_ms, strikes[at + 1].began_ms - 1)
    return {
        client: {key: longest(each, strike.began_ms, until_ms) for key, each in keys.items()}
        for client, keys in found.items()
    }
