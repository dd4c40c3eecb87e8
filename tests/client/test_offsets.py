"""Offsets by time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.client.cluster import Cluster
from headrace.client.faults import BrokerRefused, UnknownTopic
from headrace.client.offsets import EARLIEST, LATEST, FoundOffset, list_offsets
from headrace.client.producing import RawProducer
from headrace.errors import Error
from headrace.types import TopicPartition
from headrace.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from headrace.wire.messages.metadata import MetadataRequest
from tests.client.batches import TIMESTAMP, payload
from tests.client.scripted_broker import metadata, scripted_broker, topic_led

Opened = Callable[..., Cluster]


def offsets(cluster: Cluster, topic: str, *times: int, read_committed: bool = False) -> list[int]:
    place = TopicPartition(topic, 0)
    return [
        list_offsets(cluster, {place: time}, read_committed=read_committed)[place].offset
        for time in times
    ]


def test_offsets_of_times(cluster: Cluster, topic: str) -> None:
    """The first record that is no older; -1 where none is that young."""
    producer = RawProducer(cluster)
    producer.send(topic, 0, payload([b"a", b"b", b"c"]))
    producer.send(topic, 0, payload([b"d"], timestamp=TIMESTAMP + 1000))
    producer.flush()
    times = (EARLIEST, LATEST, 0, TIMESTAMP + 1, TIMESTAMP + 4, TIMESTAMP + 1001)
    assert offsets(cluster, topic, *times) == [0, 4, 0, 1, 3, -1]
    place = TopicPartition(topic, 0)
    found = list_offsets(cluster, {place: TIMESTAMP + 1}, read_committed=False)
    assert found == {place: FoundOffset(1, TIMESTAMP + 1, 0)}


def test_many_partitions_in_one_call(cluster: Cluster, new_topic: Callable[..., str]) -> None:
    """Of several topics, each with its own time."""
    one, two = new_topic(partitions=3), new_topic(partitions=2)
    producer = RawProducer(cluster)
    for number in range(3):
        producer.send(one, number, payload([b"x"] * (number + 1)))
    producer.flush()
    at = {TopicPartition(one, number): LATEST for number in range(3)}
    at |= {TopicPartition(two, number): EARLIEST for number in range(2)}
    found = list_offsets(cluster, at, read_committed=True)
    assert [found[place].offset for place in at] == [1, 2, 3, 0, 0]


def test_the_end_of_a_reader_of_committed_records(
    cluster: Cluster, topic: str, fresh_name: str
) -> None:
    """The last stable offset: an open transaction holds it back."""
    producer = RawProducer(cluster, transactional_id=fresh_name)
    producer.begin()
    producer.send(topic, 0, payload([b"a", b"b"]))
    producer.flush()
    assert offsets(cluster, topic, LATEST, read_committed=True) == [0]
    assert offsets(cluster, topic, LATEST, read_committed=False) == [2]
    producer.abort()


def test_nothing_asked_nothing_answered(cluster: Cluster) -> None:
    """No partitions, no request."""
    assert list_offsets(cluster, {}, read_committed=True) == {}


def test_unknown_places(cluster: Cluster, topic: str) -> None:
    """A topic or a partition that does not exist is named."""
    with pytest.raises(UnknownTopic, match="no-such-topic"):
        offsets(cluster, "no-such-topic", LATEST)
    with pytest.raises(UnknownTopic, match="no partition 3"):
        list_offsets(cluster, {TopicPartition(topic, 3): LATEST}, read_committed=True)


def answered(error: Error) -> ListOffsetsResponse:
    partition = ListOffsetsPartitionResponse(
        partition_index=0, error_code=error, offset=-1 if error else 42, leader_epoch=4
    )
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[partition])])


@pytest.mark.parametrize(
    "error",
    [
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.FENCED_LEADER_EPOCH,
        Error.UNKNOWN_LEADER_EPOCH,
        Error.OFFSET_NOT_AVAILABLE,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_a_leader_that_moves_is_followed(open_cluster: Opened, error: Error) -> None:
    """The topic's leaders are asked for anew, and the new epoch goes with the next request."""
    with scripted_broker({}) as peer:
        peer.script[MetadataRequest] = [
            metadata(lambda: peer, [topic_led("t", epoch=epoch)]) for epoch in (3, 4)
        ]
        peer.script[ListOffsetsRequest] = [answered(error), answered(Error.NONE)]
        assert offsets(open_cluster(peer.bootstrap), "t", LATEST) == [42]
        epochs = [
            request.topics[0].partitions[0].current_leader_epoch
            for request in peer.of(ListOffsetsRequest)
        ]
        assert epochs == [3, 4]


def test_what_does_not_pass_is_told_with_its_place(open_cluster: Opened) -> None:
    """An error that no retry mends: topic, partition, remedy."""
    with scripted_broker({}) as peer:
        peer.script[MetadataRequest] = metadata(lambda: peer, [topic_led("t")])
        peer.script[ListOffsetsRequest] = answered(Error.TOPIC_AUTHORIZATION_FAILED)
        with pytest.raises(BrokerRefused, match=r"t-0.*TOPIC_AUTHORIZATION_FAILED; allow") as found:
            offsets(open_cluster(peer.bootstrap), "t", LATEST)
        assert found.value.error is Error.TOPIC_AUTHORIZATION_FAILED
        peer.script[ListOffsetsRequest] = ListOffsetsResponse(topics=[])
        with pytest.raises(BrokerRefused, match="leaves partitions out"):
            offsets(open_cluster(peer.bootstrap), "t", LATEST)


def test_a_lost_connection_is_opened_again(open_cluster: Opened) -> None:
    """The same question on the next one."""
    with scripted_broker({}) as peer:
        peer.script[MetadataRequest] = metadata(lambda: peer, [topic_led("t")])
        peer.script[ListOffsetsRequest] = [None, answered(Error.NONE)]
        assert offsets(open_cluster(peer.bootstrap), "t", LATEST) == [42]
