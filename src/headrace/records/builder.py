"""Record batches made from keys, values and times, as producers, coordinators and compaction do.

Whoever passes batches on never comes here: a batch in transit stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypedDict, Unpack

from headrace.records.batch import (
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    seal,
)
from headrace.records.compression import Codec, compress
from headrace.records.record import Header, Record, wrap_int64
from headrace.records.varint import encode_varint
from headrace.types import NO_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP

_NULL: Final = encode_varint(-1)


class BatchOptions(TypedDict, total=False):
    """What a batch may be besides its records; see `BatchBuilder` for the defaults."""

    compression: Codec
    level: int | None
    timestamp_type: TimestampType
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    base_offset: int
    leader_epoch: int
    delete_horizon_ms: int | None


class BatchBuilder:
    """Collects records and seals them into one batch.

    With `LOG_APPEND_TIME` the largest timestamp appended becomes the time of every record.
    """

    __slots__ = (
        "_attributes",
        "_base_offset",
        "_base_timestamp",
        "_codec",
        "_leader_epoch",
        "_level",
        "_max_timestamp",
        "_next_offset",
        "_producer",
        "_records",
        "size_estimate",
    )

    def __init__(
        self,
        *,
        compression: Codec = Codec.NONE,
        level: int | None = None,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        transactional: bool = False,
        control: bool = False,
        base_offset: int = 0,
        leader_epoch: int = NO_EPOCH,
        delete_horizon_ms: int | None = None,
    ) -> None:
        self._codec = compression
        self._level = level
        self._attributes = (
            compression
            | timestamp_type << 3
            | (TRANSACTIONAL_BIT if transactional else 0)
            | (CONTROL_BIT if control else 0)
            | (DELETE_HORIZON_BIT if delete_horizon_ms is not None else 0)
        )
        self._producer = (producer_id, producer_epoch, base_sequence)
        self._base_offset = self._next_offset = base_offset
        self._leader_epoch = leader_epoch
        self._base_timestamp = delete_horizon_ms
        self._max_timestamp = NO_TIMESTAMP
        self._records: list[bytes] = []
        self.size_estimate = HEADER_SIZE
        """Bytes of the batch if it were sealed now without compression."""

    def __len__(self) -> int:
        return len(self._records)

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Sequence[Header] = (),
        *,
        offset: int | None = None,
    ) -> int:
        """Add a record and return its offset: the next one, or a later one that the caller names
        (compaction leaves gaps).
        """
        if offset is None:
            offset = self._next_offset
        elif offset < self._next_offset:
            raise ValueError(f"offset {offset} comes after {self._next_offset - 1} in this batch")
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        encoded = encode_record(
            offset - self._base_offset, timestamp - self._base_timestamp, key, value, headers
        )
        self._records.append(encoded)
        self.size_estimate += len(encoded)
        self._next_offset = offset + 1
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        return offset

    def build(self, *, last_offset: int | None = None) -> bytes:
        """The sealed batch. `last_offset` keeps the range of one whose last records are gone."""
        if not self._records:
            raise ValueError("a batch needs at least one record")
        if last_offset is None:
            last_offset = self._next_offset - 1
        elif last_offset < self._next_offset - 1:
            raise ValueError(f"the batch already goes to offset {self._next_offset - 1}")
        base_timestamp = self._base_timestamp
        assert base_timestamp is not None, "the first record has set it"
        header = BatchHeader(
            self._base_offset,
            0,
            self._leader_epoch,
            MAGIC,
            0,
            self._attributes,
            last_offset - self._base_offset,
            base_timestamp,
            self._max_timestamp,
            *self._producer,
            len(self._records),
        )
        return seal(header, compress(self._codec, b"".join(self._records), self._level))


def build_batch(records: Iterable[Record], **options: Unpack[BatchOptions]) -> bytes:
    """One batch of these records, whose own offsets are ignored: they count from `base_offset`."""
    builder = BatchBuilder(**options)
    for record in records:
        builder.append(record.key, record.value, record.timestamp, record.headers)
    return builder.build()


def rebuild_batch(
    header: BatchHeader,
    records: Iterable[Record],
    *,
    level: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """The batch `header` with only these of its own records left, as compaction writes it.

    Offset range, producer and sequence stay, because they are what the producer's state is restored
    from. For the same reason a batch without records is legal: a header alone.
    """
    if delete_horizon_ms is None:
        delete_horizon_ms = header.delete_horizon_ms
    builder = BatchBuilder(
        compression=header.compression,
        level=level,
        timestamp_type=header.timestamp_type,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        control=header.is_control,
        base_offset=header.base_offset,
        leader_epoch=header.partition_leader_epoch,
        delete_horizon_ms=delete_horizon_ms,
    )
    for record in records:
        builder.append(
            record.key, record.value, record.timestamp, record.headers, offset=record.offset
        )
    if len(builder) > 0:
        return builder.build(last_offset=header.last_offset)
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT)
    return seal(
        header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, record_count=0), b""
    )


def encode_record(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[Header] = (),
) -> bytes:
    """One record with its length before it; the layout is in `headrace.records.record`."""
    parts = [
        b"\x00",
        encode_varint(wrap_int64(timestamp_delta)),
        encode_varint(offset_delta),
        _NULL if key is None else encode_varint(len(key)) + key,
        _NULL if value is None else encode_varint(len(value)) + value,
        encode_varint(len(headers)),
    ]
    for name, content in headers:
        encoded = name.encode()
        parts.append(encode_varint(len(encoded)) + encoded)
        parts.append(_NULL if content is None else encode_varint(len(content)) + content)
    body = b"".join(parts)
    return encode_varint(len(body)) + body
