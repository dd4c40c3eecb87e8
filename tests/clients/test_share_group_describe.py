"""ShareGroupDescribe: share groups with their members and what these may fetch (KIP-932)."""

from __future__ import annotations

from headrace.errors import Error
from headrace.wire.messages.describe_groups import DescribeGroupsRequest
from headrace.wire.messages.share_group_describe import ShareGroupDescribeRequest
from tests.clients.groups.raw_members import described_consumer, find_coordinator
from tests.clients.groups.raw_share_members import ShareMember, described_share
from tests.clients.raw import Connection
from tests.clients.requests import topic_id_of

NOT_ASKED = -(1 << 31)


def test_a_member_is_shown(connection: Connection, topic: str, group: str) -> None:
    """What it told, its epoch, its partitions; and the group's epochs and assignor."""
    member = ShareMember(connection, group, [topic])
    member.join(rack_id="r")
    member.await_partitions(1)
    found = described_share(connection, group)
    assert (found.error_code, found.group_id, found.group_state) == (0, group, "Stable")
    assert found.group_epoch == found.assignment_epoch == member.epoch
    assert (found.assignor_name, found.authorized_operations) == ("simple", NOT_ASKED)
    (shown,) = found.members
    assert (shown.member_id, shown.member_epoch) == (member.member_id, member.epoch)
    assert (shown.rack_id, shown.client_id, shown.client_host) == ("r", "raw", "/127.0.0.1")
    assert shown.subscribed_topic_names == [topic]
    (part,) = shown.assignment.topic_partitions
    assert (part.topic_id, part.topic_name) == (topic_id_of(connection, topic), topic)
    assert part.partitions == [0]
    member.leave()
    assert described_share(connection, group).group_state == "Empty"


def test_authorized_operations(connection: Connection, topic: str, group: str) -> None:
    """Shown to who asks for them."""
    member = ShareMember(connection, group, [topic])
    member.join()
    request = ShareGroupDescribeRequest(group_ids=[group], include_authorized_operations=True)
    (found,) = connection.ask(request, 1).groups
    assert found.authorized_operations > 0
    member.leave()


def test_other_groups_are_not_found(connection: Connection, topic: str, group: str) -> None:
    """Nor is a share group by those who look for others."""
    find_coordinator(connection, group)
    found = described_share(connection, group)
    assert (found.error_code, found.error_message) == (
        Error.GROUP_ID_NOT_FOUND,
        f"Group {group} not found.",
    )
    member = ShareMember(connection, group, [topic])
    member.join()
    consumer = described_consumer(connection, group)
    assert consumer.error_code == Error.GROUP_ID_NOT_FOUND
    (classic,) = connection.ask(DescribeGroupsRequest(groups=[group]), 6).groups
    assert (classic.error_code, classic.error_message) == (
        Error.GROUP_ID_NOT_FOUND,
        f"Group {group} is not a classic group.",
    )
    member.leave()
