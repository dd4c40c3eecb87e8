"""A group id means one group, of one kind: what share groups say to the requests of others."""

from __future__ import annotations

from headrace.coordinator.group.listing import listed_groups
from headrace.errors import Error
from headrace.wire.messages.heartbeat import HeartbeatRequest
from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.wire.messages.offset_delete import OffsetDeleteRequest
from headrace.wire.messages.offset_fetch import OffsetFetchRequestGroup
from headrace.wire.messages.sync_group import SyncGroupRequest
from tests.coordinator.group.share.stage import ShareStage
from tests.coordinator.group_requests import (
    commit,
    heartbeat_request,
    join_request,
    txn_commit_request,
)

NOT_A_CONSUMER_GROUP = "Group g is not a consumer group."


def stage_with_group() -> ShareStage:
    stage = ShareStage()
    stage.join_ready("A", "orders")
    return stage


def test_share_groups_are_listed() -> None:
    """ListGroups: type and protocol `share`, found by either filter."""
    stage = stage_with_group()
    groups = stage.shard.groups.values()
    (listed,) = listed_groups(groups, [], [])
    assert (listed.group_type, listed.protocol_type) == ("share", "share")
    assert listed.group_state == "Stable"
    assert listed_groups(groups, ["stable"], ["Share"])
    assert not listed_groups(groups, ["empty"], [])
    assert not listed_groups(groups, [], ["consumer", "classic"])


def test_members_of_the_classic_protocol_are_refused() -> None:
    """INCONSISTENT_GROUP_PROTOCOL for who joins, UNKNOWN_MEMBER_ID for who believes to be in."""
    stage = stage_with_group()
    joined = stage.ask("join_group", join_request("g"), 9)
    assert joined.error_code == Error.INCONSISTENT_GROUP_PROTOCOL
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert stage.ask("heartbeat", beat).error_code == Error.UNKNOWN_MEMBER_ID
    synced = SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[])
    assert stage.ask("sync_group", synced).error_code == Error.UNKNOWN_MEMBER_ID
    left = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="m")])
    assert stage.ask("leave_group", left).members[0].error_code == Error.UNKNOWN_MEMBER_ID


def test_members_of_the_consumer_protocol_are_refused() -> None:
    """GROUP_ID_NOT_FOUND, even for who joins; and the other way round."""
    stage = stage_with_group()
    answer = stage.ask("consumer_group_heartbeat", heartbeat_request("g"), 1)
    assert answer.error_code == Error.GROUP_ID_NOT_FOUND
    assert answer.error_message == NOT_A_CONSUMER_GROUP
    other = ShareStage()
    other.ask("consumer_group_heartbeat", heartbeat_request("g"), 1)
    refused = other.join("A", "orders")
    assert refused.error_code == Error.GROUP_ID_NOT_FOUND
    assert refused.error_message == "Group g is not a share group."


def test_there_are_no_offsets() -> None:
    """Committing, fetching and deleting offsets does not find the group."""
    stage = stage_with_group()
    stage.leave("A")
    assert commit(stage, "g", 5) is Error.GROUP_ID_NOT_FOUND
    pending = stage.ask("txn_offset_commit", txn_commit_request("g", 5, producer_id=1), 3)
    assert pending.topics[0].partitions[0].error_code == Error.GROUP_ID_NOT_FOUND
    fetched = stage.ask(
        "offset_fetch",
        OffsetFetchRequestGroup(group_id="g", topics=None),
        9,
        require_stable=False,
    )
    assert fetched.error_code == Error.GROUP_ID_NOT_FOUND
    deleted = stage.ask("offset_delete", OffsetDeleteRequest(group_id="g", topics=[]))
    assert deleted.error_code == Error.GROUP_ID_NOT_FOUND


def test_other_descriptions_do_not_find_it() -> None:
    """DescribeGroups and ConsumerGroupDescribe say that it is another kind of group."""
    stage = stage_with_group()
    classic = stage.ask("describe_group", "g", 6)
    assert classic.error_code == Error.GROUP_ID_NOT_FOUND
    assert classic.error_message == "Group g is not a classic group."
    assert stage.ask("describe_group", "g", 5).group_state == "Dead"
    consumer = stage.ask("consumer_group_describe", "g")
    assert (consumer.error_code, consumer.error_message) == (
        Error.GROUP_ID_NOT_FOUND,
        NOT_A_CONSUMER_GROUP,
    )


def test_a_share_group_does_not_expire() -> None:
    """It has no offsets whose retention could end; an empty one stays until it is deleted."""
    stage = stage_with_group()
    stage.leave("A")
    stage.pass_time(30 * 24 * 3_600_000)
    assert "g" in stage.shard.groups
