"""DeleteShareGroupState: states are forgotten."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from tests.clients.raw import Connection
from tests.clients.share.raw_queue import Queue


@pytest.fixture
def queue(connection: Connection, topic: str, group: str) -> Queue:
    return Queue(connection, topic, group, start_offset=5)


def test_a_deleted_state_is_as_if_it_had_never_been(queue: Queue) -> None:
    """And may be deleted again; nobody reads or writes it before it is initialized."""
    queue.write()
    assert queue.delete() == Error.NONE
    assert queue.delete() == Error.NONE
    assert queue.read().error_code == Error.INVALID_REQUEST
    assert queue.write() == Error.INVALID_REQUEST
    assert queue.initialize(state_epoch=1, start_offset=0) == Error.NONE
    assert queue.read().state_batches == []
