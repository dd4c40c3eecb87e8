"""Finding a record by its time where its batch must be opened, off the event loop if that is work.

A log finds the batch by its indexes at once. Which record it is only the records tell; where they
are compressed or many, they are read on a thread, and the log is asked again with what was found.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from headrace.errors import HeadraceError
from headrace.log import Look, TimestampOffset, first_at, look_for_first
from headrace.log.append import SMALL_RECORDS
from headrace.records.batch import CODEC_MASK, BatchHeader
from headrace.runtime.steps import Steps

T = TypeVar("T")
Search = Callable[[Look], T]
Key = tuple[int, int]
Found = dict[Key, TimestampOffset | None]
Work = Steps[TimestampOffset | None]
Run = Callable[[Work], Awaitable[TimestampOffset | None]]


class Unread(HeadraceError):
    """The records of a batch must be read elsewhere first; `work` does it."""

    def __init__(self, key: Key, work: Work) -> None:
        super().__init__("the records of a batch must be read first")
        self.key = key
        self.work = work


def at_once(search: Search[T], found: Found | None = None) -> T:
    """What `search` finds. Unread: some records must be read elsewhere first."""

    def look(
        header: BatchHeader, batch: memoryview, timestamp: int, start_offset: int
    ) -> TimestampOffset | None:
        if not header.attributes & CODEC_MASK and header.record_count <= SMALL_RECORDS:
            return first_at(header, batch, timestamp, start_offset)
        key = (header.base_offset, header.crc)
        if found is None or key not in found:
            raise Unread(key, look_for_first(header, batch, timestamp, start_offset))
        return found[key]

    return search(look)


async def with_reading(search: Search[T], run: Run) -> T:
    """What `search` finds; `run` reads what must be read elsewhere, one batch at a time."""
    found: Found = {}
    while True:
        try:
            return at_once(search, found)
        except Unread as unread:
            key, work = unread.key, unread.work
        found[key] = await run(work)
