"""Raw batches into partitions: order, repetition, loss."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.client.cluster import Cluster
from headrace.client.faults import BrokerRefused, TimedOut, UnknownTopic
from headrace.client.fetching import PartitionFetcher
from headrace.client.offsets import LATEST, list_offsets
from headrace.client.producing import Fenced, RawProducer
from headrace.errors import ConfigError, Error, HeadraceError
from headrace.records.compression import Codec
from headrace.testing import Broker
from headrace.types import TopicPartition
from tests.client.batches import create_topic, delete_topic, payload, read_values
from tests.clients.producer.gateway import Api, Loss, gateway

Opened = Callable[..., Cluster]
MANY = 100_000


def all_values(cluster: Cluster, topic: str, partition: int = 0) -> list[bytes]:
    place = TopicPartition(topic, partition)
    end = list_offsets(cluster, {place: LATEST}, read_committed=False)[place].offset
    fetcher = PartitionFetcher(cluster, topic, partition, read_committed=False)
    return read_values(fetcher, 0, end)


def numbered(start: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, start + count)]


def test_a_hundred_thousand_records_in_order(
    cluster: Cluster, new_topic: Callable[..., str]
) -> None:
    """Over several partitions, several batches to a request, each partition in its order."""
    topic = new_topic(partitions=4)
    producer = RawProducer(cluster, max_request_bytes=1 << 16)
    for start in range(0, MANY, 500):
        producer.send(topic, start // 500 % 4, payload(numbered(start, 500), codec=Codec.LZ4))
    producer.flush()
    for partition in range(4):
        expected = [
            value for start in range(partition * 500, MANY, 2000) for value in numbered(start, 500)
        ]
        assert all_values(cluster, topic, partition) == expected


def test_requests_are_shared_and_pipelined(
    open_cluster: Opened, bootstrap: str, new_topic: Callable[..., str]
) -> None:
    """Batches of several partitions travel together, up to five requests at a time, no more."""
    topic = new_topic(partitions=3)
    with gateway(bootstrap) as between:
        producer = RawProducer(open_cluster(between.bootstrap), max_request_bytes=3000)
        for round_number in range(60):
            for partition in range(3):
                producer.send(topic, partition, payload([b"x" * 900, b"%d" % round_number]))
        producer.flush()
        requests = between.of(Api.PRODUCE)
        assert between.peak_in_flight <= 5
        assert between.peak_in_flight > 1
        assert len(requests) < 100
        for seen in requests:
            (asked,) = seen.message.topic_data
            indexes = [data.index for data in asked.partition_data]
            assert len(indexes) == len(set(indexes))
            assert sum(len(data.records) for data in asked.partition_data) <= 3000
    for partition in range(3):
        counted = all_values(open_cluster(bootstrap), topic, partition)[1::2]
        assert counted == numbered(0, 60)


def test_the_first_batch_of_a_partition_travels_alone(
    open_cluster: Opened, bootstrap: str, topic: str
) -> None:
    """A broker believes the first sequence it hears: nothing may overtake sequence 0."""
    with gateway(bootstrap) as between:
        producer = RawProducer(open_cluster(between.bootstrap), max_request_bytes=1)
        between.fail_next(Error.NOT_ENOUGH_REPLICAS)
        for number in range(10):
            producer.send(topic, 0, payload([b"%d" % number]))
        producer.flush()
    assert all_values(open_cluster(bootstrap), topic) == numbered(0, 10)


@pytest.mark.parametrize(
    "faults",
    [
        [Loss.ANSWER],
        [Loss.REQUEST],
        [None, Loss.ANSWER, Loss.ANSWER, Loss.REQUEST],
        [Error.NOT_LEADER_OR_FOLLOWER],
        [None, None, Error.REQUEST_TIMED_OUT],
        [None, None, None, Error.NOT_ENOUGH_REPLICAS, None, Error.NOT_LEADER_OR_FOLLOWER],
    ],
    ids=str,
)
def test_nothing_is_lost_doubled_or_moved(
    open_cluster: Opened,
    bootstrap: str,
    new_topic: Callable[..., str],
    faults: list[Loss | Error | None],
) -> None:
    """Lost connections and passing errors: everything unacknowledged goes again, in order."""
    topic = new_topic(partitions=2)
    with gateway(bootstrap) as between:
        producer = RawProducer(open_cluster(between.bootstrap), max_request_bytes=1)
        between.fail_next(*faults)
        for number in range(20):
            producer.send(topic, number % 2, payload([b"%d" % number, b"-"]))
        producer.flush()
    cluster = open_cluster(bootstrap)
    for partition in range(2):
        found = all_values(cluster, topic, partition)[::2]
        assert found == [b"%d" % number for number in range(partition, 20, 2)]


def test_a_duplicate_counts_as_acknowledged(
    open_cluster: Opened, bootstrap: str, topic: str
) -> None:
    """DUPLICATE_SEQUENCE_NUMBER: the broker has the batch, whatever became of its answer."""
    with gateway(bootstrap) as between:
        producer = RawProducer(open_cluster(between.bootstrap))
        between.fail_next(Error.DUPLICATE_SEQUENCE_NUMBER)
        producer.send(topic, 0, payload([b"x"]))
        producer.flush()
        assert len(between.of(Api.PRODUCE)) == 1


def test_a_broker_that_is_killed_and_comes_back(open_cluster: Opened) -> None:
    """kill -9 in the middle, the same port and data afterwards: every record once, in order."""
    with Broker() as broker:
        cluster = open_cluster(broker.bootstrap_servers)
        topic = create_topic(cluster, "t", 2, {})
        producer = RawProducer(cluster, max_request_bytes=20_000)
        for number in range(200):
            producer.send(topic, number % 2, payload(numbered(number * 100, 100)))
            if number == 100:
                broker.kill()
                broker.start()
        producer.flush()
        for partition in range(2):
            expected = [
                value
                for number in range(partition, 200, 2)
                for value in numbered(number * 100, 100)
            ]
            assert all_values(cluster, topic, partition) == expected


def test_trouble_that_lasts_is_told(open_cluster: Opened, bootstrap: str, topic: str) -> None:
    """After `default.api.timeout.ms` without an acknowledgement: partition and last reason."""
    with gateway(bootstrap) as between:
        between.fail_next(*[Error.NOT_ENOUGH_REPLICAS] * 1000)
        cluster = open_cluster(between.bootstrap, default_api_timeout_ms="300")
        producer = RawProducer(cluster)
        producer.send(topic, 0, payload([b"x"]))
        with pytest.raises(TimedOut, match=rf"{topic}-0 .*NOT_ENOUGH_REPLICAS; bring back"):
            producer.flush()
        with pytest.raises(HeadraceError, match="has failed"):
            producer.send(topic, 0, payload([b"y"]))


def test_a_batch_that_is_too_large(cluster: Cluster, new_topic: Callable[..., str]) -> None:
    """MESSAGE_TOO_LARGE: topic, partition, size and what to raise; a new beginning works."""
    topic = new_topic(config={"max.message.bytes": "2000"})
    producer = RawProducer(cluster)
    producer.send(topic, 0, payload([b"x" * 5000]))
    with pytest.raises(
        BrokerRefused, match=rf"1 records \(5\d\d\d bytes\) to {topic}-0.*raise max"
    ):
        producer.flush()
    producer.begin()
    producer.send(topic, 0, payload([b"small"]))
    producer.flush()
    assert all_values(cluster, topic) == [b"small"]


def test_a_topic_that_is_not_there(cluster: Cluster, topic: str) -> None:
    """Told by `send`; also when it goes away under a producer."""
    producer = RawProducer(cluster)
    with pytest.raises(UnknownTopic, match="no-such-topic"):
        producer.send("no-such-topic", 0, payload([b"x"]))
    producer = RawProducer(cluster)
    producer.send(topic, 0, payload([b"x"]))
    producer.flush()
    delete_topic(cluster, topic)
    producer.send(topic, 0, payload([b"x"]))
    with pytest.raises(UnknownTopic, match=topic):
        producer.flush()


def test_a_gap_is_not_written_over(open_cluster: Opened, bootstrap: str, topic: str) -> None:
    """OUT_OF_ORDER with nothing before it missing: the broker lost what it had acknowledged."""
    with gateway(bootstrap) as between:
        producer = RawProducer(open_cluster(between.bootstrap))
        producer.send(topic, 0, payload([b"x"]))
        producer.flush()
        between.fail_next(Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
        producer.send(topic, 0, payload([b"y"]))
        with pytest.raises(Fenced, match=rf"{topic}-0.*does not have the records"):
            producer.flush()


def test_acknowledgements_are_needed(cluster: Cluster) -> None:
    """acks=0 could not be idempotent."""
    with pytest.raises(ConfigError, match="acks=0: allowed are all"):
        RawProducer(cluster, acks=0)


def test_flushing_nothing(cluster: Cluster) -> None:
    """A producer that never sent asks nobody for anything."""
    producer = RawProducer(cluster)
    producer.flush()
    producer.close()
    assert cluster._connections == {}


def test_steps_of_transactions_need_an_id(cluster: Cluster) -> None:
    """The text says which step."""
    producer = RawProducer(cluster)
    for step in (producer.commit, producer.abort):
        with pytest.raises(HeadraceError, match="needs a producer with a transactional id"):
            step()
