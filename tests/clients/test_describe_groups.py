"""DescribeGroups: classic groups with state, protocol and members."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from headrace.wire.messages.describe_groups import DescribeGroupsRequest
from headrace.wire.messages.leave_group import MemberIdentity
from tests.clients.groups.raw_members import (
    NewMember,
    commit,
    find_coordinator,
    joined_alone,
    leave,
    stable_alone,
)
from tests.clients.raw import Connection

NOT_ASKED = -(1 << 31)
OPERATIONS_SINCE, INSTANCES_SINCE, NOT_FOUND_SINCE = 3, 4, 6


@pytest.mark.parametrize("version", range(7))
def test_every_version_shows_a_stable_group(
    connection: Connection, group: str, version: int
) -> None:
    """Metadata and assignment as the members wrote them, with who and where the member is."""
    member = stable_alone(
        connection, group, group_instance_id="i", protocols={"range": b"meta"}, assignment=b"work"
    )
    (found,) = connection.ask(DescribeGroupsRequest(groups=[group]), version).groups
    assert (found.error_code, found.group_id) == (Error.NONE, group)
    assert (found.group_state, found.protocol_type) == ("Stable", "consumer")
    assert found.protocol_data == "range"
    (shown,) = found.members
    assert shown.member_id == member.member_id
    assert shown.group_instance_id == ("i" if version >= INSTANCES_SINCE else None)
    assert (shown.client_id, shown.client_host) == ("raw", "/127.0.0.1")
    assert (shown.member_metadata, shown.member_assignment) == (b"meta", b"work")
    assert found.authorized_operations == NOT_ASKED


@pytest.mark.parametrize("version", range(OPERATIONS_SINCE, 7))
def test_authorized_operations_are_told_on_request(
    connection: Connection, group: str, version: int
) -> None:
    """KIP-430: without an authorizer everything is allowed that can be done to a group."""
    stable_alone(connection, group)
    request = DescribeGroupsRequest(groups=[group], include_authorized_operations=True)
    (found,) = connection.ask(request, version).groups
    read, delete, describe, describe_configs, alter_configs = 3, 6, 8, 10, 11
    allowed = (read, delete, describe, describe_configs, alter_configs)
    assert found.authorized_operations == sum(1 << each for each in allowed)


@pytest.mark.parametrize("version", range(7))
def test_a_group_that_nobody_knows(connection: Connection, group: str, version: int) -> None:
    """It is Dead; from v6 on that is an error as well (KIP-1043)."""
    find_coordinator(connection, group)
    (found,) = connection.ask(DescribeGroupsRequest(groups=[group]), version).groups
    assert (found.group_state, found.members) == ("Dead", [])
    if version >= NOT_FOUND_SINCE:
        assert found.error_code == Error.GROUP_ID_NOT_FOUND
        assert group in found.error_message
    else:
        assert found.error_code == Error.NONE


def test_states_and_several_groups(connection: Connection, topic: str, group: str) -> None:
    """Every group is answered: one that waits, one left, one that only has offsets."""
    names = [f"{group}-{number}" for number in range(3)]
    joined_alone(connection, names[0])
    left = stable_alone(connection, names[1])
    leave(connection, names[1], MemberIdentity(member_id=left.member_id))
    assert commit(connection, names[2], topic, 1) == Error.NONE
    answer = connection.ask(DescribeGroupsRequest(groups=names), 5).groups
    found = {each.group_id: each for each in answer}
    assert {
        name: (each.group_state, each.protocol_type, each.protocol_data, len(each.members))
        for name, each in found.items()
    } == {
        names[0]: ("CompletingRebalance", "consumer", "", 1),
        names[1]: ("Empty", "consumer", "", 0),
        names[2]: ("Empty", "", "", 0),
    }
    # While nothing is assigned there is nothing to show.
    (waiting,) = found[names[0]].members
    assert (waiting.member_metadata, waiting.member_assignment) == (b"", b"")


def test_a_consumer_group_is_none_of_these(connection: Connection, topic: str, group: str) -> None:
    """Groups of KIP-848 are described by another API."""
    member = NewMember(connection, group, [topic])
    member.join()
    (found,) = connection.ask(DescribeGroupsRequest(groups=[group]), 6).groups
    assert (found.error_code, found.group_state) == (Error.GROUP_ID_NOT_FOUND, "Dead")
    member.leave()


def test_nothing_asked_nothing_told(connection: Connection) -> None:
    """No groups in, no groups out."""
    assert connection.ask(DescribeGroupsRequest(groups=[]), 6).groups == []
