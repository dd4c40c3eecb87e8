"""The batches of a `.log` file and the records inside them, as flat entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headrace.cli.dump_log.mapped import Entry, Wanted, base_offset_of, judged, map_file
from headrace.cli.record_text import to_text
from headrace.errors import HeadraceError
from headrace.records.batch import (
    CODEC_MASK,
    HEADER_SIZE,
    MAGIC,
    BatchHeader,
    damage,
    read_header,
)
from headrace.records.compression import Codec
from headrace.records.control import parse_control
from headrace.records.record import Record, iterate

_CODECS: Final = {codec.value: codec.name.lower() for codec in Codec}


def dump_log_file(path: Path, wanted: Wanted) -> Iterator[Entry]:
    view = map_file(path)
    position = 0
    next_offset = base_offset_of(path)
    while position < len(view):
        fault = broken_chain(view, position)
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
            entry = judged(entry, fault)
        yield entry
        if wanted.deep and fault is None:
            yield from _dump_records(header, batch, wanted)
        next_offset = header.next_offset
        position += header.size


def broken_chain(view: memoryview, position: int) -> str | None:
    """Why no further batch can be found from here, or None."""
    left = len(view) - position
    if left < HEADER_SIZE:
        return f"{left} bytes at the end are not a batch; a broker truncates them when it starts"
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
        "codec": _CODECS.get(header.attributes & CODEC_MASK, "unknown"),
        "timestamp_type": header.timestamp_type.name,
        "max_timestamp": header.max_timestamp,
        "crc": f"{header.crc:08x}",
    }
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
            yield _describe_record(header, record, wanted)
    except HeadraceError as error:
        yield {"kind": "record", "fault": str(error)}


def _describe_record(header: BatchHeader, record: Record, wanted: Wanted) -> Entry:
    entry: Entry = {"kind": "record", "offset": record.offset, "timestamp": record.timestamp}
    if header.is_control:
        marker = parse_control(record)
        if marker is None:
            return entry | {"marker": "other"}
        what = "commit" if marker.commit else "abort"
        return entry | {"marker": what, "coordinator_epoch": marker.coordinator_epoch}
    entry["key"] = None if record.key is None else _text(to_text(record.key, wanted.key))
    entry["value"] = None if record.value is None else _text(to_text(record.value, wanted.value))
    if record.headers:
        entry["headers"] = [
            {"key": name, "value": None if value is None else _text(value)}
            for name, value in record.headers
        ]
    return entry


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
