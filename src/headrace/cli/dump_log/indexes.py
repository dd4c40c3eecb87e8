"""The entries of `.index` and `.timeindex` files, held against their log when asked.

The layouts are described in `headrace.log.offset_index` and `headrace.log.time_index`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from headrace.cli.dump_log.batches import broken_chain
from headrace.cli.dump_log.mapped import Entry, Wanted, base_offset_of, judged, map_file
from headrace.log import names
from headrace.records.batch import BatchHeader, read_header

OFFSET_ENTRY: Final = Struct(">ii")
TIME_ENTRY: Final = Struct(">qi")


def dump_offset_index(path: Path, wanted: Wanted) -> Iterator[Entry]:
    base_offset = base_offset_of(path)
    known = batches_beside(path) if wanted.verify else None
    last = (-1, -1)
    for relative, position in OFFSET_ENTRY.iter_unpack(used(path, OFFSET_ENTRY.size)):
        entry: Entry = {"kind": "offset", "offset": base_offset + relative, "position": position}
        if known is not None:
            header = known.by_position.get(position)
            fault = None
            if relative <= last[0] or position <= last[1]:
                fault = "it does not follow the entry before it"
            elif header is None:
                fault = "no batch begins at this position"
            elif header.last_offset != base_offset + relative:
                fault = f"the batch there ends with offset {header.last_offset}"
            entry = judged(entry, fault)
        last = (relative, position)
        yield entry


def dump_time_index(path: Path, wanted: Wanted) -> Iterator[Entry]:
    base_offset = base_offset_of(path)
    known = batches_beside(path) if wanted.verify else None
    last = (-1, -1)
    for timestamp, relative in TIME_ENTRY.iter_unpack(used(path, TIME_ENTRY.size)):
        offset = base_offset + relative
        entry: Entry = {"kind": "time", "timestamp": timestamp, "offset": offset}
        if known is not None:
            header = known.holding(offset)
            fault = None
            if timestamp <= last[0] or relative < last[1]:
                fault = "it does not follow the entry before it"
            elif header is None:
                fault = "no batch holds this offset"
            elif header.max_timestamp != timestamp:
                fault = f"the newest record of its batch is from {header.max_timestamp}"
            entry = judged(entry, fault)
        last = (timestamp, relative)
        yield entry


class Batches(NamedTuple):
    """The batches of a log, found by position or by offset."""

    by_position: dict[int, BatchHeader]
    last_offsets: list[int]
    headers: list[BatchHeader]

    def holding(self, offset: int) -> BatchHeader | None:
        index = bisect_left(self.last_offsets, offset)
        if index == len(self.headers) or self.headers[index].base_offset > offset:
            return None
        return self.headers[index]


def batches_beside(index: Path) -> Batches | None:
    """The batches of the log that an index belongs to; None when it is not there."""
    log = index.with_name(index.name.replace(index.suffix, names.LOG))
    if not log.exists():
        return None
    view = map_file(log)
    by_position: dict[int, BatchHeader] = {}
    position = 0
    while position < len(view) and broken_chain(view, position) is None:
        header = read_header(view, position)
        if header.batch_length == 0:
            break
        by_position[position] = header
        position += header.size
    headers = list(by_position.values())
    return Batches(by_position, [header.last_offset for header in headers], headers)


def used(path: Path, entry_size: int) -> bytes:
    """The entries of an index without the zeros that Kafka allocates behind them."""
    data = bytes(map_file(path))
    end = len(data.rstrip(b"\0"))
    end += -end % entry_size
    return data[: min(end, len(data) - len(data) % entry_size)]
