"""DescribeTopicPartitions: metadata in pages (KIP-966)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tests.clients.raw import Connection
from tests.clients.requests import metadata_request


def page(
    connection: Connection, topics: list[str], *, limit: int = 2_000, cursor: Cursor | None = None
) -> Any:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=topic) for topic in topics],
        response_partition_limit=limit,
        cursor=cursor,
    )
    return connection.ask(request, 0)


def listed(response: Any) -> list[tuple[str, int]]:
    return [
        (topic.name, partition.partition_index)
        for topic in response.topics
        for partition in topic.partitions
    ]


def test_tells_what_metadata_tells(connection: Connection, new_topic: Callable[..., str]) -> None:
    """Leaders, replicas, epochs and the topic's id are the same; the last page has no cursor."""
    topic = new_topic(partitions=3)
    response = page(connection, [topic])
    (found,) = response.topics
    (known,) = connection.ask(metadata_request(topic), 12).topics
    assert (found.error_code, found.topic_id) == (Error.NONE, known.topic_id)
    assert response.next_cursor is None
    assert [
        (each.partition_index, each.leader_id, each.leader_epoch, each.isr_nodes)
        for each in found.partitions
    ] == [
        (each.partition_index, each.leader_id, each.leader_epoch, each.isr_nodes)
        for each in sorted(known.partitions, key=lambda each: each.partition_index)
    ]
    assert all(each.replica_nodes == each.isr_nodes for each in found.partitions)


def test_pages_follow_each_other(connection: Connection, new_topic: Callable[..., str]) -> None:
    """The limit counts partitions over topics in order of name; a cursor begins the next page."""
    topics = sorted(new_topic(partitions=3) for _ in range(3))
    everything = [(topic, partition) for topic in topics for partition in range(3)]
    seen: list[tuple[str, int]] = []
    cursor = None
    for _ in range(len(everything)):
        response = page(connection, list(reversed(topics)), limit=4, cursor=cursor)
        assert 0 < len(listed(response)) <= 4
        seen += listed(response)
        cursor = response.next_cursor
        if cursor is None:
            break
    assert seen == everything


def test_a_cursor_says_where_to_go_on(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """It names the first partition of the next page."""
    topic = new_topic(partitions=5)
    cursor = page(connection, [topic], limit=2).next_cursor
    assert (cursor.topic_name, cursor.partition_index) == (topic, 2)
    assert listed(page(connection, [topic], cursor=cursor)) == [(topic, 2), (topic, 3), (topic, 4)]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("no-such-topic", Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("no such topic", Error.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_bad_topic_is_told(connection: Connection, topic: str, name: str, error: Error) -> None:
    """It does not spoil the answer for a good one, and it is not created."""
    response = page(connection, [topic, name])
    codes = {each.name: each.error_code for each in response.topics}
    assert codes == {topic: Error.NONE, name: error}


def test_no_topic_asks_for_all(connection: Connection, topic: str) -> None:
    """An empty list is every topic of the cluster."""
    assert (topic, 0) in listed(page(connection, []))
