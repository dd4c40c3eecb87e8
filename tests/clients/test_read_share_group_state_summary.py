"""ReadShareGroupStateSummary: states in short."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from headrace.wire.messages import read_share_group_state_summary as summary_api
from tests.clients.raw import Connection
from tests.clients.share.raw_queue import Queue


@pytest.fixture
def queue(connection: Connection, topic: str, group: str) -> Queue:
    return Queue(connection, topic, group, start_offset=5)


@pytest.mark.parametrize("version", [0, 1])
def test_each_partition_for_itself(queue: Queue, version: int) -> None:
    """One that does not exist has an error, the other its epochs and its start offset."""
    queue.write()
    parts = [summary_api.PartitionData(partition=index, leader_epoch=-1) for index in (0, 5)]
    topics = [summary_api.ReadStateSummaryData(topic_id=queue.topic_id, partitions=parts)]
    request = summary_api.ReadShareGroupStateSummaryRequest(group_id=queue.group, topics=topics)
    found, missing = queue.connection.ask(request, version).results[0].partitions
    assert missing.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert (found.error_code, found.state_epoch, found.leader_epoch) == (Error.NONE, 1, 0)
    assert found.start_offset == 6
    assert found.delivery_complete_count == (3 if version else -1)


def test_a_state_that_is_not_initialized_has_no_start(queue: Queue) -> None:
    """It is no error to ask."""
    queue.delete()
    assert queue.summary() == (-1, -1)
