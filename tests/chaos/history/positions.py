"""A consumer moves through a partition step by step: no record left out, none twice.

Positions are compared by the order of the values that anyone polled, as offsets have gaps:
markers and aborted records take some too. A consumer may start anew where the group or the
application put it, so a rebalance, an assignment or an operation that did not succeed (its
application goes back to the last commit) ends what can be expected.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.chaos.history.finding import Anomaly, Finding
from tests.chaos.history.index import Index
from tests.chaos.history.operation import Kind, Operation, Outcome, Record

Positions = dict[str, Record]  # the last record polled, by key

_BETWEEN = (Anomaly.POLL_SKIP, Anomaly.NONMONOTONIC_POLL)
_INSIDE = (Anomaly.INT_POLL_SKIP, Anomaly.INT_NONMONOTONIC_POLL)


def poll_jumps(index: Index) -> Iterator[Finding]:
    """Skips and returns, between the operations of a consumer and inside each of them."""
    processes: dict[str, Positions] = {}
    for operation in index.history:
        positions = processes.setdefault(operation.process, {})
        match operation.kind:
            case Kind.ASSIGN | Kind.REBALANCE | Kind.SUBSCRIBE | Kind.CRASH:
                positions.clear()
            case Kind.POLL | Kind.TXN:
                yield from _follow(index, operation, positions)


def _follow(index: Index, operation: Operation, positions: Positions) -> Iterator[Finding]:
    """Check one operation's polls and move the positions along."""
    for key in operation.rebalanced:
        positions.pop(key, None)
    inside: set[str] = set()
    for record in operation.polled:
        previous = positions.get(record.key)
        if previous is not None and record.key not in operation.rebalanced:
            step = index.step(previous, record)
            if step != 1:
                skip, back = _INSIDE if record.key in inside else _BETWEEN
                detail = f"{operation.process} polled {record.value} after {previous.value}"
                distance = f"{step - 1} left out" if step > 1 else f"{1 - step} back"
                anomaly = skip if step > 1 else back
                yield Finding(anomaly, record.key, f"{detail}: {distance}")
        inside.add(record.key)
        positions[record.key] = record
    if operation.outcome is Outcome.OK:
        return
    if operation.kind is Kind.TXN:
        positions.clear()  # in all partitions, also where it polled nothing this time
    for key in inside:
        positions.pop(key, None)
