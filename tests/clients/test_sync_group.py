"""SyncGroup: the leader's assignment reaches every member, byte for byte."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from tests.clients.groups.raw_members import (
    JOIN_VERSION,
    SYNC_VERSION,
    await_rebalance,
    join_request,
    joined_alone,
    stable_alone,
    sync_request,
)
from tests.clients.raw import Connection

EVERY_BYTE = bytes(range(256))


@pytest.mark.parametrize("version", range(6))
def test_every_version_gives_the_assignment(
    connection: Connection, group: str, version: int
) -> None:
    """What the leader sends for a member is what the member gets, now and when it asks again."""
    joined = joined_alone(connection, group)
    request = sync_request(group, joined, {joined.member_id: EVERY_BYTE})
    answer = connection.ask(request, version)
    assert (answer.error_code, answer.assignment) == (Error.NONE, EVERY_BYTE)
    if version >= 5:
        assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    again = connection.ask(sync_request(group, joined), version)
    assert (again.error_code, again.assignment) == (Error.NONE, EVERY_BYTE)


def test_followers_wait_for_the_leader(bootstrap: str, connection: Connection, group: str) -> None:
    """A follower's sync is answered when the leader's has come; who was left out has nothing."""
    first = stable_alone(connection, group)
    with Connection(bootstrap) as other:
        asked = other.ask(join_request(group), JOIN_VERSION)
        request = join_request(group, asked.member_id)
        waiting = other.send(request, JOIN_VERSION)
        await_rebalance(connection, group, first)
        leader = connection.ask(join_request(group, first.member_id), JOIN_VERSION)
        follower = other.answer(waiting, type(request), JOIN_VERSION)
        follow = sync_request(group, follower)
        parked = other.send(follow, SYNC_VERSION)
        lead = sync_request(group, leader, {leader.member_id: b"all"})
        assert connection.ask(lead, SYNC_VERSION).assignment == b"all"
        answer = other.answer(parked, type(follow), SYNC_VERSION)
    assert (answer.error_code, answer.assignment) == (Error.NONE, b"")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"member_id": "nobody"}, Error.UNKNOWN_MEMBER_ID),
        ({"generation_id": 7}, Error.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "other"}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None, "protocol_name": None}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"group_instance_id": "stranger"}, Error.UNKNOWN_MEMBER_ID),
    ],
)
def test_what_is_refused(
    connection: Connection, group: str, options: dict[str, object], error: Error
) -> None:
    """Another generation, another member, another protocol: nothing is handed out."""
    joined = joined_alone(connection, group)
    request = sync_request(group, joined, {joined.member_id: b"a"}, **options)
    answer = connection.ask(request, SYNC_VERSION)
    assert (answer.error_code, answer.assignment) == (error, b"")


def test_a_group_that_nobody_knows(connection: Connection, group: str) -> None:
    """Whoever asks is unknown there."""
    joined = joined_alone(connection, group)
    request = sync_request(f"{group}-x", joined)
    assert connection.ask(request, SYNC_VERSION).error_code == Error.UNKNOWN_MEMBER_ID
    request = sync_request("", joined)
    assert connection.ask(request, SYNC_VERSION).error_code == Error.INVALID_GROUP_ID


def test_during_a_rebalance(bootstrap: str, connection: Connection, group: str) -> None:
    """Who syncs while others join is sent back to join as well."""
    first = stable_alone(connection, group)
    with Connection(bootstrap) as other:
        asked = other.ask(join_request(group), JOIN_VERSION)
        other.send(join_request(group, asked.member_id), JOIN_VERSION)
        await_rebalance(connection, group, first)
        answer = connection.ask(sync_request(group, first), SYNC_VERSION)
    assert answer.error_code == Error.REBALANCE_IN_PROGRESS
