"""Requests are cut and responses joined without losing, doubling or re-ordering an item."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.broker.handlers.produce import HANDLER
from headrace.broker.net.portions import PORTION_ITEMS, Portions
from headrace.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.produce import NodeEndpoint, ProduceResponse

BY_PARTITION = Portions("topics", "topics", ("partitions", "partitions"))
BY_TOPIC = Portions("topics", "topics", is_set=True)


def request_for(sizes: list[int]) -> ListOffsetsRequest:
    topics = [
        ListOffsetsTopic(
            name=f"t{number}",
            partitions=[
                ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(size)
            ],
        )
        for number, size in enumerate(sizes)
    ]
    return ListOffsetsRequest(replica_id=-1, topics=topics)


def answered(request: ListOffsetsRequest) -> ListOffsetsResponse:
    """As a handler answers: a topic for a topic, a partition for a partition."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=asked.partition_index, error_code=0
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


@given(st.lists(st.integers(0, 3 * PORTION_ITEMS + 1), max_size=8))
def test_what_is_cut_is_joined_again(sizes: list[int]) -> None:
    """The answer is the one to the whole request, and no portion is too large."""
    request = request_for(sizes)
    portions = list(BY_PARTITION.cut(request))
    assert all(BY_PARTITION.weight(portion) <= PORTION_ITEMS for portion in portions)
    assert BY_PARTITION.join([answered(portion) for portion in portions]) == answered(request)


def test_what_is_asked_for_twice_is_asked_once() -> None:
    """However far apart the two are."""
    topics = [MetadataRequestTopic(name=f"t{number % 100}") for number in range(1_000)]
    portions = list(BY_TOPIC.cut(MetadataRequest(topics=topics)))
    names = [topic.name for portion in portions for topic in portion.topics or ()]
    assert names == [f"t{number}" for number in range(100)]


def test_what_portions_gather_is_named_once() -> None:
    """Leaders of partitions that are elsewhere: each portion names those of its own."""
    portions = HANDLER.portions
    assert portions is not None
    here, there = (NodeEndpoint(node_id=n, host="h", port=n, rack=None) for n in (1, 2))
    parts = [
        ProduceResponse(responses=[], node_endpoints=nodes) for nodes in ([here], [here, there], [])
    ]
    assert portions.join(parts).node_endpoints == [here, there]


def test_a_request_without_items_is_left_as_it_is() -> None:
    """Null has a meaning of its own: all topics."""
    everything = MetadataRequest(topics=None)
    assert list(BY_TOPIC.cut(everything)) == [everything]
    assert BY_TOPIC.weight(everything) == 0
