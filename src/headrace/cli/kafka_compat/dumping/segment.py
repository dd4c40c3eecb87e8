"""A `.log` file: one line per batch and, if asked for, one per record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from headrace.cli.dump_log.batches import broken_chain
from headrace.cli.dump_log.mapped import base_offset_of, map_file
from headrace.records.batch import CODEC_MASK, BatchHeader, TimestampType, damage, read_header
from headrace.records.compression import Codec
from headrace.records.control import parse_control
from headrace.records.record import Record, iterate

_MAX_SEQUENCE: Final = (1 << 31) - 1
_CODECS: Final = {codec.value: codec.name.lower() for codec in Codec}
_TIMES: Final = {
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}

Parse: TypeAlias = Callable[[Record], tuple[str | None, str | None]]
"""Key and value of a record as text; None where nothing is printed."""


class View(NamedTuple):
    """How closely to look."""

    deep: bool = False
    parse: Parse | None = None
    skips_metadata: bool = False
    max_bytes: int | None = None


class Gaps(NamedTuple):
    """Offsets that do not follow one another, by file."""

    pairs: dict[Path, list[tuple[int, int]]]

    def lines(self) -> Iterator[str]:
        for path, pairs in self.pairs.items():
            yield f"Non-consecutive offsets in {path.absolute()}"
            for before, after in pairs:
                yield f"  {before} is followed by {after}"


def dump_segment(path: Path, view: View, gaps: Gaps) -> Iterator[str]:
    """The lines for one file."""
    yield f"Log starting offset: {base_offset_of(path)}"
    data = map_file(path)
    if view.max_bytes is not None:
        data = data[: view.max_bytes]
    position = 0
    last_offset: int | None = None
    while position < len(data) and _is_batch(data, position):
        header = read_header(data, position)
        batch = data[position : position + header.size]
        yield _batch_line(header, batch, position)
        if view.deep:
            for record in iterate(header, batch):
                if last_offset is not None and record.offset != last_offset + 1:
                    gaps.pairs.setdefault(path, []).append((last_offset, record.offset))
                last_offset = record.offset
                yield _record_line(header, record, view)
        position += header.size
    if position < len(data) and view.max_bytes is None:
        yield f"Found {len(data) - position} invalid bytes at the end of {path.name}"


def _is_batch(data: memoryview, position: int) -> bool:
    return broken_chain(data, position) is None and read_header(data, position).batch_length > 0


def _batch_line(header: BatchHeader, batch: memoryview, position: int) -> str:
    horizon = header.delete_horizon_ms
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} "
        f"count: {header.record_count} baseSequence: {header.base_sequence} "
        f"lastSequence: {header.last_sequence} producerId: {header.producer_id} "
        f"producerEpoch: {header.producer_epoch} "
        f"partitionLeaderEpoch: {header.partition_leader_epoch} "
        f"isTransactional: {_java(header.is_transactional)} isControl: {_java(header.is_control)} "
        f"deleteHorizonMs: {optional(horizon)} position: {position} "
        f"{_TIMES[header.timestamp_type]}: {header.max_timestamp} size: {header.size} "
        f"magic: {header.magic} "
        f"compresscodec: {_CODECS.get(header.attributes & CODEC_MASK, 'unknown')} "
        f"crc: {header.crc} isvalid: {_java(damage(batch, header) is None)}"
    )


def _record_line(header: BatchHeader, record: Record, view: View) -> str:
    line = "" if view.skips_metadata else _metadata(header, record)
    if view.parse is None or header.is_control:
        return line
    key, value = view.parse(record)
    parts = [] if key is None else [f"key: {key}"]
    parts += [] if value is None else [f"payload: {value}"]
    if view.skips_metadata:
        return f"| {' '.join(parts)}" if parts else ""
    return " ".join([line, *parts])


def _metadata(header: BatchHeader, record: Record) -> str:
    sequence = header.base_sequence
    if sequence >= 0:
        sequence = (sequence + record.offset - header.base_offset) & _MAX_SEQUENCE
    names = ",".join(name for name, _ in record.headers)
    line = (
        f"| offset: {record.offset} {_TIMES[header.timestamp_type]}: {record.timestamp} "
        f"keySize: {_size(record.key)} valueSize: {_size(record.value)} "
        f"sequence: {sequence} headerKeys: [{names}]"
    )
    return line + _marker(record) if header.is_control else line


def _marker(record: Record) -> str:
    marker = parse_control(record)
    if marker is None:
        kind = int.from_bytes((record.key or b"")[2:4], "big")
        return f" controlType: UNKNOWN({kind})"
    what = "COMMIT" if marker.commit else "ABORT"
    return f" endTxnMarker: {what} coordinatorEpoch: {marker.coordinator_epoch}"


def optional(value: int | None) -> str:
    """As Java's OptionalLong prints itself."""
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _java(value: bool) -> str:
    return "true" if value else "false"
