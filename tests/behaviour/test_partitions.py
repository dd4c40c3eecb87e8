"""Many partitions: which key belongs where, and how many a broker can hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.behaviour.application import read, values
from tests.clients.drivers.librdkafka import Librdkafka
from tests.clients.partitioner import PARTITIONER_CASES
from tests.clients.raw import Connection, batch_headers, batch_of
from tests.clients.records import FIRST_TIMESTAMP_MS, Record
from tests.clients.requests import CREATE_TOPICS_VERSION, TIMEOUT_MS, create_topics_request

TOPICS = 4
PARTITIONS_EACH = 500


@pytest.mark.spec("book1:B-13", "slides:C37", "admin:PR-08")
def test_more_partitions_move_keys(broker: Broker, new_topic: Callable[..., str]) -> None:
    """A key stays in its partition until there are more; then its history lies in two of them."""
    client = Librdkafka(broker.bootstrap_servers)
    case = PARTITIONER_CASES[0]
    topic = new_topic(partitions=case.partitions)
    before = client.partitions_of_keys(topic, case.keys)
    assert before == client.partitions_of_keys(topic, case.keys) == case.expected
    client.create_partitions(topic, 5)
    after = client.partitions_of_keys(topic, case.keys)
    assert after == client.partitions_of_keys(topic, case.keys)
    pairs = zip(case.keys, before, after, strict=True)
    moved = [(key, old, new) for key, old, new in pairs if old != new]
    assert moved
    homes = before + before + after + after  # every record was written twice
    for key, old, new in moved:
        for partition in (old, new):
            found = read(
                broker.bootstrap_servers, topic, homes.count(partition), partition=partition
            )
            assert [message.key() for message in found].count(key) == 2


@pytest.mark.spec("admin:PR-19")
def test_records_with_one_key_keep_their_order(
    broker: Broker, new_topic: Callable[..., str]
) -> None:
    """Over thirteen partitions each key's records are in one of them, as they were written."""
    topic = new_topic(partitions=13)
    client = Librdkafka(broker.bootstrap_servers)
    records = [
        Record(b"key-%d" % (number % 20), b"%d" % number, FIRST_TIMESTAMP_MS)
        for number in range(1000)
    ]
    delivered = client.deliver(topic, -1, records, {"partitioner": "murmur2_random"})
    homes: dict[bytes, set[int]] = defaultdict(set)
    counts: dict[int, int] = defaultdict(int)
    for message in delivered:
        partition = message.partition()
        assert partition is not None
        homes[message.key() or b""].add(partition)
        counts[partition] += 1
    assert {len(home) for home in homes.values()} == {1}
    assert len(counts) > 1
    for partition, count in counts.items():
        numbers: dict[bytes, list[int]] = defaultdict(list)
        for message in read(broker.bootstrap_servers, topic, count, partition=partition):
            numbers[message.key() or b""].append(int(message.value() or b""))
        for key, found in numbers.items():
            assert found == [int(each.value or b"") for each in records if each.key == key]


def write_to_each(connection: Connection, topic: str) -> None:
    """One record, saying where it is, for every partition of a topic in one request."""
    data = [
        PartitionProduceData(
            index=index,
            records=batch_of([Record(None, f"{topic}-{index}".encode(), FIRST_TIMESTAMP_MS)]),
        )
        for index in range(PARTITIONS_EACH)
    ]
    request = ProduceRequest(
        acks=-1,
        timeout_ms=TIMEOUT_MS,
        topic_data=[TopicProduceData(name=topic, partition_data=data)],
    )
    (answer,) = connection.ask(request, 9).responses
    assert {each.error_code for each in answer.partition_responses} == {Error.NONE}
    assert {each.base_offset for each in answer.partition_responses} == {0}


def read_each(connection: Connection, topic: str) -> dict[int, Any]:
    """Every partition of a topic in one fetch."""
    wanted = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1000)
        for index in range(PARTITIONS_EACH)
    ]
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic=topic, partitions=wanted)]
    )
    (answer,) = connection.ask(request, 12).responses
    return {each.partition_index: each for each in answer.partitions}


@pytest.mark.spec("book1:B-23", "book1:N-04")
def test_a_broker_holds_thousands_of_partitions(tmp_path: Path) -> None:
    """Four topics of 500 partitions are written, read, and still there after a restart."""
    topics = [f"wide-{number}" for number in range(TOPICS)]
    with Broker(data=tmp_path) as broker:
        with Connection(broker.bootstrap_servers) as connection:
            for topic in topics:
                create = create_topics_request(
                    topic, partitions=PARTITIONS_EACH, config={"retention.ms": "-1"}
                )
                (created,) = connection.ask(create, CREATE_TOPICS_VERSION).topics
                assert created.error_code == Error.NONE
                write_to_each(connection, topic)
        broker.restart()
        with Connection(broker.bootstrap_servers) as connection:
            for topic in topics:
                found = read_each(connection, topic)
                assert len(found) == PARTITIONS_EACH
                for index, partition in found.items():
                    assert partition.high_watermark == 1
                    assert len(batch_headers(partition.records)) == 1
                    assert f"{topic}-{index}".encode() in bytes(partition.records)
        assert values(read(broker.bootstrap_servers, "wide-3", 1, partition=499)) == [b"wide-3-499"]
    assert len(list(tmp_path.glob("wide-*"))) == TOPICS * PARTITIONS_EACH
