"""Heartbeat: a member is alive, is told to join again, or is not a member any more."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from headrace.wire.messages.heartbeat import HeartbeatRequest
from tests.clients.contract import eventually
from tests.clients.groups.raw_members import (
    JOIN_VERSION,
    described,
    heartbeat,
    join_request,
    stable_alone,
)
from tests.clients.raw import Connection


@pytest.mark.parametrize("version", range(5))
def test_every_version_keeps_a_member(connection: Connection, group: str, version: int) -> None:
    """NONE while the generation goes on."""
    member = stable_alone(connection, group)
    request = HeartbeatRequest(
        group_id=group, generation_id=member.generation_id, member_id=member.member_id
    )
    assert connection.ask(request, version).error_code == Error.NONE


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"generation_id": 0}, Error.ILLEGAL_GENERATION),
        ({"generation_id": 2}, Error.ILLEGAL_GENERATION),
        ({"generation_id": -1}, Error.ILLEGAL_GENERATION),
        ({"member_id": "nobody"}, Error.UNKNOWN_MEMBER_ID),
        ({"member_id": ""}, Error.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "stranger"}, Error.UNKNOWN_MEMBER_ID),
    ],
)
def test_what_is_refused(
    connection: Connection, group: str, options: dict[str, object], error: Error
) -> None:
    """Other generations and other members; the true one lives on."""
    member = stable_alone(connection, group)
    assert heartbeat(connection, group, member, **options) == error
    assert heartbeat(connection, group, member) == Error.NONE


def test_groups_that_nobody_knows(connection: Connection, group: str) -> None:
    """A member of nothing is unknown; a group without a name is invalid."""
    member = stable_alone(connection, group)
    assert heartbeat(connection, f"{group}-x", member) == Error.UNKNOWN_MEMBER_ID
    assert heartbeat(connection, "", member) == Error.INVALID_GROUP_ID


@pytest.mark.spec("admin:CO-13")
def test_a_rebalance_is_told(bootstrap: str, connection: Connection, group: str) -> None:
    """REBALANCE_IN_PROGRESS from the moment another member joins."""
    member = stable_alone(connection, group)
    with Connection(bootstrap) as other:
        asked = other.ask(join_request(group), JOIN_VERSION)
        assert heartbeat(connection, group, member) == Error.NONE, "it has not joined yet"
        other.send(join_request(group, asked.member_id), JOIN_VERSION)
        told: set[Error] = set()

        def rebalancing() -> bool:
            told.add(heartbeat(connection, group, member))
            return Error.REBALANCE_IN_PROGRESS in told

        eventually(rebalancing, "the rebalance")
        assert told <= {Error.NONE, Error.REBALANCE_IN_PROGRESS}


@pytest.mark.spec("slides:D31", "book1:C-25")
def test_silence_ends_the_session(connection: Connection, group: str) -> None:
    """Without a sign of life for session.timeout.ms the member is gone, and told so later."""
    member = stable_alone(connection, group, session_timeout_ms=300)
    assert len(described(connection, group).members) == 1
    eventually(lambda: described(connection, group).group_state == "Empty", "the end")
    assert heartbeat(connection, group, member) == Error.UNKNOWN_MEMBER_ID
