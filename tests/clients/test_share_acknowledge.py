"""ShareAcknowledge: what became of records is taken as a whole, and kept before it is answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.errors import Error
from tests.clients.raw import Connection
from tests.clients.records import numbered_records
from tests.clients.requests import produced
from tests.clients.share.raw_queue import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Queue,
    RawMember,
    Said,
)


@pytest.fixture
def queue(connection: Connection, topic: str, group: str) -> Queue:
    produced(connection, topic, numbered_records(10))
    return Queue(connection, topic, group)


@pytest.fixture
def member(bootstrap: str, queue: Queue) -> Iterator[RawMember]:
    """It holds the ten records of the queue."""
    member = RawMember(bootstrap, queue)
    assert member.fetch(wait_ms=5000) == [(0, 9, 1)]
    yield member
    member.close()


def test_each_offset_can_have_its_own_type(queue: Queue, member: RawMember) -> None:
    """Accepted, rejected and missing records are done; those that are released come again."""
    types = [ACCEPT, ACCEPT, RELEASE, REJECT, GAP, RELEASE, ACCEPT, ACCEPT, ACCEPT, ACCEPT]
    assert member.acknowledge((0, 9, types)) == Error.NONE
    assert queue.done() == 8
    assert member.fetch() == [(2, 2, 2), (5, 5, 2)]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ([(0, 4, [ACCEPT]), (3, 5, [ACCEPT])], Error.INVALID_REQUEST),  # overlap
        ([(5, 6, [ACCEPT]), (0, 1, [ACCEPT])], Error.INVALID_REQUEST),  # order
        ([(0, 3, [ACCEPT, RELEASE])], Error.INVALID_REQUEST),  # two types for four offsets
        ([(0, 3, [9])], Error.INVALID_REQUEST),
        ([(0, 3, [RENEW])], Error.INVALID_REQUEST),  # the request does not announce it
        ([(3, 1, [ACCEPT])], Error.INVALID_REQUEST),
        ([(8, 20, [ACCEPT])], Error.INVALID_REQUEST),  # behind what was acquired
    ],
)
def test_nonsense_changes_nothing(
    queue: Queue, member: RawMember, said: list[Said], error: Error
) -> None:
    """It is refused as a whole, and the records are still the member's."""
    assert member.acknowledge(*said) == error
    assert member.acknowledge((0, 9, [ACCEPT])) == Error.NONE
    assert queue.done() == 10


def test_a_record_is_acknowledged_once(member: RawMember) -> None:
    """The second word about it is an error, whether or not the start has passed it."""
    assert member.acknowledge((5, 5, [ACCEPT])) == Error.NONE
    assert member.acknowledge((5, 5, [ACCEPT])) == Error.INVALID_RECORD_STATE
    assert member.acknowledge((0, 4, [ACCEPT])) == Error.NONE
    assert member.acknowledge((0, 4, [ACCEPT])) == Error.INVALID_RECORD_STATE


def test_nobody_speaks_for_another_member(bootstrap: str, queue: Queue, member: RawMember) -> None:
    """A record is its holder's alone."""
    other = RawMember(bootstrap, queue)
    assert other.fetch() == []
    assert other.acknowledge((0, 9, [ACCEPT])) == Error.INVALID_RECORD_STATE
    other.close()
    assert member.acknowledge((0, 9, [ACCEPT])) == Error.NONE


def test_sessions(member: RawMember) -> None:
    """Acknowledgements count on in the same session, cannot open one, and can close it."""
    assert member.acknowledge((0, 0, [ACCEPT]), epoch=0) == Error.INVALID_SHARE_SESSION_EPOCH
    assert member.acknowledge((0, 0, [ACCEPT]), epoch=9) == Error.INVALID_SHARE_SESSION_EPOCH
    assert member.acknowledge((0, 0, [ACCEPT]), epoch=1) == Error.NONE
    assert member.acknowledge((1, 1, [ACCEPT]), epoch=-1) == Error.NONE
    assert member.acknowledge((2, 2, [ACCEPT]), epoch=2) == Error.SHARE_SESSION_NOT_FOUND


def test_a_state_that_was_begun_anew_fences_the_leader(
    bootstrap: str, queue: Queue, member: RawMember
) -> None:
    """Offsets that were reset behind a leader's back win: it reads them with the next fetch."""
    assert queue.initialize(state_epoch=2, start_offset=8) == Error.NONE
    assert member.acknowledge((0, 9, [ACCEPT])) == Error.NOT_LEADER_OR_FOLLOWER
    assert member.fetch(wait_ms=5000) == [(8, 9, 1)]
