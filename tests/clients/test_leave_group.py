"""LeaveGroup: members go at once, one or several, by id or by instance."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.clients.groups.raw_members import (
    described,
    find_coordinator,
    heartbeat,
    leave,
    stable_alone,
)
from tests.clients.raw import Connection

MANY_SINCE = 3


def identity(member_id: str = "", instance_id: str | None = None) -> MemberIdentity:
    return MemberIdentity(member_id=member_id, group_instance_id=instance_id)


@pytest.mark.parametrize("version", range(6))
def test_every_version_leaves(connection: Connection, group: str, version: int) -> None:
    """The member is unknown afterwards, and a second time it cannot leave."""
    member = stable_alone(connection, group)
    request = LeaveGroupRequest(group_id=group, member_id=member.member_id)
    if version >= MANY_SINCE:
        request = LeaveGroupRequest(group_id=group, members=[identity(member.member_id)])
    answer = connection.ask(request, version)
    assert answer.error_code == Error.NONE
    if version >= MANY_SINCE:
        ((member_id, error),) = [(each.member_id, each.error_code) for each in answer.members]
        assert (member_id, error) == (member.member_id, Error.NONE)
    assert described(connection, group).group_state == "Empty"
    assert heartbeat(connection, group, member) == Error.UNKNOWN_MEMBER_ID
    again = connection.ask(request, version)
    errors = [each.error_code for each in again.members] or [again.error_code]
    assert errors == [Error.UNKNOWN_MEMBER_ID]


def test_several_at_once(connection: Connection, group: str) -> None:
    """Each has an answer of its own, in order; one who is not there harms nobody (KIP-345)."""
    member = stable_alone(connection, group, group_instance_id="a")
    answer = leave(
        connection,
        group,
        identity("nobody"),
        identity(instance_id="b"),
        identity("wrong", "a"),
        identity(instance_id="a"),
    )
    assert answer.error_code == Error.NONE
    assert [each.error_code for each in answer.members] == [
        Error.UNKNOWN_MEMBER_ID,
        Error.UNKNOWN_MEMBER_ID,
        Error.FENCED_INSTANCE_ID,
        Error.NONE,
    ]
    assert [each.group_instance_id for each in answer.members] == [None, "b", "a", "a"]
    assert heartbeat(connection, group, member) == Error.UNKNOWN_MEMBER_ID


def test_groups_that_nobody_knows(connection: Connection, group: str) -> None:
    """Every member of a group that is not there is unknown."""
    find_coordinator(connection, group)
    answer = leave(connection, group, identity("a"), identity("b"))
    assert answer.error_code == Error.NONE
    assert [each.error_code for each in answer.members] == [Error.UNKNOWN_MEMBER_ID] * 2
    assert leave(connection, "", identity("a")).error_code == Error.INVALID_GROUP_ID
