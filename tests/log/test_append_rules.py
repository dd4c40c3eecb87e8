"""What may not enter a log, with the error code that Apache Kafka gives for it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import ClientFault, Error, InvalidRecords
from headrace.log import Origin, PartitionLog
from headrace.records.batch import HEADER, HEADER_SIZE, TimestampType, read_header, seal
from headrace.records.builder import BatchBuilder
from headrace.records.compression import Codec
from tests.log.logs import NOW_MS, append, batch, marker, new_disk, new_log
from tests.settings import log_config

HOUR_MS = 3_600_000


def refusal(log: PartitionLog, data: memoryview, **options: Any) -> tuple[Error, str]:
    """The code and the sentence with which the log refuses; nothing may have been written."""
    with pytest.raises(ClientFault) as fault:
        append(log, data, **options)
    assert log.log_end_offset == 0
    assert log.size_bytes == 0
    return fault.value.error, fault.value.message


def changed(data: memoryview, **fields: Any) -> memoryview:
    """The same batch with other header fields and a CRC to match."""
    return memoryview(seal(read_header(data)._replace(**fields), data[HEADER.size :]))


def test_a_partition_needs_a_batch() -> None:
    """Kafka's produce request must carry one batch for each partition that it names."""
    assert refusal(new_log(new_disk()), memoryview(b""))[0] is Error.INVALID_RECORD


def test_two_batches_are_one_too_many() -> None:
    """Format v2 allows exactly one batch for each partition of a request."""
    twice = memoryview(bytes(batch()) * 2)
    error, text = refusal(new_log(new_disk()), twice)
    assert error is Error.INVALID_RECORD
    assert "exactly one batch" in text


@pytest.mark.parametrize("length", [1, 16, 60])
def test_less_than_a_header_is_corrupt(length: int) -> None:
    """A batch that ends inside its header cannot be read at all."""
    assert refusal(new_log(new_disk()), batch()[:length])[0] is Error.CORRUPT_MESSAGE


def test_a_truncated_batch_is_corrupt() -> None:
    """The length in the header must be the length that arrived."""
    assert refusal(new_log(new_disk()), batch()[:-1])[0] is Error.CORRUPT_MESSAGE


def test_every_flipped_bit_that_the_crc_covers_is_found() -> None:
    """A batch that was changed on its way is refused, wherever the change is."""
    log = new_log(new_disk())
    whole = bytes(batch())
    for place in range(17, len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        assert refusal(log, memoryview(damaged))[0] is Error.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"record_count": 0, "last_offset_delta": -1}, Error.INVALID_RECORD),
        ({"record_count": 3}, Error.INVALID_RECORD),
        ({"last_offset_delta": 5}, Error.INVALID_RECORD),
        ({"base_offset": 5}, Error.INVALID_RECORD),
        ({"attributes": 0x20}, Error.INVALID_RECORD),
        ({"attributes": 0x10}, Error.INVALID_RECORD),
        ({"attributes": 0x08}, Error.INVALID_TIMESTAMP),
        ({"producer_id": 5}, Error.INVALID_RECORD),
    ],
    ids=[
        "no records",
        "count above offsets",
        "offsets above count",
        "offsets assigned",
        "control batch",
        "transaction without producer",
        "append time claimed",
        "producer without sequence",
    ],
)
def test_what_a_client_must_not_claim(fields: dict[str, Any], error: Error) -> None:
    """Fields that only a broker writes, or that contradict each other, are refused."""
    assert refusal(new_log(new_disk()), changed(batch(2), **fields))[0] is error


@pytest.mark.spec("admin:LS-27")
def test_a_batch_above_the_limit_is_too_large() -> None:
    """`max.message.bytes` bounds the batch as it was sent, header included."""
    sent = batch(size=1000)
    log = new_log(new_disk(), log_config(max_message_bytes=len(sent) - 1))
    error, text = refusal(log, sent)
    assert error is Error.MESSAGE_TOO_LARGE
    assert str(len(sent)) in text
    log.config = log_config(max_message_bytes=len(sent))
    assert append(log, sent).base_offset == 0


@pytest.mark.spec("admin:LS-27")
def test_a_batch_that_grows_by_the_topics_codec_is_too_large() -> None:
    """The limit also holds for what is stored when the broker recompresses."""
    sent = batch(size=10_000, compression=Codec.GZIP)
    config = log_config(max_message_bytes=5000, compression_type="uncompressed")
    assert refusal(new_log(new_disk(), config), sent)[0] is Error.MESSAGE_TOO_LARGE


def test_a_batch_above_the_segment_is_too_large_for_the_list() -> None:
    """A batch never spans two segments, so `segment.bytes` is a limit too."""
    config = log_config(segment_bytes=500)
    error, _ = refusal(new_log(new_disk(), config), batch(size=1000))
    assert error is Error.RECORD_LIST_TOO_LARGE


def test_the_future_is_refused_beyond_an_hour() -> None:
    """KIP-937: `message.timestamp.after.max.ms` is one hour unless it is set."""
    log = new_log(new_disk())
    error, text = refusal(log, batch(timestamp=NOW_MS + HOUR_MS + 1))
    assert error is Error.INVALID_TIMESTAMP
    assert "message.timestamp.after.max.ms" in text
    assert append(log, timestamp=NOW_MS + HOUR_MS).base_offset == 0


def test_the_past_is_refused_where_the_topic_says_so() -> None:
    """KIP-937: `message.timestamp.before.max.ms` has no limit unless it is set."""
    log = new_log(new_disk(), log_config(message_timestamp_before_max_ms=1000))
    error, text = refusal(log, batch(timestamp=NOW_MS - 1001))
    assert error is Error.INVALID_TIMESTAMP
    assert "message.timestamp.before.max.ms" in text
    append(log, timestamp=NOW_MS - 1000)
    append(log, timestamp=-1)
    log.config = log_config()
    append(log, timestamp=0)


def test_append_time_topics_do_not_judge_the_producers_clock() -> None:
    """With LogAppendTime the producer's time is thrown away, so it cannot be wrong."""
    log = new_log(new_disk(), log_config(message_timestamp_type="LogAppendTime"))
    assert append(log, timestamp=NOW_MS + 10 * HOUR_MS).base_offset == 0


def test_records_that_cannot_be_recompressed_are_the_clients_fault() -> None:
    """A payload that is not what its header says is answered, not logged as a broken disk."""
    builder = BatchBuilder()
    builder.append(None, b"x", NOW_MS)
    honest = memoryview(builder.build())
    lying = changed(honest, attributes=int(Codec.ZSTD))
    log = new_log(new_disk(), log_config(compression_type="gzip"))
    assert refusal(log, lying)[0] is Error.CORRUPT_MESSAGE


def test_only_coordinators_write_markers() -> None:
    """The same control batch is refused from a client and taken from a coordinator."""
    log = new_log(new_disk())
    end = marker(commit=True, producer_id=9)
    assert refusal(log, end)[0] is Error.INVALID_RECORD
    assert append(log, end, origin=Origin.COORDINATOR).base_offset == 0


def test_the_timestamp_type_of_a_marker_follows_the_topic() -> None:
    """A coordinator's batch is stamped like any other where the topic uses append time."""
    log = new_log(new_disk(), log_config(message_timestamp_type="LogAppendTime"))
    append(log, marker(commit=True, producer_id=9), origin=Origin.COORDINATOR, now_ms=NOW_MS + 9)
    piece = log.read(0, 1000, up_to=1)
    assert piece.file is not None
    header = read_header(piece.file.read(0, piece.size))
    assert header.is_control
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.max_timestamp == NOW_MS + 9


@pytest.mark.parametrize("promised", [4, 6])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4])
def test_a_batch_must_hold_the_records_it_promises(promised: int, codec: Codec) -> None:
    """A count that lies behind a good CRC would stop every reader of the partition."""
    honest = batch(5, compression=codec)
    header = read_header(honest)
    lying = header._replace(record_count=promised, last_offset_delta=promised - 1)
    log = new_log(new_disk())
    with pytest.raises(ClientFault) as refused:
        append(log, memoryview(seal(lying, honest[HEADER_SIZE:])))
    assert refused.value.error == Error.INVALID_RECORD
    assert log.log_end_offset == 0


def test_a_compacted_topic_names_the_records_without_key() -> None:
    """KIP-467: the producer learns which records of its batch are at fault."""
    builder = BatchBuilder()
    for key in (b"a", None, b"c", None):
        builder.append(key, b"value", NOW_MS)
    log = new_log(new_disk(), log_config(cleanup_policy=("compact",)))
    with pytest.raises(InvalidRecords) as refused:
        append(log, memoryview(builder.build()))
    assert refused.value.indexes == [1, 3]


@pytest.mark.parametrize("magic", [0, 1])
def test_short_messages_of_old_formats_are_named(magic: int) -> None:
    """A v0 or v1 message shorter than a v2 header is refused for what it is."""
    message = bytearray(40)
    message[16] = magic
    with pytest.raises(ClientFault) as refused:
        append(new_log(new_disk()), memoryview(bytes(message)))
    assert refused.value.error == Error.UNSUPPORTED_FOR_MESSAGE_FORMAT
