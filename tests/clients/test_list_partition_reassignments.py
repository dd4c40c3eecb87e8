"""ListPartitionReassignments on one broker, where no replica can move (KIP-455)."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from headrace.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.clients.raw import Connection


def asked(connection: Connection, topics: list[ListPartitionReassignmentsTopics] | None) -> None:
    response = connection.ask(ListPartitionReassignmentsRequest(topics=topics), 0)
    assert (response.error_code, response.error_message) == (Error.NONE, None)
    assert response.topics == []


def test_nothing_is_on_the_move(connection: Connection, topic: str) -> None:
    """Asked for all partitions, the answer lists none: only moving ones are listed."""
    asked(connection, None)
    asked(connection, [])


@pytest.mark.parametrize("partition", [0, 9, -1])
def test_partitions_at_rest_and_unknown_ones_are_left_out(
    connection: Connection, topic: str, topic_name: str, partition: int
) -> None:
    """No error for a partition or a topic that does not exist."""
    names = (topic, topic_name)
    asked(
        connection,
        [
            ListPartitionReassignmentsTopics(name=name, partition_indexes=[partition])
            for name in names
        ],
    )
