"""What a batch must be to enter a log, and the form in which it enters.

`admit` is the gate for batches that get their offsets here: it rejects with the code and a sentence
for the client, and applies the topic's codec. Most batches leave it as they came, since only 16 of
their bytes are the log's to write. Sequences are checked by `producer_state`, places are given by
`log`.

A few bytes can hold hours of records, so reading the records of a batch may take long. `Records`
says who does it: a caller that must not wait has `admit` raise `Heavy`, gives the batch to
`inspect`, whose steps may be done on a thread, and comes back with what that returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from headrace.errors import ClientFault, CorruptData, Error, HeadraceError
from headrace.log.config import LogConfig
from headrace.log.origin import CLIENT, Origin
from headrace.log.producer_state import CachedBatch
from headrace.records.batch import (
    CODEC_MASK,
    HEADER_SIZE,
    LENGTH_END,
    LOG_APPEND_TIME_BIT,
    BatchHeader,
    TimestampType,
    check_batch,
    check_from_client,
    check_magic,
    read_header,
    restamp,
)
from headrace.records.compression import (
    Codec,
    Oversized,
    codec_named,
    decompress_small,
    windows,
)
from headrace.records.inspection import Inspection, inspect_whole
from headrace.records.recompress import recompress
from headrace.records.record import MAX_PAYLOAD_BYTES, count_records
from headrace.runtime.steps import Steps, finish
from headrace.types import NO_TIMESTAMP, Buffer

PREFIX_SIZE: Final = 16
"""Base offset, length and leader epoch: what `stamp_prefix` writes and the CRC leaves out."""

CREATE_TIME: Final = "CreateTime"
PRODUCER: Final = "producer"
COMPACT: Final = "compact"

SMALL_BYTES: Final = 1 << 20
SMALL_RECORDS: Final = 1 << 14
"""A batch with more content or more records than this is heavy: reading it takes milliseconds."""
SMALL_TO_COMPRESS_BYTES: Final = 1 << 16
"""The same where the content is to be compressed by another codec."""
MAX_TO_COMPRESS_BYTES: Final = 32 << 20
"""Content that is to be compressed by another codec must be in memory as a whole."""


class Records(Enum):
    """When the records of a batch are read."""

    NOW = "now"
    """In any case, however long it takes."""
    UNLESS_HEAVY = "unless heavy"
    """Unless it may take long: then `Heavy` is raised and nothing has happened."""
    INSPECTED = "inspected"
    """Not at all: the batch comes from `inspect`."""


class Heavy(HeadraceError):
    """The records of a batch are too many to be read here; `inspect` is for them."""


@dataclass(slots=True)
class Appended:
    """What an append did. `log_append_time_ms` is -1 where records keep their own timestamps."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    size: int
    duplicate: bool
    """The batch had been written before; the offsets are those of the first time."""
    flush_due: bool
    """The flush policy asks for a flush before the batch is acknowledged."""
    rolled: bool
    """A segment was completed: a flush in the background moves the recovery point past it."""


def admit(
    batches: memoryview,
    config: LogConfig,
    origin: Origin,
    now_ms: int,
    records: Records = Records.NOW,
) -> tuple[BatchHeader, memoryview]:
    """The single batch in `batches` in the topic's codec; ClientFault if it must not be written."""
    length = len(batches)
    if length == 0:
        raise ClientFault(Error.INVALID_RECORD, "a partition was sent no batch; it needs one")
    if length < HEADER_SIZE:
        check_magic(batches)
        raise ClientFault(
            Error.CORRUPT_MESSAGE, f"{length} bytes are no batch: its header has {HEADER_SIZE}"
        )
    header = read_header(batches)
    size = header.batch_length + LENGTH_END
    # What a coordinator writes about a huge group is limited by the segment alone.
    if size > config.max_message_bytes and origin is CLIENT:
        raise ClientFault(
            Error.MESSAGE_TOO_LARGE,
            f"the batch has {size} bytes, max.message.bytes allows {config.max_message_bytes}",
        )
    if HEADER_SIZE <= size < length:
        raise ClientFault(
            Error.INVALID_RECORD,
            f"a partition was sent {length} bytes, but its first batch ends at {size}: "
            "a produce request carries exactly one batch for each partition",
        )
    check_batch(batches, header)
    if size > config.segment_bytes:
        raise ClientFault(
            Error.RECORD_LIST_TOO_LARGE,
            f"the batch has {size} bytes, segment.bytes allows {config.segment_bytes}",
        )
    if origin is CLIENT:
        check_from_client(header)
        if header.attributes & LOG_APPEND_TIME_BIT:
            raise ClientFault(
                Error.INVALID_TIMESTAMP,
                "only the log may mark a batch as LogAppendTime; a producer sends CreateTime",
            )
        if config.message_timestamp_type == CREATE_TIME:
            _check_timestamps(header, config, now_ms)
    if (
        # The usual batch has nothing to be decompressed.
        not header.attributes & CODEC_MASK
        and config.compression_type == PRODUCER
        and header.record_count <= SMALL_RECORDS
        and origin is CLIENT
        and COMPACT not in config.cleanup_policy
        and count_records(batches[HEADER_SIZE:], header.record_count)
    ) or records is Records.INSPECTED:
        return header, batches
    return _with_checked_records(batches, header, config, origin, records)


def _with_checked_records(
    batch: memoryview, header: BatchHeader, config: LogConfig, origin: Origin, records: Records
) -> tuple[BatchHeader, memoryview]:
    """Reject a batch that does not hold the records it promises: every reader would stop there.

    Records that are not compressed are only hopped over by their lengths, as long as they need no
    keys. A coordinator's own records are believed.
    """
    target = _target(header, config)
    if origin is not CLIENT and target is None:
        return header, batch
    codec = header.attributes & CODEC_MASK
    needs_keys = COMPACT in config.cleanup_policy
    payload: Buffer | None = batch[HEADER_SIZE:]
    limit = SMALL_BYTES if target is None else SMALL_TO_COMPRESS_BYTES
    if header.record_count > SMALL_RECORDS or (target is not None and len(batch) > limit):
        payload = None
    elif codec:
        payload = decompress_small(header.compression, batch[HEADER_SIZE:], limit)
    if payload is None:
        if records is Records.UNLESS_HEAVY:
            raise Heavy
        inspected = finish(inspect(batch, config))
        return read_header(inspected), inspected
    if origin is CLIENT:
        if codec or needs_keys:
            inspect_whole(payload, header.record_count, needs_keys=needs_keys)
        elif not count_records(payload, header.record_count):
            raise ClientFault(
                Error.INVALID_RECORD,
                f"the batch promises {header.record_count} records and holds others",
            )
    if target is None:
        return header, batch
    return _recompressed(header, payload, target, config)


def inspect(batch: memoryview, config: LogConfig) -> Steps[memoryview]:
    """Read the records of a heavy batch, one window at a step; returns it in the topic's codec.

    ClientFault: the batch must not be written. All steps may take a second; safe on any thread.
    """
    header = read_header(batch)
    target = _target(header, config)
    limit = MAX_PAYLOAD_BYTES
    if target is not None:
        limit = config.max_message_bytes if target is Codec.NONE else MAX_TO_COMPRESS_BYTES
    needs_keys = COMPACT in config.cleanup_policy
    counts_up = needs_keys or header.compression is not Codec.NONE
    inspection = Inspection(header.record_count, counts_up=counts_up, needs_keys=needs_keys)
    kept = []
    try:
        for window in windows(header.compression, batch[HEADER_SIZE:], limit):
            inspection.feed(window)
            if target is not None:
                kept.append(window)
            yield
    except Oversized as fault:
        raise ClientFault(Error.MESSAGE_TOO_LARGE, str(fault)) from None
    except CorruptData as fault:
        raise ClientFault(Error.CORRUPT_MESSAGE, str(fault)) from None
    inspection.finish()
    if target is None:
        return batch
    return _recompressed(header, b"".join(kept), target, config)[1]


def _check_timestamps(header: BatchHeader, config: LogConfig, now_ms: int) -> None:
    """Judge a batch by its first and its largest timestamp; the records stay unread."""
    late_by = header.max_timestamp - now_ms
    if late_by > config.message_timestamp_after_max_ms:
        raise ClientFault(
            Error.INVALID_TIMESTAMP,
            f"timestamp {header.max_timestamp} lies {late_by} ms in the future; "
            "message.timestamp.after.max.ms allows "
            f"{config.message_timestamp_after_max_ms}: check the producer's clock",
        )
    first = header.base_timestamp
    if first != NO_TIMESTAMP and now_ms - first > config.message_timestamp_before_max_ms:
        raise ClientFault(
            Error.INVALID_TIMESTAMP,
            f"timestamp {first} lies {now_ms - first} ms in the past; "
            "message.timestamp.before.max.ms allows "
            f"{config.message_timestamp_before_max_ms}",
        )


def stamped(
    batch: memoryview, header: BatchHeader, config: LogConfig, now_ms: int
) -> tuple[BatchHeader, list[Buffer]]:
    """The batch with the topic's timestamp type: header, and the bytes that follow the prefix."""
    if config.message_timestamp_type == CREATE_TIME:
        return header, [batch[PREFIX_SIZE:]]
    head = restamp(batch, timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=now_ms)
    return read_header(head), [head[PREFIX_SIZE:], batch[HEADER_SIZE:]]


def _target(header: BatchHeader, config: LogConfig) -> Codec | None:
    """The topic's codec where the batch has another; None: its records stay as they are."""
    if config.compression_type == PRODUCER or header.is_control:
        return None
    codec = codec_named(config.compression_type)
    return None if header.compression is codec else codec


def _recompressed(
    header: BatchHeader, payload: Buffer, codec: Codec, config: LogConfig
) -> tuple[BatchHeader, memoryview]:
    batch = memoryview(recompress(header, payload, codec, _level(codec, config)))
    header = read_header(batch)
    if header.size > config.max_message_bytes:
        raise ClientFault(
            Error.MESSAGE_TOO_LARGE,
            f"the batch has {header.size} bytes with the topic's compression.type="
            f"{config.compression_type}, max.message.bytes allows {config.max_message_bytes}",
        )
    return header, batch


def _level(codec: Codec, config: LogConfig) -> int | None:
    if codec is Codec.GZIP:
        return config.compression_gzip_level
    if codec is Codec.LZ4:
        return config.compression_lz4_level
    if codec is Codec.ZSTD:
        return config.compression_zstd_level
    return None


def repeated(written: CachedBatch, config: LogConfig, log_start_offset: int) -> Appended:
    """The answer to a retry of a batch that is in the log: as the first time."""
    return Appended(
        base_offset=written.base_offset,
        last_offset=written.last_offset,
        log_append_time_ms=(
            NO_TIMESTAMP if config.message_timestamp_type == CREATE_TIME else written.timestamp
        ),
        log_start_offset=log_start_offset,
        size=0,
        duplicate=True,
        flush_due=False,
        rolled=False,
    )
