"""InitializeShareGroupState: a state begins, and begins anew."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from tests.clients.raw import Connection
from tests.clients.share.raw_queue import Queue


@pytest.fixture
def queue(connection: Connection, topic: str, group: str) -> Queue:
    return Queue(connection, topic, group, start_offset=5)


def test_a_state_begins_anew(queue: Queue) -> None:
    """In a later state epoch, with nothing of the one before; an earlier epoch is fenced."""
    queue.write()
    assert queue.initialize(state_epoch=3, start_offset=0) == Error.NONE
    assert queue.initialize(state_epoch=2, start_offset=8) == Error.FENCED_STATE_EPOCH
    found = queue.read()
    assert (found.state_epoch, found.start_offset, found.state_batches) == (3, 0, [])
