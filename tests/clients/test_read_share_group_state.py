"""ReadShareGroupState: what a new leader finds."""

from __future__ import annotations

from uuid import UUID

import pytest

from headrace.errors import Error
from tests.clients.raw import Connection
from tests.clients.share.raw_queue import ACKNOWLEDGED, Queue


@pytest.fixture
def queue(connection: Connection, topic: str, group: str) -> Queue:
    return Queue(connection, topic, group, start_offset=5)


def test_a_new_leader_finds_the_state(queue: Queue) -> None:
    """With every batch; the leader before it is fenced, and may read no more either."""
    queue.write()
    found = queue.read(leader_epoch=4)
    assert (found.error_code, found.state_epoch, found.start_offset) == (Error.NONE, 1, 6)
    (batch,) = found.state_batches
    assert (batch.first_offset, batch.last_offset, batch.delivery_state) == (7, 9, ACKNOWLEDGED)
    assert queue.read(leader_epoch=3).error_code == Error.FENCED_LEADER_EPOCH


def test_a_state_must_be_initialized_before_it_is_read(queue: Queue) -> None:
    """As that of a topic which does not exist never is."""
    assert queue.read(topic_id=UUID(int=9)).error_code == Error.INVALID_REQUEST
