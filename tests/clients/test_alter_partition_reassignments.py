"""AlterPartitionReassignments on one broker, which has no other to move to (KIP-455, KIP-860)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from headrace.wire.messages.describe_cluster import DescribeClusterRequest
from headrace.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from tests.clients.raw import Connection

NOBODY = 99


@pytest.fixture
def broker_id(connection: Connection) -> int:
    request = DescribeClusterRequest(include_cluster_authorized_operations=False)
    (broker,) = connection.ask(request, 0).brokers
    return int(broker.broker_id)


def reassigned(
    connection: Connection,
    wanted: dict[str, list[tuple[int, list[int] | None]]],
    *,
    version: int = 1,
    may_change_factor: bool = True,
) -> Any:
    topics = [
        ReassignableTopic(
            name=name,
            partitions=[
                ReassignablePartition(partition_index=number, replicas=replicas)
                for number, replicas in partitions
            ],
        )
        for name, partitions in wanted.items()
    ]
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=may_change_factor, topics=topics
    )
    response = connection.ask(request, version)
    assert response.error_code == Error.NONE
    assert response.error_message is None
    return response


def outcomes(response: Any) -> dict[str, list[tuple[int, int]]]:
    return {
        topic.name: [(each.partition_index, each.error_code) for each in topic.partitions]
        for topic in response.responses
    }


@pytest.mark.parametrize("version", range(2))
def test_the_replicas_of_now_are_accepted(
    connection: Connection, new_topic: Callable[..., str], broker_id: int, version: int
) -> None:
    """What is so already succeeds without a message, and nothing is on the move afterwards."""
    topic = new_topic(partitions=2)
    wanted: dict[str, list[tuple[int, list[int] | None]]] = {
        topic: [(1, [broker_id]), (0, [broker_id])]
    }
    response = reassigned(connection, wanted, version=version)
    assert outcomes(response) == {topic: [(1, Error.NONE), (0, Error.NONE)]}
    assert all(each.error_message is None for each in response.responses[0].partitions)
    assert connection.ask(ListPartitionReassignmentsRequest(topics=None), 0).topics == []


@pytest.mark.parametrize("may_change_factor", [True, False])
def test_replicas_that_cannot_be_are_refused(
    connection: Connection, topic: str, broker_id: int, may_change_factor: bool
) -> None:
    """INVALID_REPLICA_ASSIGNMENT with a message, even where the number is wrong as well."""
    lists = [[], [broker_id, broker_id], [NOBODY], [broker_id, NOBODY], [-1]]
    for replicas in lists:
        response = reassigned(
            connection, {topic: [(0, replicas)]}, may_change_factor=may_change_factor
        )
        assert response.allow_replication_factor_change == may_change_factor
        (outcome,) = response.responses[0].partitions
        assert outcome.error_code == Error.INVALID_REPLICA_ASSIGNMENT, replicas
        assert outcome.error_message


def test_nothing_can_be_called_off(connection: Connection, topic: str) -> None:
    """Null calls off a move; no partition is on the move."""
    response = reassigned(connection, {topic: [(0, None)]})
    assert outcomes(response) == {topic: [(0, Error.NO_REASSIGNMENT_IN_PROGRESS)]}


def test_each_partition_has_its_own_verdict(
    connection: Connection, topic: str, topic_name: str, broker_id: int
) -> None:
    """Unknown topics and partitions beside one that is accepted, in the order of the request."""
    response = reassigned(
        connection,
        {
            topic: [(7, [broker_id]), (0, [broker_id]), (-1, None), (0, [NOBODY])],
            topic_name: [(0, None), (1, [])],
        },
    )
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    assert outcomes(response) == {
        topic: [
            (7, unknown),
            (0, Error.NONE),
            (-1, unknown),
            (0, Error.INVALID_REPLICA_ASSIGNMENT),
        ],
        topic_name: [(0, unknown), (1, unknown)],
    }
