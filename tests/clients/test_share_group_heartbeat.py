"""ShareGroupHeartbeat: members of share groups join, get partitions and leave (KIP-932)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.errors import Error
from headrace.wire.messages.list_groups import ListGroupsRequest
from headrace.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.clients.groups.raw_members import NewMember, commit, find_coordinator, join_request
from tests.clients.groups.raw_share_members import ShareMember
from tests.clients.raw import Connection
from tests.clients.requests import topic_id_of


def test_two_members_share_a_partition(connection: Connection, topic: str, group: str) -> None:
    """Unlike in a consumer group: both have it, in the same epoch."""
    first, second = (ShareMember(connection, group, [topic]) for _ in range(2))
    assert first.join().member_epoch > 0
    first.await_partitions(1)
    second.join()
    second.await_partitions(1)
    first.beat()
    assert first.partitions == second.partitions == {topic_id_of(connection, topic): [0]}
    assert first.leave().member_epoch == -1
    second.leave()


def test_partitions_are_spread(
    connection: Connection, new_topic: Callable[..., str], group: str
) -> None:
    """With as many partitions as members each has one; who is left gets all."""
    topic = new_topic(partitions=2)
    first, second = (ShareMember(connection, group, [topic]) for _ in range(2))
    first.join()
    first.await_partitions(2)
    second.join()
    second.await_partitions(1)
    first.await_partitions(1)
    assert first.partitions != second.partitions
    second.leave()
    first.await_partitions(2)
    first.leave()


def test_epochs(connection: Connection, topic: str, group: str) -> None:
    """A member that is ahead of the coordinator, or far behind, must join again."""
    member = ShareMember(connection, group, [topic])
    member.join()
    member.await_partitions(1)
    epoch = member.epoch
    assert member.beat(epoch=epoch + 1).error_code == Error.FENCED_MEMBER_EPOCH
    assert member.beat(epoch=epoch - 1).error_code == Error.NONE  # the answer may be lost
    stranger = ShareMember(connection, group, [topic])
    assert stranger.beat(epoch=epoch).error_code == Error.UNKNOWN_MEMBER_ID
    assert stranger.leave().error_code == Error.UNKNOWN_MEMBER_ID
    member.leave()


@pytest.mark.parametrize(("epoch", "kind"), [(1, "Share group"), (-1, "Group")])
def test_nobody_but_who_joins_makes_a_group(
    connection: Connection, topic: str, group: str, epoch: int, kind: str
) -> None:
    """GROUP_ID_NOT_FOUND for heartbeats and departures."""
    find_coordinator(connection, group)
    answer = ShareMember(connection, group, [topic]).beat(epoch=epoch)
    assert (answer.error_code, answer.error_message) == (
        Error.GROUP_ID_NOT_FOUND,
        f"{kind} {group} not found.",
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"member_id": ""}, None),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"subscribed_topic_names": []}, "SubscribedTopicNames must be set in first request."),
        ({"member_epoch": -2}, "MemberEpoch is invalid."),
    ],
)
def test_invalid_requests(
    connection: Connection, topic: str, group: str, fields: dict[str, object], message: str | None
) -> None:
    """What no member would send is INVALID_REQUEST."""
    find_coordinator(connection, group)
    right: dict[str, object] = {
        "group_id": group,
        "member_id": "m",
        "member_epoch": 0,
        "subscribed_topic_names": [topic],
    }
    request = ShareGroupHeartbeatRequest(**{**right, **fields})  # type: ignore[arg-type]
    answer = connection.ask(request, 1)
    assert (answer.error_code, answer.error_message) == (Error.INVALID_REQUEST, message)


def test_a_group_id_means_one_kind_of_group(connection: Connection, topic: str, group: str) -> None:
    """Members and offsets of other kinds are refused, and share members in other groups."""
    member = ShareMember(connection, group, [topic])
    member.join()
    joined = connection.ask(join_request(group), 9)
    assert joined.error_code == Error.INCONSISTENT_GROUP_PROTOCOL
    other = NewMember(connection, group, [topic])
    refused = other.join()
    assert (refused.error_code, refused.error_message) == (
        Error.GROUP_ID_NOT_FOUND,
        f"Group {group} is not a consumer group.",
    )
    assert commit(connection, group, topic, 5) == Error.GROUP_ID_NOT_FOUND
    member.leave()
    committed = f"{group}-offsets"
    assert commit(connection, committed, topic, 5) == Error.NONE
    answer = ShareMember(connection, committed, [topic]).join()
    assert (answer.error_code, answer.error_message) == (
        Error.GROUP_ID_NOT_FOUND,
        f"Group {committed} is not a share group.",
    )


def test_share_groups_are_listed(connection: Connection, topic: str, group: str) -> None:
    """ListGroups: by type and by state; empty when the last member has left."""
    member = ShareMember(connection, group, [topic])
    member.join()

    def listed(state: str) -> list[tuple[str, str]]:
        request = ListGroupsRequest(states_filter=[state], types_filter=["Share"])
        return [
            (each.protocol_type, each.group_type)
            for each in connection.ask(request, 5).groups
            if each.group_id == group
        ]

    assert listed("Stable") == [("share", "share")]
    assert listed("Empty") == []
    member.leave()
    assert listed("Empty") == [("share", "share")]
