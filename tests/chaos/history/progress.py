"""What only grows, and who goes on: offsets that went back, clients that stand after healing.

Jepsen's catalogue has neither by name. A high watermark that a client has seen, and an offset that
a group has committed, are promises to every later reader; a client that nothing hinders any more
must get something done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import NamedTuple

from tests.chaos.history.finding import Anomaly, Finding
from tests.chaos.history.index import Index
from tests.chaos.history.operation import Kind, Operation, Outcome, Record


class Healed(NamedTuple):
    """The moment after which nothing was wrong any more, and who has lived ever since."""

    at_ms: int
    processes: Collection[str]


def offsets_back(index: Index) -> Iterator[Finding]:
    """A look found less than another that had ended before it began."""
    looks = [operation for operation in index.history if operation.kind is Kind.LOOK]
    by_offset: dict[tuple[str, str], list[tuple[Operation, Record]]] = defaultdict(list)
    for look in looks:
        for record in look.looked:
            by_offset[record.key, record.value].append((look, record))
    for (key, what), found in by_offset.items():
        yield from _retreats(key, what, found)


def _retreats(key: str, what: str, found: list[tuple[Operation, Record]]) -> Iterator[Finding]:
    """History is in the order of ends, so the highest that ended before a look begins is near."""
    ended: list[tuple[int, int]] = []  # ended_ms and the highest offset until then
    for look, record in found:
        offset = record.offset if record.offset is not None else 0
        earlier = [highest for ended_ms, highest in ended if ended_ms < look.began_ms][-1:]
        if earlier and offset < earlier[0]:
            yield Finding(Anomaly.OFFSET_BACK, key, f"{what} was {earlier[0]}, later {offset}")
        highest = max(offset, ended[-1][1] if ended else 0)
        ended = [*ended[-99:], (look.ended_ms, highest)]


def stuck(index: Index, healed: Healed) -> Iterator[Finding]:
    """Nothing succeeded that a client began after everything was healed."""
    went_on = {
        operation.process
        for operation in index.history
        if operation.began_ms >= healed.at_ms and operation.outcome is Outcome.OK
    }
    for process in sorted(set(healed.processes) - went_on):
        yield Finding(Anomaly.STUCK, process, "nothing that it began after healing succeeded")
