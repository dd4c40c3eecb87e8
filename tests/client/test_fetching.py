"""Raw batches out of a partition."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from headrace.client.cluster import Cluster
from headrace.client.faults import BrokerRefused, TimedOut
from headrace.client.fetching import (
    AbortedTransaction,
    OffsetOutOfRange,
    PartitionFetcher,
    UnknownTopic,
)
from headrace.client.offsets import LATEST, list_offsets
from headrace.client.producing import RawProducer
from headrace.errors import Error
from headrace.records.compression import Codec
from headrace.types import TopicPartition
from headrace.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from headrace.wire.messages.metadata import MetadataRequest
from tests.client.batches import (
    batches_of,
    create_topic,
    delete_topic,
    payload,
    read_values,
    values_of,
)
from tests.client.scripted_broker import metadata, scripted_broker, topic_led

Opened = Callable[..., Cluster]


def write(cluster: Cluster, topic: str, *batches: list[bytes], codec: Codec = Codec.NONE) -> None:
    producer = RawProducer(cluster)
    for values in batches:
        producer.send(topic, 0, payload(values, codec=codec))
    producer.flush()


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name.lower())
def test_batches_come_as_they_were_written(cluster: Cluster, topic: str, codec: Codec) -> None:
    """From the batch that holds the offset on; at the end there is nothing."""
    write(cluster, topic, [b"a", b"b"], [b"c"], codec=codec)
    fetcher = PartitionFetcher(cluster, topic, 0, read_committed=True, max_wait_ms=1)
    fetched = fetcher.fetch(1)
    assert values_of(batches_of(fetched)) == [b"a", b"b", b"c"]
    assert [header.compression for header, _ in batches_of(fetched)] == [codec, codec]
    assert fetched[1:] == (3, 3, 0, ())
    end = fetcher.fetch(3)
    assert (len(end.records), end.high_watermark) == (0, 3)


def test_a_slice_is_bounded_and_the_reader_goes_on(cluster: Cluster, topic: str) -> None:
    """`max_bytes` cuts the answer, but never before the first batch is whole."""
    values = [[b"%d" % number * 1000] for number in range(40)]
    write(cluster, topic, *values)
    fetcher = PartitionFetcher(cluster, topic, 0, read_committed=False, max_bytes=5000)
    assert len(fetcher.fetch(0).records) <= 5000
    small = PartitionFetcher(cluster, topic, 0, read_committed=False, max_bytes=10)
    assert len(batches_of(small.fetch(7))) == 1
    assert read_values(fetcher, 0, 40) == [value for (value,) in values]


def test_aborted_transactions_are_told(cluster: Cluster, topic: str, fresh_name: str) -> None:
    """read_committed: what to skip, and where the stable part ends."""
    producer = RawProducer(cluster, transactional_id=fresh_name)
    for ends_well in (True, False, True):
        producer.begin()
        producer.send(topic, 0, payload([b"yes" if ends_well else b"no"]))
        (producer.commit if ends_well else producer.abort)()
    committed = PartitionFetcher(cluster, topic, 0, read_committed=True)
    # A marker is written a moment after its transaction has ended.
    place = TopicPartition(topic, 0)
    while list_offsets(cluster, {place: LATEST}, read_committed=True)[place].offset < 6:
        pass
    fetched = committed.fetch(0)
    batches = batches_of(fetched)
    assert values_of(batches) == [b"yes", b"no", b"yes"]
    assert [header.is_control for header, _ in batches] == [False, True] * 3
    assert fetched.aborted == (AbortedTransaction(batches[2][0].producer_id, 2),)
    assert (fetched.high_watermark, fetched.last_stable_offset) == (6, 6)
    assert PartitionFetcher(cluster, topic, 0, read_committed=False).fetch(0).aborted == ()


def test_an_open_transaction_ends_the_stable_part(
    cluster: Cluster, topic: str, fresh_name: str
) -> None:
    """read_committed gets nothing of it, read_uncommitted does."""
    write(cluster, topic, [b"before"])
    producer = RawProducer(cluster, transactional_id=fresh_name)
    producer.begin()
    producer.send(topic, 0, payload([b"open"]))
    producer.flush()
    fetched = PartitionFetcher(cluster, topic, 0, read_committed=True).fetch(0)
    assert values_of(batches_of(fetched)) == [b"before"]
    assert (fetched.high_watermark, fetched.last_stable_offset) == (2, 1)
    everything = PartitionFetcher(cluster, topic, 0, read_committed=False).fetch(0)
    assert values_of(batches_of(everything)) == [b"before", b"open"]
    producer.abort()


def test_asking_ahead(cluster: Cluster, topic: str) -> None:
    """The answer is kept for the fetch of the same offset, whatever else happens between."""
    write(cluster, topic, [b"a"], [b"b"], [b"c"])
    fetcher = PartitionFetcher(cluster, topic, 0, read_committed=True)
    other = PartitionFetcher(cluster, topic, 0, read_committed=True)
    fetcher.ahead(1)
    other.ahead(2)
    assert cluster.topics([topic])
    assert values_of(batches_of(fetcher.fetch(1)))[-2:] == [b"b", b"c"]
    fetcher.ahead(1)
    assert values_of(batches_of(fetcher.fetch(2)))[-1:] == [b"c"]
    assert values_of(batches_of(other.fetch(2)))[-1:] == [b"c"]


def test_asking_ahead_and_walking_away(cluster: Cluster, topic: str) -> None:
    """The answer to a fetcher that is gone is read over, and no memory is kept for it."""
    write(cluster, topic, [b"a" * 100_000])
    for _ in range(3):
        PartitionFetcher(cluster, topic, 0, read_committed=True).ahead(0)
    assert cluster.leader(topic, 0).is_idle is False
    assert cluster.topics([topic])
    fetched = PartitionFetcher(cluster, topic, 0, read_committed=True).fetch(0)
    assert len(fetched.records) > 100_000
    assert cluster.leader(topic, 0).is_idle


@pytest.mark.parametrize("offset", [-1, 4, 1 << 40])
def test_an_offset_that_is_not_there(cluster: Cluster, topic: str, offset: int) -> None:
    """Both ends of the log are told with it."""
    write(cluster, topic, [b"a", b"b", b"c"])
    fetcher = PartitionFetcher(cluster, topic, 0, read_committed=True)
    with pytest.raises(OffsetOutOfRange, match=f"{topic}-0 has no offset {offset}") as caught:
        fetcher.fetch(offset)
    found = caught.value
    assert (found.topic, found.partition, found.offset) == (topic, 0, offset)
    assert (found.log_start_offset, found.end_offset) == (0, 3)


def test_a_recreated_topic_is_not_read_for_the_old_one(cluster: Cluster, topic: str) -> None:
    """KIP-516: with a topic id, the records of another life of the name never appear."""
    old = cluster.topics([topic])[topic].topic_id
    write(cluster, topic, [b"old"])
    bound = PartitionFetcher(cluster, topic, 0, read_committed=True, topic_id=old)
    by_name = PartitionFetcher(cluster, topic, 0, read_committed=True)
    assert values_of(batches_of(bound.fetch(0))) == [b"old"]
    assert values_of(batches_of(by_name.fetch(0))) == [b"old"]
    delete_topic(cluster, topic)
    with pytest.raises(UnknownTopic, match=f"{topic} does not exist"):
        bound.fetch(0)
    create_topic(cluster, topic, 1, {})
    write(cluster, topic, [b"new"])
    with pytest.raises(UnknownTopic, match="deleted and created again") as caught:
        bound.fetch(0)
    assert caught.value.topic == topic
    assert values_of(batches_of(by_name.fetch(0))) == [b"new"]


def test_unknown_places(cluster: Cluster, topic: str) -> None:
    """A topic or a partition that does not exist is named."""
    with pytest.raises(UnknownTopic, match="no-such-topic"):
        PartitionFetcher(cluster, "no-such-topic", 0, read_committed=True).fetch(0)
    with pytest.raises(UnknownTopic, match="no partition 9"):
        PartitionFetcher(cluster, topic, 9, read_committed=True).fetch(0)


TOPIC_ID = UUID(int=77)


def answered(error: Error, *, partition: int = 0, records: bytes = b"") -> FetchResponse:
    data = PartitionData(
        partition_index=partition,
        error_code=error,
        high_watermark=-1 if error else 9,
        records=memoryview(records),
    )
    topic = FetchableTopicResponse(topic="t", topic_id=TOPIC_ID, partitions=[data])
    return FetchResponse(responses=[topic])


@pytest.mark.parametrize(
    "error",
    [
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.LEADER_NOT_AVAILABLE,
        Error.FENCED_LEADER_EPOCH,
        Error.UNKNOWN_LEADER_EPOCH,
        Error.UNKNOWN_TOPIC_ID,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.KAFKA_STORAGE_ERROR,
    ],
)
@pytest.mark.parametrize("newest", [12, 18])
def test_a_leader_that_moves_is_followed(open_cluster: Opened, error: Error, newest: int) -> None:
    """KIP-320: new metadata, new epoch, the same offset again; by name and by topic id."""
    with scripted_broker({FetchRequest: None}, newest={FetchRequest: newest}) as peer:
        peer.script[MetadataRequest] = [
            metadata(lambda: peer, [topic_led("t", epoch=epoch, topic_id=TOPIC_ID)])
            for epoch in (3, 4)
        ]
        peer.script[FetchRequest] = [answered(error), None, answered(Error.NONE)]
        fetcher = PartitionFetcher(open_cluster(peer.bootstrap), "t", 0, read_committed=True)
        assert fetcher.fetch(5).high_watermark == 9
        partitions = [request.topics[0].partitions[0] for request in peer.of(FetchRequest)]
        assert [each.current_leader_epoch for each in partitions] == [3, 4, 4]
        assert [each.fetch_offset for each in partitions] == [5, 5, 5]
        (last,) = peer.of(FetchRequest)[-1].topics
        assert (last.topic, last.topic_id == TOPIC_ID) == (
            ("t", False) if newest < 13 else ("", True)
        )
        assert {request.session_epoch for request in peer.of(FetchRequest)} == {-1}


def test_trouble_that_lasts_is_told(open_cluster: Opened) -> None:
    """Partition, offset and the last reason, when the time is up."""
    with scripted_broker({}) as peer:
        peer.script[MetadataRequest] = metadata(lambda: peer, [topic_led("t", topic_id=TOPIC_ID)])
        peer.script[FetchRequest] = answered(Error.NOT_LEADER_OR_FOLLOWER)
        cluster = open_cluster(peer.bootstrap, default_api_timeout_ms="200")
        fetcher = PartitionFetcher(cluster, "t", 0, read_committed=True)
        with pytest.raises(TimedOut, match=r"reading t-0 from offset 5 .*NOT_LEADER"):
            fetcher.fetch(5)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (answered(Error.TOPIC_AUTHORIZATION_FAILED), "t-0 at offset 5.*TOPIC_AUTHORIZATION_FAILED"),
        (answered(Error.NONE, partition=3), "another partition's answer"),
        (FetchResponse(responses=[]), "another partition's answer"),
        (FetchResponse(responses=[], error_code=Error.UNKNOWN_SERVER_ERROR), "UNKNOWN_SERVER"),
    ],
)
def test_what_does_not_pass_is_told(
    open_cluster: Opened, answer: FetchResponse, complaint: str
) -> None:
    """With the place, and at once."""
    with scripted_broker({}) as peer:
        peer.script[MetadataRequest] = metadata(lambda: peer, [topic_led("t", topic_id=TOPIC_ID)])
        peer.script[FetchRequest] = answer
        fetcher = PartitionFetcher(open_cluster(peer.bootstrap), "t", 0, read_committed=True)
        with pytest.raises(BrokerRefused, match=complaint):
            fetcher.fetch(5)
        assert len(peer.of(FetchRequest)) == 1
