"""A few bytes that hold very much: they cost their sender time, and others next to nothing."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.errors import Error
from headrace.records.batch import read_header, seal
from headrace.records.builder import build_batch, encode_record
from headrace.records.compression import Codec, compress
from headrace.records.record import Record
from headrace.testing import Broker
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from headrace.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from headrace.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from headrace.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from headrace.wire.messages.push_telemetry import PushTelemetryRequest
from tests.clients.raw import Connection

STALL_S = 2.0
"""What a busy machine may take for one answer; the bombs took many times as long."""

BOMB_BYTES = 128 << 20
VERSION = 9


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        create(running, "plain")
        create(running, "compacted", ("cleanup.policy", "compact"))
        create(running, "gzipped", ("compression.type", "gzip"))
        yield running


def create(broker: Broker, name: str, *settings: tuple[str, str]) -> None:
    configs = [CreatableTopicConfig(name=key, value=value) for key, value in settings]
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=configs)
    with Connection(broker.bootstrap_servers) as connection:
        connection.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)


def sealed(payload: bytes, count: int, codec: Codec = Codec.ZSTD) -> bytes:
    """A batch with a true CRC around any payload."""
    now_ms = int(time.time() * 1000)
    header = read_header(build_batch([Record(0, now_ms, b"k", b"v")]))
    attributes = header.attributes | codec
    header = header._replace(attributes=attributes, record_count=count, last_offset_delta=count - 1)
    return seal(header, payload)


@cache
def bomb() -> bytes:
    """One record of nearly 128 MB in a batch of four kilobytes."""
    record = encode_record(0, 0, b"k", bytes(BOMB_BYTES - 100))
    return sealed(compress(Codec.ZSTD, record), 1)


def produce(topic: str, batch: bytes, *, timeout_ms: int = 120_000) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=memoryview(batch))
    return ProduceRequest(
        transactional_id=None,
        acks=1,
        timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )


def send(
    broker: Broker, topic: str, *batches: bytes, version: int = VERSION
) -> list[PartitionProduceResponse]:
    """The answers to batches that are all sent before the first answer is read."""
    with Connection(broker.bootstrap_servers) as connection:
        ids = [connection.send(produce(topic, batch), version) for batch in batches]
        return [
            connection.answer(each, ProduceRequest, version).responses[0].partition_responses[0]
            for each in ids
        ]


class Neighbour:
    """Another client, which wants an answer all the time and remembers the longest wait."""

    def __init__(self, broker: Broker) -> None:
        self.longest_s = 0.0
        self.answers = 0
        self._over = threading.Event()
        self._connection = Connection(broker.bootstrap_servers)
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Neighbour:
        self._connection.ask(ApiVersionsRequest(), 0)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._connection.__exit__(None, None, None)

    def _ask(self) -> None:
        while not self._over.is_set():
            before = time.monotonic()
            self._connection.ask(ApiVersionsRequest(), 0)
            self.longest_s = max(self.longest_s, time.monotonic() - before)
            self.answers += 1


def peak_bytes(broker: Broker) -> int:
    status = Path(f"/proc/{broker.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


@pytest.mark.parametrize("topic", ["plain", "compacted"])
def test_ten_bombs_stop_nobody(broker: Broker, topic: str) -> None:
    """Each is taken, as Apache Kafka takes it; others are answered, and the memory stays small."""
    with Neighbour(broker) as neighbour:
        answers = send(broker, topic, *[bomb()] * 10)
    assert [answer.error_code for answer in answers] == [Error.NONE] * 10
    offsets = [answer.base_offset for answer in answers]
    assert offsets == list(range(offsets[0], offsets[0] + 10)), "in the order they were sent"
    assert neighbour.longest_s < STALL_S
    assert peak_bytes(broker) < 200 << 20


def test_fifteen_million_uneven_records(broker: Broker) -> None:
    """Offsets that do not count up are found at the second record."""
    records = b"".join(encode_record(0, 0, None, bytes(size % 3)) for size in range(30))
    batch = sealed(compress(Codec.ZSTD, records * 500_000), 15_000_000)
    assert len(batch) < 100_000
    with Neighbour(broker) as neighbour:
        answers = send(broker, "plain", *[batch] * 3)
    assert [answer.error_code for answer in answers] == [Error.INVALID_RECORD] * 3
    assert "offset delta" in (answers[0].error_message or "")
    assert neighbour.longest_s < STALL_S


def test_two_hundred_thousand_true_records(broker: Broker) -> None:
    """A huge honest batch is taken without making others wait; what follows keeps its place."""
    sizes = [0, 1, 2]
    records = b"".join(encode_record(n, 0, b"k", bytes(sizes[n % 3])) for n in range(200_000))
    large = sealed(compress(Codec.ZSTD, records), 200_000)
    small = sealed(compress(Codec.ZSTD, encode_record(0, 0, b"k", b"v")), 1)
    with Neighbour(broker) as neighbour:
        answers = send(broker, "compacted", large, small, large)
    assert [answer.error_code for answer in answers] == [Error.NONE] * 3
    first, second, third = (answer.base_offset for answer in answers)
    assert (second - first, third - second) == (200_000, 1)
    assert neighbour.longest_s < STALL_S


def test_more_than_the_limit(broker: Broker) -> None:
    """Content beyond 128 MB is too large, which makes a client split its batch."""
    record = encode_record(0, 0, b"k", bytes(BOMB_BYTES))
    [answer] = send(broker, "plain", sealed(compress(Codec.ZSTD, record), 1))
    assert answer.error_code == Error.MESSAGE_TOO_LARGE


def test_another_codec_of_the_topic(broker: Broker) -> None:
    """What must be compressed again must be in memory: 32 MB are the limit, on the thread."""
    small = encode_record(0, 0, b"k", bytes(1 << 20))
    with Neighbour(broker) as neighbour:
        answers = send(broker, "gzipped", sealed(compress(Codec.ZSTD, small), 1), bomb())
    assert [answer.error_code for answer in answers] == [Error.NONE, Error.MESSAGE_TOO_LARGE]
    assert neighbour.longest_s < STALL_S


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
@pytest.mark.parametrize("size", [10, 2 << 20])
def test_offsets_that_do_not_count_up(broker: Broker, codec: Codec, size: int) -> None:
    """They are invalid in every codec, in batches of any size."""
    records = b"".join(encode_record(delta, 0, b"k", bytes(size)) for delta in (0, 0))
    [answer] = send(broker, "plain", sealed(compress(codec, records), 2, codec))
    assert answer.error_code == Error.INVALID_RECORD


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
def test_damaged_content(broker: Broker, codec: Codec) -> None:
    """What cannot be decompressed is corrupt, and the next batch is taken."""
    payload = compress(codec, encode_record(0, 0, b"k", bytes(3 << 20)))
    good = sealed(payload, 1, codec)
    answers = send(broker, "plain", sealed(payload[:-30], 1, codec), good)
    assert [answer.error_code for answer in answers] == [Error.CORRUPT_MESSAGE, Error.NONE]


@pytest.mark.parametrize("version", [3, 6, 7])
def test_zstd_needs_version_7(broker: Broker, version: int) -> None:
    """KIP-110: an older client could not read what it has written."""
    batch = sealed(compress(Codec.ZSTD, encode_record(0, 0, b"k", b"v")), 1)
    [answer] = send(broker, "plain", batch, version=version)
    expected = Error.NONE if version >= 7 else Error.UNSUPPORTED_COMPRESSION_TYPE
    assert answer.error_code == expected
    lz4 = sealed(compress(Codec.LZ4, encode_record(0, 0, b"k", b"v")), 1, Codec.LZ4)
    [answer] = send(broker, "plain", lz4, version=version)
    assert answer.error_code == Error.NONE


def test_what_takes_longer_than_its_timeout(broker: Broker) -> None:
    """It is given up, and costs nobody else anything."""
    with Connection(broker.bootstrap_servers) as connection:
        ids = [connection.send(produce("plain", bomb(), timeout_ms=1), VERSION) for _ in range(6)]
        errors = [error_of(connection, each) for each in ids]
    assert errors == [Error.REQUEST_TIMED_OUT] * 6
    assert send(broker, "plain", bomb())[0].error_code == Error.NONE


def error_of(connection: Connection, correlation_id: int) -> int:
    answer = connection.answer(correlation_id, ProduceRequest, VERSION)
    error: int = answer.responses[0].partition_responses[0].error_code
    return error


@cache
def many_records(count: int) -> bytes:
    """A batch of records that must be walked over one by one."""
    sizes = [0, 1, 2]
    records = b"".join(encode_record(n, 0, b"k", bytes(sizes[n % 3])) for n in range(count))
    return sealed(compress(Codec.ZSTD, records), count)


def test_the_work_of_connections_takes_turns(broker: Broker) -> None:
    """Who comes later with less work is done earlier."""
    create(broker, "turns")
    with (
        Connection(broker.bootstrap_servers) as first,
        Connection(broker.bootstrap_servers) as second,
    ):
        much = first.send(produce("turns", many_records(600_000)), VERSION)
        second.ask(ApiVersionsRequest(), 0)  # the broker has read what was sent before
        little = second.send(produce("turns", many_records(20_000)), VERSION)
        answers = {
            connection: connection.answer(sent, ProduceRequest, VERSION)
            .responses[0]
            .partition_responses[0]
            for connection, sent in ((second, little), (first, much))
        }
    assert (answers[second].error_code, answers[second].base_offset) == (Error.NONE, 0)
    assert (answers[first].error_code, answers[first].base_offset) == (Error.NONE, 20_000)


def test_the_work_of_a_client_that_has_gone_is_dropped(broker: Broker) -> None:
    """What it has sent is not written once it has gone."""
    create(broker, "gone")
    with Connection(broker.bootstrap_servers) as connection:
        connection.send(produce("gone", many_records(200_000)), VERSION)
    [answer] = send(broker, "gone", many_records(600_000))  # done later, if both are done
    assert (answer.error_code, answer.base_offset) == (Error.NONE, 0)


def test_a_commit_is_seen_while_other_records_are_inspected(broker: Broker) -> None:
    """One request writes to a topic that is flushed, and to another that must be inspected."""
    create(broker, "flushed", ("flush.messages", "1"))
    small = sealed(compress(Codec.ZSTD, encode_record(0, 0, b"k", b"v")), 1)
    request = produce("flushed", small, timeout_ms=20_000)
    request.acks = -1
    request.topic_data += produce("plain", many_records(200_000)).topic_data
    with Connection(broker.bootstrap_servers) as connection:
        response = connection.ask(request, VERSION)
    errors = [each.partition_responses[0].error_code for each in response.responses]
    assert errors == [Error.NONE, Error.NONE]


def test_settings_that_change_while_records_are_inspected(broker: Broker) -> None:
    """Records without keys do not enter a topic that has become compacted meanwhile."""
    create(broker, "becoming")
    keyless = b"".join(encode_record(n, 0, None, bytes(n % 3)) for n in range(600_000))
    batch = sealed(compress(Codec.ZSTD, keyless), 600_000)
    with (
        Connection(broker.bootstrap_servers) as producer,
        Connection(broker.bootstrap_servers) as administrator,
    ):
        sent = producer.send(produce("becoming", batch), VERSION)
        compact = AlterableConfig(name="cleanup.policy", config_operation=0, value="compact")
        topic = AlterConfigsResource(resource_type=2, resource_name="becoming", configs=[compact])
        changed = administrator.ask(
            IncrementalAlterConfigsRequest(resources=[topic], validate_only=False), 1
        )
        assert changed.responses[0].error_code == Error.NONE
        assert error_of(producer, sent) == Error.INVALID_RECORD


def test_a_time_in_many_partitions() -> None:
    """One batch at a time is in memory, however many partitions are asked for."""
    partitions = 100
    with Broker() as broker, Connection(broker.bootstrap_servers) as connection:
        topic = CreatableTopic(name="wide", num_partitions=partitions, replication_factor=1)
        connection.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
        record = encode_record(0, 0, b"k", random.Random(1).randbytes(900_000))
        batch = sealed(compress(Codec.ZSTD, record), 1)
        for index in range(partitions):
            request = produce("wide", batch)
            request.topic_data[0].partition_data[0].index = index
            assert error_of(connection, connection.send(request, VERSION)) == Error.NONE
        before = peak_bytes(broker)
        asked = [ListOffsetsPartition(partition_index=n, timestamp=1) for n in range(partitions)]
        wanted = ListOffsetsTopic(name="wide", partitions=asked)
        response = connection.ask(ListOffsetsRequest(replica_id=-1, topics=[wanted]), 7)
        found = [(each.error_code, each.offset) for each in response.topics[0].partitions]
        assert found == [(Error.NONE, 0)] * partitions
        assert peak_bytes(broker) - before < 30 << 20


def test_a_time_inside_of_bombs(broker: Broker) -> None:
    """Finding a record by its time opens the batch, and others are answered meanwhile."""
    create(broker, "timed")
    now_ms = int(time.time() * 1000)
    times = encode_record(0, 0, b"k", bytes(64 << 20)) + encode_record(1, 7, b"k", bytes(60 << 20))
    header = read_header(sealed(compress(Codec.ZSTD, times), 2))
    header = header._replace(base_timestamp=now_ms, max_timestamp=now_ms + 7)
    batch = seal(header, compress(Codec.ZSTD, times))
    [answer] = send(broker, "timed", batch)
    assert answer.error_code == Error.NONE
    with Neighbour(broker) as neighbour, Connection(broker.bootstrap_servers) as connection:
        for timestamp, found in ((now_ms, 0), (now_ms + 1, 1), (-3, 1), (now_ms + 8, -1)):
            asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
            topic = ListOffsetsTopic(name="timed", partitions=[asked])
            response = connection.ask(ListOffsetsRequest(replica_id=-1, topics=[topic]), 7)
            [place] = response.topics[0].partitions
            assert (place.error_code, place.offset) == (Error.NONE, found)
    assert neighbour.longest_s < STALL_S


def test_headers_that_lie_about_times(broker: Broker) -> None:
    """A search by time ends at the first batch whose header claims the time."""
    create(broker, "lying")
    now_ms = int(time.time() * 1000)
    payload = compress(Codec.ZSTD, encode_record(0, 0, b"k", b"v"))
    header = read_header(sealed(payload, 1))
    header = header._replace(base_timestamp=now_ms, max_timestamp=now_ms + 500)
    send(broker, "lying", *[seal(header, payload)] * 3)
    with Connection(broker.bootstrap_servers) as connection:
        asked = ListOffsetsPartition(partition_index=0, timestamp=now_ms + 400)
        topic = ListOffsetsTopic(name="lying", partitions=[asked])
        response = connection.ask(ListOffsetsRequest(replica_id=-1, topics=[topic]), 7)
        [place] = response.topics[0].partitions
    assert (place.offset, place.timestamp) == (0, now_ms + 500)


def test_telemetry_of_millions_of_empty_fields(broker: Broker) -> None:
    """A report of a client that unpacks to 14 MB of nothing is given up on the thread."""
    nothing = compress(Codec.ZSTD, b"\x0a\x00" * (7 << 20))
    with Neighbour(broker) as neighbour, Connection(broker.bootstrap_servers) as connection:
        answer = connection.ask(GetTelemetrySubscriptionsRequest(client_instance_id=uuid4()), 0)
        push = PushTelemetryRequest(
            client_instance_id=answer.client_instance_id,
            subscription_id=answer.subscription_id,
            terminating=False,
            compression_type=Codec.ZSTD,
            metrics=nothing,
        )
        assert connection.ask(push, 0).error_code == Error.INVALID_RECORD
    assert neighbour.longest_s < STALL_S


def test_a_transaction_with_a_heavy_batch(broker: Broker) -> None:
    """A real client's transaction: what is inspected first shares the fate of the rest."""
    create(broker, "transactions")
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "transactional.id": "heavy",
        "compression.type": "zstd",
        "message.max.bytes": 10_000_000,
    }
    producer = Producer(settings)
    producer.init_transactions()
    for size, commits in ((5 << 20, True), (6 << 20, False), (10, True)):
        producer.begin_transaction()
        producer.produce("transactions", bytes(size))
        if commits:
            producer.commit_transaction()
        else:
            producer.flush()
            producer.abort_transaction()
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "readers",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition("transactions", 0, 0)])
    found = consumer.consume(2, timeout=60)
    consumer.close()
    assert [len(message.value() or b"") for message in found] == [5 << 20, 10]
