"""Every record has one place and every place one record: offsets that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from tests.chaos.history.finding import Anomaly, Finding
from tests.chaos.history.index import Index
from tests.chaos.history.operation import Record


def inconsistent_offsets(index: Index) -> Iterator[Finding]:
    """Senders and readers who disagree about the value at an offset."""
    for (key, offset), values in index.values.items():
        if len(values) > 1:
            detail = f"offset {offset} holds {', '.join(sorted(values))}"
            yield Finding(Anomaly.INCONSISTENT_OFFSETS, key, detail)


def duplicates(index: Index) -> Iterator[Finding]:
    """A value that was sent once and stands at several offsets."""
    for (key, value), offsets in index.offsets.items():
        if len(offsets) > 1:
            detail = f"{value} is at offsets {', '.join(map(str, sorted(offsets)))}"
            yield Finding(Anomaly.DUPLICATE, key, detail)


def unwritten(index: Index) -> Iterator[Finding]:
    """A value that came out of the log and never went in."""
    for (key, value), readers in index.readers.items():
        if (key, value) not in index.sender:
            yield Finding(Anomaly.UNWRITTEN, key, f"{readers[0].process} polled {value}")


def nonmonotonic_sends(index: Index) -> Iterator[Finding]:
    """Sends of one producer that the log holds in another order."""
    last: dict[tuple[str, str], Record] = {}  # by process and key
    for operation in index.history:
        mine: set[str] = set()
        for record in operation.sent:
            previous = last.get((operation.process, record.key))
            before = None if previous is None else index.offset_of(previous)
            now = index.offset_of(record)
            if previous is not None and before is not None and now is not None and now <= before:
                inside = record.key in mine
                anomaly = Anomaly.INT_NONMONOTONIC_SEND if inside else Anomaly.NONMONOTONIC_SEND
                detail = (
                    f"{operation.process} sent {previous.value} (offset {before}) before "
                    f"{record.value} (offset {now})"
                )
                yield Finding(anomaly, record.key, detail)
            if now is not None:
                mine.add(record.key)
                last[operation.process, record.key] = record
