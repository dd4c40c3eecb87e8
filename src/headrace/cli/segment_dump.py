"""The files of a data folder as flat entries: batches, records, index entries, checkpoints.

Files are mapped and only read; a running broker is not disturbed. Whatever a file holds becomes
entries, and what cannot be believed becomes an entry with a `fault`, so damage never hides what
lies before it. The formats themselves are known to `headrace.records` and `headrace.log`.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from headrace.cli.record_text import Faces, to_text
from headrace.errors import HeadraceError
from headrace.log import (
    checkpoints,
    leader_epochs,
    meta_properties,
    names,
    partition_metadata,
    snapshot,
    txn_index,
)
from headrace.records.batch import HEADER_SIZE, MAGIC, BatchHeader, damage, read_header
from headrace.records.control import parse_control
from headrace.records.record import Record, iterate
from headrace.types import uuid_to_text

Entry: TypeAlias = dict[str, object]

MAX_SMALL_FILE_BYTES: Final = 64 << 20
# The layouts are described in log/offset_index.py and log/time_index.py.
_OFFSET_ENTRY: Final = Struct(">ii")
_TIME_ENTRY: Final = Struct(">qi")
_TRANSIENT: Final = (names.DELETED, names.CLEANED, names.SWAP)


class Wanted(NamedTuple):
    """How closely to look."""

    deep: bool = False
    verify: bool = False
    faces: Faces = Faces(null_marker=b"null")


def dump_file(path: Path, wanted: Wanted) -> Iterator[Entry]:
    """The entries of one file; its name says what it is."""
    reader = _reader(path.name)
    if reader is None:
        yield {"fault": "no file of a data folder has such a name"}
        return
    try:
        yield from reader(path, wanted)
    except HeadraceError as error:
        yield {"fault": str(error)}
    except OSError as error:
        yield {"fault": error.strerror or str(error)}


def is_known(name: str) -> bool:
    """Whether `dump_file` can read a file of this name."""
    return _reader(name) is not None


def _reader(name: str) -> Callable[[Path, Wanted], Iterator[Entry]] | None:
    if name in _BY_NAME:
        return _BY_NAME[name]
    for ending in _TRANSIENT:
        name = name.removesuffix(ending)
    parsed = names.parse(name)
    return _BY_SUFFIX.get(parsed[1]) if parsed is not None else None


# --- batches and records -------------------------------------------------------------------------


def _dump_log(path: Path, wanted: Wanted) -> Iterator[Entry]:
    view = _map(path)
    position = 0
    next_offset = _base_offset(path)
    while position < len(view):
        fault = _broken_chain(view, position)
        if fault is not None:
            yield {"kind": "batch", "position": position, "fault": fault}
            return
        if not any(view[position : position + HEADER_SIZE]):
            # Space that `log.preallocate` took ahead of the records.
            yield {"kind": "free", "position": position, "size": len(view) - position}
            return
        header = read_header(view, position)
        batch = view[position:]
        entry = describe_batch(position, header)
        if wanted.verify:
            fault = damage(batch, header)
            if fault is None and header.base_offset < next_offset:
                fault = f"it begins at offset {header.base_offset}, below {next_offset}"
            entry |= {"valid": True} if fault is None else {"fault": fault}
        yield entry
        if wanted.deep and fault is None:
            yield from _dump_records(header, batch, wanted)
        next_offset = header.next_offset
        position += header.size


def _broken_chain(view: memoryview, position: int) -> str | None:
    """Why no further batch can be found from here, or None."""
    left = len(view) - position
    if left < HEADER_SIZE:
        return f"{left} bytes at the end are no batch; a broker cuts them off when it starts"
    header = read_header(view, position)
    if header.batch_length == 0 and header.magic == 0:
        return None
    if header.magic != MAGIC:
        return f"the format v{header.magic} is not read here, only v{MAGIC}"
    if header.size < HEADER_SIZE:
        return f"the batch says that it has {header.size} bytes"
    if header.size > left:
        return f"the batch has {header.size} bytes, but {left} are left; it is torn"
    return None


def describe_batch(position: int, header: BatchHeader) -> Entry:
    entry: Entry = {
        "kind": "batch",
        "position": position,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "count": header.record_count,
        "size": header.size,
        "leader_epoch": header.partition_leader_epoch,
        "codec": header.attributes & 0x07,
        "timestamp_type": header.timestamp_type.name,
        "max_timestamp": header.max_timestamp,
        "crc": f"{header.crc:08x}",
    }
    if header.attributes & 0x07 <= 4:
        entry["codec"] = header.compression.name.lower()
    if header.has_producer_id:
        entry |= {
            "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch,
            "base_sequence": header.base_sequence,
        }
    if header.is_transactional:
        entry["transactional"] = True
    if header.is_control:
        entry["control"] = True
    if header.delete_horizon_ms is not None:
        entry["delete_horizon_ms"] = header.delete_horizon_ms
    return entry


def _dump_records(header: BatchHeader, batch: memoryview, wanted: Wanted) -> Iterator[Entry]:
    try:
        for record in iterate(header, batch):
            yield _describe_record(header, record, wanted.faces)
    except HeadraceError as error:
        yield {"kind": "record", "fault": str(error)}


def _describe_record(header: BatchHeader, record: Record, faces: Faces) -> Entry:
    entry: Entry = {"kind": "record", "offset": record.offset, "timestamp": record.timestamp}
    if header.is_control:
        marker = parse_control(record)
        if marker is None:
            return entry | {"marker": "other"}
        what = "commit" if marker.commit else "abort"
        return entry | {"marker": what, "coordinator_epoch": marker.coordinator_epoch}
    entry["key"] = None if record.key is None else _text(to_text(record.key, faces.key))
    entry["value"] = None if record.value is None else _text(to_text(record.value, faces.value))
    if record.headers:
        entry["headers"] = [
            {"key": name, "value": None if value is None else _text(value)}
            for name, value in record.headers
        ]
    return entry


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


# --- indexes -------------------------------------------------------------------------------------


def _dump_offset_index(path: Path, wanted: Wanted) -> Iterator[Entry]:
    base_offset = _base_offset(path)
    known = _batches_beside(path) if wanted.verify else None
    last = (-1, -1)
    for relative, position in _OFFSET_ENTRY.iter_unpack(_used(path, _OFFSET_ENTRY.size)):
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
            entry |= {"valid": True} if fault is None else {"fault": fault}
        last = (relative, position)
        yield entry


def _dump_time_index(path: Path, wanted: Wanted) -> Iterator[Entry]:
    base_offset = _base_offset(path)
    known = _batches_beside(path) if wanted.verify else None
    last = (-1, -1)
    for timestamp, relative in _TIME_ENTRY.iter_unpack(_used(path, _TIME_ENTRY.size)):
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
            entry |= {"valid": True} if fault is None else {"fault": fault}
        last = (timestamp, relative)
        yield entry


class _Batches(NamedTuple):
    """The batches of a log, found by position or by offset."""

    by_position: dict[int, BatchHeader]
    last_offsets: list[int]
    headers: list[BatchHeader]

    def holding(self, offset: int) -> BatchHeader | None:
        index = bisect_left(self.last_offsets, offset)
        if index == len(self.headers) or self.headers[index].base_offset > offset:
            return None
        return self.headers[index]


def _batches_beside(index: Path) -> _Batches | None:
    """The batches of the log that an index belongs to; None when it is not there."""
    log = index.with_name(index.name.replace(index.suffix, names.LOG))
    if not log.exists():
        return None
    view = _map(log)
    by_position: dict[int, BatchHeader] = {}
    position = 0
    while position < len(view) and _broken_chain(view, position) is None:
        header = read_header(view, position)
        if header.batch_length == 0:
            break
        by_position[position] = header
        position += header.size
    headers = list(by_position.values())
    return _Batches(by_position, [header.last_offset for header in headers], headers)


def _used(path: Path, entry_size: int) -> bytes:
    """The entries of an index without the zeros that Kafka allocates behind them."""
    data = bytes(_map(path))
    used = len(data.rstrip(b"\0"))
    used += -used % entry_size
    return data[: min(used, len(data) - len(data) % entry_size)]


# --- small files ---------------------------------------------------------------------------------


def _dump_snapshot(path: Path, wanted: Wanted) -> Iterator[Entry]:
    for producer in snapshot.decode(_read(path)):
        yield {"kind": "producer", **producer._asdict()}


def _dump_transactions(path: Path, wanted: Wanted) -> Iterator[Entry]:
    for transaction in txn_index.decode(_read(path), str(path)):
        yield {"kind": "aborted", **transaction._asdict()}


def _dump_offsets(path: Path, wanted: Wanted) -> Iterator[Entry]:
    for where, offset in checkpoints.decode_offsets(_read(path), str(path)).items():
        topic, partition = where
        yield {"kind": "checkpoint", "topic": topic, "partition": partition, "offset": offset}


def _dump_epochs(path: Path, wanted: Wanted) -> Iterator[Entry]:
    for epoch in leader_epochs.decode(_read(path), str(path)):
        yield {"kind": "epoch", **epoch._asdict()}


def _dump_topic_id(path: Path, wanted: Wanted) -> Iterator[Entry]:
    topic_id = partition_metadata.decode(_read(path), str(path))
    yield {"kind": "topic", "topic_id": uuid_to_text(topic_id)}


def _dump_owner(path: Path, wanted: Wanted) -> Iterator[Entry]:
    owner = meta_properties.decode(_read(path), str(path))
    directory_id = None if owner.directory_id is None else uuid_to_text(owner.directory_id)
    yield {"kind": "owner", **owner._asdict(), "directory_id": directory_id}


_BY_SUFFIX: Final = {
    names.LOG: _dump_log,
    names.OFFSET_INDEX: _dump_offset_index,
    names.TIME_INDEX: _dump_time_index,
    names.TXN_INDEX: _dump_transactions,
    snapshot.SUFFIX: _dump_snapshot,
}
_BY_NAME: Final = {
    checkpoints.RECOVERY_POINTS: _dump_offsets,
    checkpoints.HIGH_WATERMARKS: _dump_offsets,
    checkpoints.LOG_START_OFFSETS: _dump_offsets,
    leader_epochs.FILE_NAME: _dump_epochs,
    partition_metadata.FILE_NAME: _dump_topic_id,
    meta_properties.FILE_NAME: _dump_owner,
}


def _base_offset(path: Path) -> int:
    parsed = names.parse(path.name)
    assert parsed is not None, path
    return parsed[0]


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_SMALL_FILE_BYTES)


def _map(path: Path) -> memoryview:
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
