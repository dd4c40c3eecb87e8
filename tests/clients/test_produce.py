"""Produce: what is appended, what is refused and with which words."""

from __future__ import annotations

import struct
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headrace.errors import Error
from headrace.records.batch import HEADER_SIZE, BatchHeader, TimestampType, read_header, seal
from headrace.records.compression import Codec
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.metadata import MetadataRequest
from headrace.wire.messages.produce import ProduceRequest
from tests.clients.raw import Connection, ConnectionClosed, batch_headers, batch_of
from tests.clients.records import (
    CODECS,
    FIRST_TIMESTAMP_MS,
    Record,
    incompressible,
    numbered_records,
    sample_records,
)
from tests.clients.requests import (
    LATEST,
    fetched,
    metadata_request,
    offset_at,
    produce_request,
    produced,
    produced_bytes,
    topic_id_of,
)

HOUR_MS = 3_600_000
NO_OFFSET = -1


def end_offset(connection: Connection, topic: str) -> int:
    return int(offset_at(connection, topic, LATEST).offset)


def resealed(batch: memoryview, **changes: Any) -> memoryview:
    """The batch with these header fields changed and a CRC that agrees with the lie."""
    header: BatchHeader = read_header(batch)._replace(**changes)
    return memoryview(seal(header, bytes(batch[HEADER_SIZE:])))


@pytest.mark.spec("book1:B-29", "admin:LS-02")
@pytest.mark.parametrize("version", range(3, 13))
def test_the_answer_tells_the_offsets(connection: Connection, topic: str, version: int) -> None:
    """Offsets count from 0, one per record, without a gap between requests."""
    first = produced_bytes(connection, topic, batch_of(numbered_records(3)), version=version)
    second = produced_bytes(connection, topic, batch_of(numbered_records(2)), version=version)
    assert (first.error_code, first.base_offset) == (Error.NONE, 0)
    assert (second.error_code, second.base_offset) == (Error.NONE, 3)
    assert second.log_append_time_ms == -1
    assert version < 5 or second.log_start_offset == 0
    assert end_offset(connection, topic) == 5


@pytest.mark.spec("admin:LS-04")
def test_what_is_stored_never_changes(connection: Connection, topic: str) -> None:
    """Between producer and reader only the broker's 16 bytes differ, and they stay for ever."""
    batch = batch_of(sample_records())
    produced_bytes(connection, topic, batch)
    first = bytes(fetched(connection, topic, 0).records)
    assert first[16:] == bytes(batch)[16:]
    for _ in range(3):
        produced(connection, topic, numbered_records(5))
    assert bytes(fetched(connection, topic, 0).records)[: len(first)] == first


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_batches_are_stored_as_they_came(
    connection: Connection, topic: str, codec: str
) -> None:
    """With compression.type=producer the broker does not touch the records."""
    batch = batch_of(sample_records(), compression=Codec[codec.upper()])
    produced_bytes(connection, topic, batch)
    assert bytes(fetched(connection, topic, 0).records)[16:] == bytes(batch)[16:]


def test_a_topic_can_have_a_codec_of_its_own(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """With compression.type=zstd on the topic the broker compresses what came otherwise."""
    topic = new_topic(config={"compression.type": "zstd"})
    produced(connection, topic, numbered_records(100), compression=Codec.GZIP)
    (header,) = batch_headers(fetched(connection, topic, 0).records)
    assert (header.compression, header.record_count) == (Codec.ZSTD, 100)


@pytest.mark.spec("admin:RQ-05")
def test_acks_0_gets_no_answer(connection: Connection, topic: str) -> None:
    """The next answer on the connection belongs to the next request, not to the produce."""
    connection.send(produce_request(topic, batch_of(numbered_records(2)), acks=0), 9)
    for _ in range(3):
        request = metadata_request(topic)
        connection.answer(connection.send(request, 12), type(request), 12)
    assert end_offset(connection, topic) == 2


def test_acks_0_that_fails_ends_the_connection(connection: Connection, topic: str) -> None:
    """There is no answer to carry the error, so closing is the only word left."""
    connection.send(produce_request(topic, batch_of(numbered_records(1)), partition=7, acks=0), 9)
    with pytest.raises(ConnectionClosed):
        connection.receive_frame()


@pytest.mark.spec("admin:RQ-06")
def test_acks_1_is_answered(connection: Connection, topic: str) -> None:
    """The leader answers after its own append."""
    result = produced_bytes(connection, topic, batch_of(numbered_records(1)), acks=1)
    assert (result.error_code, result.base_offset) == (Error.NONE, 0)


@pytest.mark.parametrize("acks", [2, 5, -2])
def test_other_acks_are_refused(connection: Connection, topic: str, acks: int) -> None:
    """Only 0, 1 and -1 have a meaning; nothing is appended."""
    result = produced_bytes(connection, topic, batch_of(numbered_records(1)), acks=acks)
    assert (result.error_code, result.base_offset) == (Error.INVALID_REQUIRED_ACKS, NO_OFFSET)
    assert end_offset(connection, topic) == 0


@pytest.mark.spec("book1:F-04")
def test_pipelined_requests_are_answered_in_order(connection: Connection, topic: str) -> None:
    """Twenty requests are on their way before the first answer is read."""
    batch = batch_of(numbered_records(1))
    sent = [connection.send(produce_request(topic, batch), 9) for _ in range(20)]
    for number, correlation_id in enumerate(sent):
        response = connection.answer(correlation_id, ProduceRequest, 9)
        (result,) = response.responses[0].partition_responses
        assert (result.error_code, result.base_offset) == (Error.NONE, number)


def test_a_fast_answer_waits_for_a_slow_one(connection: Connection, topic: str) -> None:
    """A metadata request behind a produce with acks=all is answered after it."""
    first = connection.send(produce_request(topic, batch_of(numbered_records(1))), 9)
    second = connection.send(metadata_request(topic), 12)
    connection.answer(first, ProduceRequest, 9)
    connection.answer(second, MetadataRequest, 12)


def test_one_request_carries_several_partitions(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """Each partition has its own verdict: one bad batch does not spoil the others."""
    topic = new_topic(partitions=2)
    good = batch_of(numbered_records(1))
    broken = memoryview(bytes(good[:-1]) + b"\xff")
    request = produce_request(topic, good)
    for partition, records in ((1, broken), (9, good)):
        more = produce_request(topic, records, partition=partition)
        request.topic_data[0].partition_data += more.topic_data[0].partition_data
    (answer,) = connection.ask(request, 9).responses
    codes = {each.index: each.error_code for each in answer.partition_responses}
    assert codes == {
        0: Error.NONE,
        1: Error.CORRUPT_MESSAGE,
        9: Error.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_an_unknown_topic_is_refused(connection: Connection, topic_name: str) -> None:
    """Produce never creates a topic."""
    result = produced_bytes(connection, topic_name, batch_of(numbered_records(1)))
    assert (result.error_code, result.base_offset) == (
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        NO_OFFSET,
    )


def test_topics_are_found_by_id(connection: Connection, topic: str) -> None:
    """KIP-516: Produce v13 names topics by id alone."""
    batch = batch_of(numbered_records(1))
    request = produce_request("", batch, topic_id=topic_id_of(connection, topic))
    (answer,) = connection.ask(request, 13).responses
    assert answer.partition_responses[0].error_code == Error.NONE
    assert end_offset(connection, topic) == 1


def test_an_unknown_topic_id_is_refused(connection: Connection) -> None:
    """UNKNOWN_TOPIC_ID makes the client ask for metadata again."""
    unknown = uuid.uuid4()
    request = produce_request("", batch_of(numbered_records(1)), topic_id=unknown)
    (answer,) = connection.ask(request, 13).responses
    assert answer.topic_id == unknown
    assert answer.partition_responses[0].error_code == Error.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("position", [17, 21, 40, HEADER_SIZE, -1])
def test_a_changed_byte_is_noticed(connection: Connection, topic: str, position: int) -> None:
    """The CRC covers everything from the attributes on; what does not agree is CORRUPT_MESSAGE."""
    batch = bytearray(batch_of(numbered_records(5)))
    batch[position] ^= 0x10
    result = produced_bytes(connection, topic, memoryview(batch))
    assert (result.error_code, result.base_offset) == (Error.CORRUPT_MESSAGE, NO_OFFSET)
    assert end_offset(connection, topic) == 0


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize(
    "lie",
    [
        {"record_count": 4, "last_offset_delta": 3},
        {"record_count": 6, "last_offset_delta": 5},
        {"record_count": 0},
        {"record_count": -1},
        {"last_offset_delta": 7},
    ],
    ids=str,
)
def test_a_lying_count_is_refused(
    connection: Connection, topic: str, lie: dict[str, int], codec: str
) -> None:
    """A valid CRC does not help a header that promises other records than follow."""
    honest = batch_of(numbered_records(5), compression=Codec[codec.upper()])
    result = produced_bytes(connection, topic, resealed(honest, **lie))
    assert result.error_code == Error.INVALID_RECORD
    assert end_offset(connection, topic) == 0


def test_a_length_beyond_the_data_is_refused(connection: Connection, topic: str) -> None:
    """A batch that says it is longer than what came is CORRUPT_MESSAGE."""
    batch = bytearray(batch_of(numbered_records(5)))
    struct.pack_into(">i", batch, 8, len(batch) + 100)
    result = produced_bytes(connection, topic, memoryview(batch))
    assert result.error_code in (Error.CORRUPT_MESSAGE, Error.INVALID_RECORD)
    assert end_offset(connection, topic) == 0


def test_two_batches_for_one_partition_are_refused(connection: Connection, topic: str) -> None:
    """A produce request carries one batch per partition (INVALID_RECORD otherwise)."""
    batch = bytes(batch_of(numbered_records(1)))
    result = produced_bytes(connection, topic, memoryview(batch + batch))
    assert result.error_code == Error.INVALID_RECORD


@pytest.mark.parametrize(
    "options", [{"control": True}, {"base_offset": 5}], ids=["control batch", "base offset"]
)
def test_what_only_brokers_write_is_refused(
    connection: Connection, topic: str, options: dict[str, Any]
) -> None:
    """Control batches and offsets are the broker's own."""
    batch = batch_of(numbered_records(1), **options)
    assert produced_bytes(connection, topic, batch).error_code == Error.INVALID_RECORD


def test_garbage_in_place_of_compressed_data_is_refused(connection: Connection, topic: str) -> None:
    """A batch whose CRC is right but whose records do not decompress never reaches the log."""
    honest = batch_of(numbered_records(5), compression=Codec.GZIP)
    garbage = memoryview(seal(read_header(honest), incompressible(200)))
    assert produced_bytes(connection, topic, garbage).error_code != Error.NONE
    assert end_offset(connection, topic) == 0


def test_a_batch_above_the_limit_is_too_large(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """max.message.bytes is the topic's own limit, on the batch as it was compressed."""
    topic = new_topic(config={"max.message.bytes": "10000"})
    big = [Record(b"", bytes(50_000), FIRST_TIMESTAMP_MS)]
    result = produced_bytes(connection, topic, batch_of(big))
    assert (result.error_code, result.base_offset) == (Error.MESSAGE_TOO_LARGE, NO_OFFSET)
    compressed = batch_of(big, compression=Codec.GZIP)
    assert produced_bytes(connection, topic, compressed).error_code == Error.NONE


def test_the_limit_counts_the_batch_header(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """A batch of exactly max.message.bytes passes, one byte more does not."""
    records = numbered_records(10)
    size = len(batch_of(records))
    fits = new_topic(config={"max.message.bytes": str(size)})
    tight = new_topic(config={"max.message.bytes": str(size - 1)})
    assert produced_bytes(connection, fits, batch_of(records)).error_code == Error.NONE
    result = produced_bytes(connection, tight, batch_of(records))
    assert result.error_code == Error.MESSAGE_TOO_LARGE


def test_a_compacted_topic_needs_keys(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """Without a key a record could never be compacted: INVALID_RECORD names the culprit."""
    topic = new_topic(config={"cleanup.policy": "compact"})
    keyed, keyless = numbered_records(2)
    records = [keyed, replace(keyless, key=None)]
    result = produced_bytes(connection, topic, batch_of(records))
    assert result.error_code == Error.INVALID_RECORD
    assert [each.batch_index for each in result.record_errors] == [1]
    assert produced_bytes(connection, topic, batch_of([keyed])).error_code == Error.NONE


def test_a_time_in_the_far_future_is_refused(connection: Connection, topic: str) -> None:
    """message.timestamp.after.max.ms is an hour by default (KIP-937): INVALID_TIMESTAMP."""
    now_ms = time.time_ns() // 1_000_000
    future = [Record(b"", b"", now_ms + 2 * HOUR_MS)]
    assert produced_bytes(connection, topic, batch_of(future)).error_code == Error.INVALID_TIMESTAMP
    soon = [Record(b"", b"", now_ms + HOUR_MS // 2)]
    assert produced_bytes(connection, topic, batch_of(soon)).error_code == Error.NONE


def test_log_append_time_is_the_brokers_own(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """With message.timestamp.type=LogAppendTime the broker stamps the batch and tells when."""
    topic = new_topic(config={"message.timestamp.type": "LogAppendTime"})
    began_ms = time.time_ns() // 1_000_000
    result = produced(connection, topic, numbered_records(3))
    (header,) = batch_headers(fetched(connection, topic, 0).records)
    assert header.timestamp_type == TimestampType.LOG_APPEND_TIME
    assert header.max_timestamp == result.log_append_time_ms
    assert began_ms <= header.max_timestamp <= time.time_ns() // 1_000_000


@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_formats_are_refused(connection: Connection, topic: str, magic: int) -> None:
    """Formats before record batches are not written any more (KIP-724)."""
    timestamp = struct.pack(">q", FIRST_TIMESTAMP_MS) if magic == 1 else b""
    body = struct.pack(">bb", magic, 0) + timestamp + struct.pack(">ii", -1, 1) + b"x"
    message = struct.pack(">qiI", 0, len(body) + 4, 0) + body
    result = produced_bytes(connection, topic, memoryview(message))
    assert result.error_code in (Error.INVALID_RECORD, Error.UNSUPPORTED_FOR_MESSAGE_FORMAT)


class Producer:
    """An idempotent producer by hand: it may lie about its sequence."""

    def __init__(self, connection: Connection, topic: str) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        self.identity = connection.ask(request, 4)
        self._connection = connection
        self._topic = topic

    def send(self, sequence: int, count: int = 1, *, epoch: int | None = None) -> Any:
        batch = batch_of(
            numbered_records(count),
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.producer_epoch if epoch is None else epoch,
            base_sequence=sequence,
        )
        return produced_bytes(self._connection, self._topic, batch)


def test_a_repeated_batch_is_not_appended_again(connection: Connection, topic: str) -> None:
    """KIP-98: a retry of any of the last five batches gets the offset of the first time."""
    producer = Producer(connection, topic)
    first = [producer.send(sequence).base_offset for sequence in range(5)]
    again = [producer.send(sequence) for sequence in range(5)]
    assert [each.error_code for each in again] == [Error.NONE] * 5
    assert [each.base_offset for each in again] == first
    assert end_offset(connection, topic) == 5


def test_a_gap_in_the_sequence_is_refused(connection: Connection, topic: str) -> None:
    """A batch that skips a sequence number means that one was lost: OUT_OF_ORDER_SEQUENCE."""
    producer = Producer(connection, topic)
    assert producer.send(0, count=3).error_code == Error.NONE
    assert producer.send(4).error_code == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.send(3).error_code == Error.NONE
    assert end_offset(connection, topic) == 4


def test_an_old_epoch_is_fenced(connection: Connection, topic: str) -> None:
    """A newer epoch begins again at sequence 0 and shuts the older one out."""
    producer = Producer(connection, topic)
    assert producer.send(0, epoch=3).error_code == Error.NONE
    assert producer.send(0, epoch=4).error_code == Error.NONE
    assert producer.send(1, epoch=3).error_code == Error.INVALID_PRODUCER_EPOCH


def test_sequences_are_kept_per_partition(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """One producer counts for each partition on its own."""
    topic = new_topic(partitions=2)
    identity = Producer(connection, topic).identity
    batch = batch_of(
        numbered_records(1),
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        base_sequence=0,
    )
    for partition in (0, 1):
        result = produced_bytes(connection, topic, batch, partition=partition)
        assert (result.error_code, result.base_offset) == (Error.NONE, 0)
