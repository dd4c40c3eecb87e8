"""WriteShareGroupState: what leaders say is kept, if they are leaders still."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from tests.clients.raw import Connection
from tests.clients.share.raw_queue import Queue


@pytest.fixture
def queue(connection: Connection, topic: str, group: str) -> Queue:
    return Queue(connection, topic, group, start_offset=5)


@pytest.mark.parametrize("version", [0, 1])
def test_every_version_is_kept(queue: Queue, version: int) -> None:
    """The older one does not say how many records are done (KIP-1226)."""
    assert queue.write(version=version) == Error.NONE
    assert queue.summary() == (6, 3 if version else -1)


def test_those_of_earlier_days_are_fenced(queue: Queue) -> None:
    """A later leader and a later state shut out those before them."""
    assert queue.read(leader_epoch=4).error_code == Error.NONE
    assert queue.write(leader_epoch=3) == Error.FENCED_LEADER_EPOCH
    assert queue.initialize(state_epoch=7, start_offset=0) == Error.NONE
    assert queue.write(leader_epoch=4) == Error.FENCED_STATE_EPOCH
    assert queue.write(leader_epoch=4, state_epoch=7) == Error.NONE
