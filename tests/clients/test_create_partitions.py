"""CreatePartitions: a topic grows, and every topic of a request is answered."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tests.clients.raw import Connection
from tests.clients.records import numbered_records
from tests.clients.requests import TIMEOUT_MS, await_topic, fetched, metadata_request, produced


def grown(
    connection: Connection,
    totals: dict[str, int],
    *,
    version: int = 3,
    validate_only: bool = False,
    assignments: list[list[int]] | None = None,
) -> dict[str, Any]:
    placed = None
    if assignments is not None:
        placed = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments]
    topics = [
        CreatePartitionsTopic(name=topic, count=total, assignments=placed)
        for topic, total in totals.items()
    ]
    request = CreatePartitionsRequest(
        topics=topics, timeout_ms=TIMEOUT_MS, validate_only=validate_only
    )
    return {each.name: each for each in connection.ask(request, version).results}


def partition_count(connection: Connection, topic: str) -> int:
    (found,) = connection.ask(metadata_request(topic), 12).topics
    return len(found.partitions)


@pytest.mark.parametrize("version", range(4))
def test_every_version_adds_partitions(connection: Connection, topic: str, version: int) -> None:
    """The count is the new total; what was stored stays where it is."""
    produced(connection, topic, numbered_records(2))
    assert grown(connection, {topic: 3}, version=version)[topic].error_code == Error.NONE
    await_topic(connection, topic, 3)
    assert fetched(connection, topic, 0).high_watermark == 2
    assert fetched(connection, topic, 0, partition=2).high_watermark == 0


@pytest.mark.parametrize("total", [0, 1, 2, -1])
def test_a_topic_never_shrinks(connection: Connection, topic: str, total: int) -> None:
    """INVALID_PARTITIONS for fewer than there are, and for just as many."""
    grown(connection, {topic: 2})
    await_topic(connection, topic, 2)
    assert grown(connection, {topic: total})[topic].error_code == Error.INVALID_PARTITIONS
    assert partition_count(connection, topic) == 2


def test_every_topic_of_the_request_is_answered(
    connection: Connection, topic: str, topic_name: str
) -> None:
    """The answer echoes each topic with its own verdict, errors included."""
    results = grown(connection, {topic: 2, topic_name: 2})
    assert {name: result.error_code for name, result in results.items()} == {
        topic: Error.NONE,
        topic_name: Error.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_dry_run_changes_nothing(connection: Connection, topic: str) -> None:
    """validate_only gives the verdict alone."""
    assert grown(connection, {topic: 5}, validate_only=True)[topic].error_code == Error.NONE
    assert partition_count(connection, topic) == 1


def test_new_replicas_can_be_placed_by_hand(connection: Connection, topic: str) -> None:
    """One list of brokers for each new partition."""
    (broker,) = connection.ask(metadata_request(), 12).brokers
    placed = [[broker.node_id], [broker.node_id]]
    assert grown(connection, {topic: 3}, assignments=placed)[topic].error_code == Error.NONE
    await_topic(connection, topic, 3)


@pytest.mark.parametrize(
    "assignments", [[[1]], [[9_999], [9_999]], [[], []]], ids=["too few", "no such broker", "none"]
)
def test_a_bad_placement_is_refused(
    connection: Connection, topic: str, assignments: list[list[int]]
) -> None:
    """INVALID_REPLICA_ASSIGNMENT; the topic stays as it is."""
    result = grown(connection, {topic: 3}, assignments=assignments)[topic]
    assert result.error_code == Error.INVALID_REPLICA_ASSIGNMENT
    assert partition_count(connection, topic) == 1
