"""What a batch must be to enter a log, and the form in which it enters.

`admit` is the gate for batches that get their offsets here: it refuses with the code and a sentence
for the client. `in_topic_form` applies the topic's codec and timestamp type; most batches leave it
as they came, since only 16 of their bytes are the log's to write. Sequences are checked by
`producer_state`, places are given by `log`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.errors import ClientFault, CorruptData, Error, InvalidRecords
from headrace.log.config import LogConfig
from headrace.log.origin import Origin
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
from headrace.records.compression import Codec, codec_named
from headrace.records.recompress import recompress
from headrace.records.record import count_records, iterate, read_payload
from headrace.types import NO_TIMESTAMP, Buffer

PREFIX_SIZE: Final = 16
"""Base offset, length and leader epoch: what `stamp_prefix` writes and the CRC leaves out."""

CREATE_TIME: Final = "CreateTime"
PRODUCER: Final = "producer"
COMPACT: Final = "compact"


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


def admit(batches: memoryview, config: LogConfig, origin: Origin, now_ms: int) -> BatchHeader:
    """The header of the single batch in `batches`; ClientFault if it must not be written."""
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
    if size > config.max_message_bytes and origin is Origin.CLIENT:
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
    if origin is Origin.CLIENT:
        check_from_client(header)
        if header.attributes & LOG_APPEND_TIME_BIT:
            raise ClientFault(
                Error.INVALID_TIMESTAMP,
                "only the log may mark a batch as LogAppendTime; a producer sends CreateTime",
            )
        if config.message_timestamp_type == CREATE_TIME:
            _check_timestamps(header, config, now_ms)
        _check_records(batches, header, config)
    return header


def _check_records(batch: memoryview, header: BatchHeader, config: LogConfig) -> None:
    """Refuse a batch that does not hold the records it promises: whoever read it would stop there.

    Records are hopped over by their lengths; only a compacted topic, whose records need keys, is
    looked at more closely.
    """
    try:
        payload = batch[HEADER_SIZE:]
        if header.attributes & CODEC_MASK:
            payload = memoryview(read_payload(header, batch))
        if not count_records(payload, header.record_count):
            raise ClientFault(
                Error.INVALID_RECORD,
                f"the batch promises {header.record_count} records and holds others",
            )
        if COMPACT in config.cleanup_policy:
            _check_keys(batch, header)
    except CorruptData as fault:
        raise ClientFault(Error.CORRUPT_MESSAGE, str(fault)) from None


def _check_keys(batch: memoryview, header: BatchHeader) -> None:
    keyless = [index for index, record in enumerate(iterate(header, batch)) if record.key is None]
    if keyless:
        raise InvalidRecords("a record without key cannot be kept in a compacted topic", keyless)


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


def is_in_topic_form(header: BatchHeader, config: LogConfig) -> bool:
    """Whether the batch is written as it came; with the default settings it always is."""
    if config.message_timestamp_type != CREATE_TIME:
        return False
    if config.compression_type == PRODUCER or header.is_control:
        return True
    return header.attributes & CODEC_MASK == codec_named(config.compression_type)


def in_topic_form(
    batch: memoryview, header: BatchHeader, config: LogConfig, now_ms: int
) -> tuple[BatchHeader, list[Buffer]]:
    """The batch with the topic's codec and timestamp type: its header, and the bytes that follow
    the prefix.
    """
    if config.compression_type != PRODUCER and not header.is_control:
        codec = codec_named(config.compression_type)
        if header.compression is not codec:
            header, batch = _recompressed(batch, header, codec, config)
    if config.message_timestamp_type == CREATE_TIME:
        return header, [batch[PREFIX_SIZE:]]
    stamped = restamp(batch, timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=now_ms)
    return read_header(stamped), [stamped[PREFIX_SIZE:], batch[HEADER_SIZE:]]


def _recompressed(
    batch: memoryview, header: BatchHeader, codec: Codec, config: LogConfig
) -> tuple[BatchHeader, memoryview]:
    try:
        batch = memoryview(recompress(header, batch, codec, _level(codec, config)))
    except CorruptData as fault:
        raise ClientFault(Error.CORRUPT_MESSAGE, str(fault)) from None
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
