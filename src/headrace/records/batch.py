"""The header of a record batch: read in one step, checked, stamped and restamped.

    OFFSET  SIZE  TYPE    FIELD
    0       8     int64   base_offset             stamped by the leader
    8       4     int32   batch_length            bytes after this field: size - 12
    12      4     int32   partition_leader_epoch  stamped by the leader
    16      1     int8    magic                   2
    17      4     uint32  crc                     CRC-32C of everything from byte 21 to the end
    21      2     int16   attributes              bits 0-2 codec, 3 timestamp type,
                                                  4 transactional, 5 control, 6 delete horizon
    23      4     int32   last_offset_delta       last offset - base_offset
    27      8     int64   base_timestamp          of the first record, or the delete horizon
    35      8     int64   max_timestamp           of all records, or the time of the append
    43      8     int64   producer_id             -1: none
    51      2     int16   producer_epoch          -1: none
    53      4     int32   base_sequence           -1: none
    57      4     int32   record_count
    61      …     bytes   records                 compressed as a whole when bits 0-2 say so

The first 16 bytes are outside the CRC, so a leader gives a batch its place in the log without
reading the rest. All integers are big-endian. The module never looks into the records.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from headrace.errors import ClientFault, CorruptData, Error
from headrace.records.checksum import crc32c
from headrace.records.compression import Codec
from headrace.types import Buffer

MAGIC: Final = 2
HEADER: Final = Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = HEADER.size
LENGTH_END: Final = 12
"""Where `batch_length` starts to count."""
MAGIC_AT: Final = 16
CHECKED_AT: Final = 21
"""Where the CRC starts to cover."""
ATTRIBUTES_AT: Final = 22
"""The lower byte of the attributes, which has all bits that are in use."""
_PRODUCER_AT: Final = 43
MIN_BATCH_LENGTH: Final = HEADER_SIZE - LENGTH_END

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

_PREFIX: Final = Struct(">qii")
_UNCHECKED: Final = Struct(">qiibI")
_CHECKED: Final = Struct(">hiqqqhii")
_PRODUCER: Final = Struct(">qh")
_LAST_CODEC: Final = max(Codec)
_MAX_SEQUENCE: Final = 0x7FFFFFFF

_new = tuple.__new__
_unpack_from = HEADER.unpack_from


class TimestampType(IntEnum):
    """Whose time a batch carries, as bit 3 of its attributes says it."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """The thirteen fields in their order on the wire."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.batch_length + LENGTH_END

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; sequences start again at 0 after 2^31 - 1."""
        if self.base_sequence < 0:
            return self.base_sequence
        return (self.base_sequence + self.last_offset_delta) & _MAX_SEQUENCE

    @property
    def compression(self) -> Codec:
        codec = self.attributes & CODEC_MASK
        if codec > _LAST_CODEC:
            raise CorruptData(f"the batch at offset {self.base_offset} has unknown codec {codec}")
        return Codec(codec)

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType((self.attributes & LOG_APPEND_TIME_BIT) >> 3)

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id >= 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When compaction may drop this batch's tombstones and markers (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None


def read_header(buf: Buffer, pos: int = 0) -> BatchHeader:
    """The header that starts at `pos`, unchecked."""
    try:
        return _new(BatchHeader, _unpack_from(buf, pos))
    except struct.error:
        raise CorruptData(
            f"a batch header needs {HEADER_SIZE} bytes, {max(len(buf) - pos, 0)} are left"
        ) from None


def check_batch(view: memoryview, header: BatchHeader) -> None:
    """Refuse a batch that must not be appended: `view` is exactly the batch, `header` its header.

    The records stay unread. What only a broker may write is refused by `check_from_client`.
    """
    if header.magic != MAGIC:
        raise _refused_magic(header.magic)
    if header.batch_length + LENGTH_END != len(view):
        raise ClientFault(
            Error.CORRUPT_MESSAGE,
            f"the batch says that it has {header.size} bytes, but {len(view)} are there",
        )
    crc = crc32c(view[CHECKED_AT:])
    if crc != header.crc:
        raise ClientFault(
            Error.CORRUPT_MESSAGE,
            f"the batch was changed on its way: its CRC is {crc:08x}, not {header.crc:08x}",
        )
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        raise ClientFault(
            Error.INVALID_RECORD,
            f"the batch says that it has {header.record_count} records, "
            f"but its offsets run from 0 to {header.last_offset_delta}",
        )
    if header.attributes & CODEC_MASK > _LAST_CODEC:
        raise ClientFault(
            Error.UNSUPPORTED_COMPRESSION_TYPE,
            f"codec {header.attributes & CODEC_MASK} is unknown; the last one is {_LAST_CODEC}",
        )


def check_magic(view: memoryview) -> None:
    """Refuse the old message formats by their name, also where they are shorter than a header."""
    if len(view) > MAGIC_AT and view[MAGIC_AT] != MAGIC:
        raise _refused_magic(view[MAGIC_AT])


def check_from_client(header: BatchHeader) -> None:
    """Refuse what is well-formed, but not a producer's to write."""
    if header.attributes & (CONTROL_BIT | DELETE_HORIZON_BIT):
        raise ClientFault(
            Error.INVALID_RECORD,
            "control batches and delete horizons are written by brokers, never by clients",
        )
    if header.base_offset != 0:
        raise ClientFault(
            Error.INVALID_RECORD,
            f"a produced batch begins at offset 0, not {header.base_offset}: "
            "the leader assigns its place in the log",
        )
    if header.producer_id >= 0 and (header.base_sequence < 0 or header.producer_epoch < 0):
        raise ClientFault(
            Error.INVALID_RECORD,
            f"producer {header.producer_id} sent epoch {header.producer_epoch} and sequence "
            f"{header.base_sequence}; with a producer id both must be 0 or more",
        )
    if header.producer_id < 0 and header.attributes & TRANSACTIONAL_BIT:
        raise ClientFault(Error.INVALID_RECORD, "a transactional batch needs a producer id")


def damage(view: memoryview, header: BatchHeader) -> str | None:
    """What is wrong with a stored or replicated batch that starts at `view`; None: it is intact.

    Compaction leaves batches with fewer records than offsets, even with none, so the count is only
    held against its bound. `view` may go on after the batch.
    """
    if header.magic != MAGIC:
        return f"magic {header.magic} is not {MAGIC}"
    if not MIN_BATCH_LENGTH <= header.batch_length <= len(view) - LENGTH_END:
        return f"its length {header.batch_length} does not fit in {len(view)} bytes"
    if header.base_offset < 0 or header.last_offset_delta < 0:
        return f"its offsets {header.base_offset} + {header.last_offset_delta} are negative"
    if not 0 <= header.record_count <= header.last_offset_delta + 1:
        return f"{header.record_count} records in {header.last_offset_delta + 1} offsets"
    if header.attributes & CODEC_MASK > _LAST_CODEC:
        return f"codec {header.attributes & CODEC_MASK} is unknown"
    crc = crc32c(view[CHECKED_AT : header.size])
    if crc != header.crc:
        return f"its CRC is {crc:08x}, not {header.crc:08x}"
    return None


def split_batches(
    view: memoryview, *, allow_partial_tail: bool = False
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Walk concatenated batches by their lengths alone; contents are for `check_batch`.

    A broker may cut the end of a fetch response anywhere: `allow_partial_tail` stops there in
    silence. A produce request must end with its last batch.
    """
    pos = 0
    end = len(view)
    while pos < end:
        left = end - pos
        check_magic(view[pos:])
        if left < HEADER_SIZE:
            if allow_partial_tail:
                return
            raise ClientFault(
                Error.CORRUPT_MESSAGE,
                f"{left} bytes after byte {pos} are no batch: a header has {HEADER_SIZE}",
            )
        header = read_header(view, pos)
        size = header.batch_length + LENGTH_END
        if size < HEADER_SIZE:
            raise ClientFault(
                Error.CORRUPT_MESSAGE,
                f"the batch at byte {pos} says that it has {size} bytes, fewer than its header",
            )
        if size > left:
            if allow_partial_tail:
                return
            raise ClientFault(
                Error.CORRUPT_MESSAGE,
                f"the batch at byte {pos} says that it has {size} bytes, but {left} are left",
            )
        yield header, view[pos : pos + size]
        pos += size


def stamp_prefix(base_offset: int, batch_length: int, leader_epoch: int) -> bytes:
    """The 16 bytes that give a batch its place in the log; the CRC does not cover them."""
    return _PREFIX.pack(base_offset, batch_length, leader_epoch)


def restamp(view: memoryview, *, timestamp_type: TimestampType, max_timestamp: int) -> bytes:
    """The header of this batch with another timestamp and a CRC to match, to stand before its
    records as they are. `LOG_APPEND_TIME` makes `max_timestamp` the time of every record.
    """
    header = read_header(view)
    attributes = header.attributes & ~LOG_APPEND_TIME_BIT | timestamp_type << 3
    checked = _CHECKED.pack(
        attributes,
        header.last_offset_delta,
        header.base_timestamp,
        max_timestamp,
        *header[9:],
    )
    crc = crc32c(view[HEADER_SIZE : header.size], crc32c(checked))
    return _UNCHECKED.pack(*header[:4], crc) + checked


def producer_of(batch: Buffer) -> tuple[int, int]:
    """The producer id and epoch of a batch, of which only its header need be there."""
    producer_id, epoch = _PRODUCER.unpack_from(batch, _PRODUCER_AT)
    return producer_id, epoch


def seal(header: BatchHeader, payload: Buffer) -> bytes:
    """A whole batch of these fields and records; length, magic and CRC are computed anew."""
    checked = _CHECKED.pack(*header[5:])
    unchecked = _UNCHECKED.pack(
        header.base_offset,
        MIN_BATCH_LENGTH + len(payload),
        header.partition_leader_epoch,
        MAGIC,
        crc32c(payload, crc32c(checked)),
    )
    return b"".join((unchecked, checked, payload))


def _refused_magic(magic: int) -> ClientFault:
    if magic in (0, 1):
        return ClientFault(
            Error.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"messages of format v{magic} are not accepted: use a client that writes record "
            "batches of format v2 (any since Kafka 0.11)",
        )
    return ClientFault(Error.CORRUPT_MESSAGE, f"no message format has magic {magic}")
