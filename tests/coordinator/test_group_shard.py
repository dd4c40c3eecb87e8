"""A shard finds, makes, changes and forgets groups as Apache Kafka does."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.coordinator.group.classic import ClassicGroup, ClassicState
from headrace.coordinator.group.consumer import ConsumerGroup
from headrace.coordinator.group.listing import listed_groups
from headrace.errors import Error
from headrace.wire.messages.heartbeat import HeartbeatRequest
from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.wire.messages.sync_group import SyncGroupRequest
from tests.coordinator.group_requests import (
    commit,
    heartbeat_request,
    join_classic,
    join_consumer,
    join_request,
    leave,
)
from tests.coordinator.offsets_partition import OffsetsPartition
from tests.settings import group_settings

LEAVE = -1


@pytest.fixture
def partition() -> OffsetsPartition:
    return OffsetsPartition()


def listed(
    partition: OffsetsPartition, *, states: tuple[str, ...] = (), types: tuple[str, ...] = ()
) -> list[tuple[str, str, str, str]]:
    groups = listed_groups(partition.shard.groups.values(), list(states), list(types))
    return [
        (group.group_id, group.protocol_type, group.group_state, group.group_type)
        for group in groups
    ]


# -- finding and making groups ---------------------------------------------------------------


def test_a_group_begins_with_its_first_member(partition: OffsetsPartition) -> None:
    """A member without id makes a classic group, and it is still there after a restart."""
    member_id, generation_id = join_classic(partition, "g")
    assert generation_id == 1
    assert listed(partition) == [("g", "consumer", "Stable", "classic")]
    partition.restart()
    assert listed(partition) == [("g", "consumer", "Stable", "classic")]
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
    assert partition.ask("heartbeat", request, 3).error_code == Error.NONE


def test_members_of_no_group(partition: OffsetsPartition) -> None:
    """Whoever claims to be a member of a group that does not exist is unknown."""
    join = partition.ask("join_group", join_request("g", "m"), 5)
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[])
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert (join.error_code, join.member_id) == (Error.UNKNOWN_MEMBER_ID, "m")
    assert partition.ask("sync_group", sync, 3).error_code == Error.UNKNOWN_MEMBER_ID
    assert partition.ask("heartbeat", heartbeat, 3).error_code == Error.UNKNOWN_MEMBER_ID
    left = leave(partition, "g", "m")
    assert left.error_code == Error.NONE
    assert [each.error_code for each in left.members] == [Error.UNKNOWN_MEMBER_ID]
    old = partition.ask("leave_group", LeaveGroupRequest(group_id="g", member_id="m"), 2)
    assert old.error_code == Error.UNKNOWN_MEMBER_ID
    assert partition.shard.groups == {}


def test_a_session_timeout_is_looked_at_first(partition: OffsetsPartition) -> None:
    """Whether there is such a group or not; and the refused member makes none."""
    for member_id in ("", "m"):
        request = join_request("g", member_id, session_timeout_ms=1)
        assert partition.ask("join_group", request, 3).error_code == Error.INVALID_SESSION_TIMEOUT
    assert partition.shard.groups == {}
    assert partition.log == []


def test_members_need_a_group_id(partition: OffsetsPartition) -> None:
    """An empty one is INVALID_GROUP_ID, or INVALID_REQUEST in the consumer protocol."""
    sync = SyncGroupRequest(group_id="", generation_id=1, member_id="m", assignments=[])
    heartbeat = HeartbeatRequest(group_id="", generation_id=1, member_id="m")
    going = LeaveGroupRequest(group_id="", members=[MemberIdentity(member_id="m")])
    answers = [
        partition.ask("join_group", join_request(""), 3),
        partition.ask("sync_group", sync, 3),
        partition.ask("heartbeat", heartbeat, 3),
        partition.ask("leave_group", going, 3),
        partition.ask("consumer_group_describe", "", 1),
    ]
    assert {answer.error_code for answer in answers} == {Error.INVALID_GROUP_ID}
    modern = partition.ask("consumer_group_heartbeat", heartbeat_request(""), 1)
    assert modern.error_code == Error.INVALID_REQUEST


def test_a_consumer_group_begins_with_its_first_member(partition: OffsetsPartition) -> None:
    """KIP-848: epoch 0 makes the group, which is still there after a restart."""
    epoch = join_consumer(partition, "cg")
    assert listed(partition) == [("cg", "consumer", "Stable", "consumer")]
    partition.restart()
    response = partition.ask("consumer_group_heartbeat", heartbeat_request("cg", "m1", epoch), 1)
    assert (response.error_code, response.member_epoch) == (Error.NONE, epoch)


def test_a_consumer_group_that_does_not_exist(partition: OffsetsPartition) -> None:
    """Only who joins makes a group; who says nonsense makes none."""
    for epoch in (1, LEAVE):
        answer = partition.ask("consumer_group_heartbeat", heartbeat_request("cg", "m", epoch), 1)
        assert answer.error_code == Error.GROUP_ID_NOT_FOUND
        assert answer.error_message == "Group cg not found."
    bad = heartbeat_request("cg", "m", rebalance_timeout_ms=-1)
    assert partition.ask("consumer_group_heartbeat", bad, 1).error_code == Error.INVALID_REQUEST
    assert partition.shard.groups == {}


def test_settings_of_one_group() -> None:
    """A group may have its own heartbeat interval."""
    interval = "consumer.heartbeat.interval.ms"
    overrides = {"a": {interval: 7000}}
    partition = OffsetsPartition(overrides=lambda group: overrides.get(group, {}))
    answers = [
        partition.ask("consumer_group_heartbeat", heartbeat_request(group), 1)
        for group in ("a", "b")
    ]
    assert [answer.heartbeat_interval_ms for answer in answers] == [7_000, 5_000]
    overrides["a"] = {interval: 9000}
    request = heartbeat_request("a", "m1", answers[0].member_epoch)
    answer = partition.ask("consumer_group_heartbeat", request, 1)
    assert answer.heartbeat_interval_ms == 9_000, "a change is noticed at once"


# -- from one kind to the other ---------------------------------------------------------------


def test_an_empty_classic_group_becomes_a_consumer_group(partition: OffsetsPartition) -> None:
    """Its offsets stay; the log says so too."""
    assert commit(partition, "g", 5) is Error.NONE
    join_consumer(partition, "g")
    for _ in range(2):
        assert isinstance(partition.shard.groups["g"], ConsumerGroup)
        assert partition.fetch("g") == [5]
        partition.compact()


def test_an_empty_consumer_group_becomes_a_classic_group(partition: OffsetsPartition) -> None:
    """The first member of the classic protocol ends it; a member that nobody knows does not."""
    join_consumer(partition, "g")
    partition.ask("consumer_group_heartbeat", heartbeat_request("g", "m1", LEAVE), 1)
    refused = partition.ask("join_group", join_request("g", "m"), 5)
    assert refused.error_code == Error.UNKNOWN_MEMBER_ID
    assert listed(partition) == [("g", "consumer", "Empty", "consumer")]
    member_id, _ = join_classic(partition, "g")
    for _ in range(2):
        assert listed(partition) == [("g", "consumer", "Stable", "classic")]
        partition.restart()
    leave(partition, "g", member_id)
    assert delete(partition, "g") is Error.NONE
    partition.compact()
    assert partition.shard.groups == {}, "nothing of the consumer group was left in the log"


def test_an_upgrade_takes_members_along(partition: OffsetsPartition) -> None:
    """A consumer of the new protocol joins a classic group: both are in one consumer group."""
    member_id, generation_id = join_classic(partition, "g")
    epoch = join_consumer(partition, "g", member_id="modern")
    assert epoch == generation_id + 1
    for _ in range(2):
        group = partition.shard.groups["g"]
        assert isinstance(group, ConsumerGroup)
        assert set(group.members) == {member_id, "modern"}
        partition.compact()
    request = HeartbeatRequest(group_id="g", generation_id=generation_id, member_id=member_id)
    answer = partition.ask("heartbeat", request, 3)
    assert answer.error_code == Error.REBALANCE_IN_PROGRESS


def test_an_upgrade_that_the_policy_forbids() -> None:
    """The classic group goes on as if nothing had happened."""
    settings = group_settings(
        group_initial_rebalance_delay_ms=0, group_consumer_migration_policy="disabled"
    )
    partition = OffsetsPartition(settings=settings)
    member_id, generation_id = join_classic(partition, "g")
    answer = partition.ask("consumer_group_heartbeat", heartbeat_request("g", "modern"), 1)
    assert answer.error_code == Error.GROUP_ID_NOT_FOUND
    request = HeartbeatRequest(group_id="g", generation_id=generation_id, member_id=member_id)
    assert partition.ask("heartbeat", request, 3).error_code == Error.NONE


@pytest.mark.parametrize("by", ["leaving", "silence"])
def test_a_downgrade_keeps_classic_members(partition: OffsetsPartition, by: str) -> None:
    """When the last member of the new protocol is gone, the others are asked to join again."""
    member_id, _ = join_classic(partition, "g", rebalance_timeout_ms=60_000)
    join_consumer(partition, "g", member_id="modern")
    if by == "leaving":
        partition.ask("consumer_group_heartbeat", heartbeat_request("g", "modern", LEAVE), 1)
    else:
        heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
        for _ in range(10):  # the session of the modern member is 45 s
            partition.pass_time(5_000)
            partition.ask("heartbeat", heartbeat, 3)
    group = partition.shard.groups["g"]
    assert isinstance(group, ClassicGroup)
    assert group.state is ClassicState.PREPARING_REBALANCE
    assert set(group.members) == {member_id}
    ticket = partition.begin("join_group", join_request("g", member_id), 5)
    assert partition.answers[ticket].error_code == Error.NONE
    partition.compact()
    assert isinstance(partition.shard.groups["g"], ClassicGroup)


def test_a_downgrade_keeps_all_protocols(partition: OffsetsPartition) -> None:
    """Members are known to speak what they spoke before, not just what was chosen last."""
    join_classic(partition, "g", protocols=("range", "roundrobin"))
    join_consumer(partition, "g", member_id="modern")
    partition.ask("consumer_group_heartbeat", heartbeat_request("g", "modern", LEAVE), 1)
    refused = partition.ask("join_group", join_request("g", protocols=("sticky",)), 3)
    assert refused.error_code == Error.INCONSISTENT_GROUP_PROTOCOL
    ticket = partition.begin("join_group", join_request("g", protocols=("roundrobin",)), 3)
    assert ticket not in partition.answers, "it waits for the other one"


def test_a_downgrade_and_a_timer_of_the_same_moment(partition: OffsetsPartition) -> None:
    """Timers that came due together with the one that ended the group find nothing to do."""
    for member_id in ("m1", "m2"):
        join_consumer(partition, "cg", member_id=member_id)
    late = partition.now_ms + 45_000
    due: list[Any] = partition.shard.timers.due(late)
    keys = [key for key in due if key[0] == "consumer-session"]
    assert len(keys) == 2
    for member_id in ("m1", "m2"):
        partition.ask("consumer_group_heartbeat", heartbeat_request("cg", member_id, LEAVE), 1)
    join_classic(partition, "cg")
    for key in keys:
        assert partition.shard.on_timer(key, late).records == []
    assert partition.shard.on_timer(("classic-join", "gone"), late).records == []


# -- describing and listing ------------------------------------------------------------------


def test_describing_groups(partition: OffsetsPartition) -> None:
    """Each kind has its own request; for the other one the group does not exist."""
    join_classic(partition, "g")
    join_consumer(partition, "cg")
    classic = partition.ask("describe_group", "g", 6)
    assert (classic.error_code, classic.group_state) == (Error.NONE, "Stable")
    assert len(classic.members) == 1
    modern = partition.ask("consumer_group_describe", "cg", 1)
    assert (modern.error_code, modern.group_state) == (Error.NONE, "Stable")
    wrong = partition.ask("consumer_group_describe", "g", 1)
    assert wrong.error_code == Error.GROUP_ID_NOT_FOUND
    assert wrong.error_message == "Group g is not a consumer group."
    wrong = partition.ask("describe_group", "cg", 6)
    assert wrong.error_code == Error.GROUP_ID_NOT_FOUND
    assert wrong.error_message == "Group cg is not a classic group."


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [(5, Error.NONE, None), (6, Error.GROUP_ID_NOT_FOUND, "Group x not found.")],
)
def test_describing_what_does_not_exist(
    partition: OffsetsPartition, version: int, error: Error, message: str | None
) -> None:
    """DescribeGroups calls it dead, and since v6 an error (KIP-1043)."""
    answer = partition.ask("describe_group", "x", version)
    assert (answer.error_code, answer.group_state) == (error, "Dead")
    assert answer.error_message == message


def test_listing_with_filters(partition: OffsetsPartition) -> None:
    """By state (KIP-518) and by type (KIP-848), in upper or lower case."""
    join_classic(partition, "g")
    join_consumer(partition, "cg")
    commit(partition, "simple", 1)
    everything = [
        ("g", "consumer", "Stable", "classic"),
        ("cg", "consumer", "Stable", "consumer"),
        ("simple", "", "Empty", "classic"),
    ]
    assert listed(partition) == everything
    assert listed(partition, states=("stable",)) == everything[:2]
    assert listed(partition, states=("Empty", "Dead")) == everything[2:]
    assert listed(partition, types=("CLASSIC",)) == [everything[0], everything[2]]
    assert listed(partition, states=("Stable",), types=("consumer",)) == everything[1:2]
    assert listed(partition, types=("share",)) == []


# -- deleting ---------------------------------------------------------------------------------


def delete(partition: OffsetsPartition, group: str) -> Error:
    return Error(partition.ask("delete_group", group).error_code)


def empty_groups(partition: OffsetsPartition) -> dict[str, Any]:
    """A simple, a classic and a consumer group without members, each with an offset."""
    member_id, generation_id = join_classic(partition, "classic")
    who = {"member_id": member_id, "generation_id_or_member_epoch": generation_id}
    assert commit(partition, "classic", 1, **who) is Error.NONE
    leave(partition, "classic", member_id)
    epoch = join_consumer(partition, "modern")
    who = {"member_id": "m1", "generation_id_or_member_epoch": epoch}
    assert commit(partition, "modern", 2, **who) is Error.NONE
    partition.ask("consumer_group_heartbeat", heartbeat_request("modern", "m1", LEAVE), 1)
    assert commit(partition, "simple", 3) is Error.NONE
    return partition.shard.groups


def test_deleting_groups(partition: OffsetsPartition) -> None:
    """Empty groups of all kinds go with their offsets, for good."""
    groups = empty_groups(partition)
    assert set(groups) == {"classic", "modern", "simple"}
    for group in list(groups):
        assert delete(partition, group) is Error.NONE
        assert delete(partition, group) is Error.GROUP_ID_NOT_FOUND
    for _ in range(2):
        assert partition.shard.groups == {}
        assert list(partition.shard.offsets.group_ids()) == []
        partition.restart()


def test_a_deleted_group_expects_nobody(partition: OffsetsPartition) -> None:
    """Not even the member that was given an id and has not come back with it (KIP-394)."""
    partition.ask("join_group", join_request("g"), 5)
    assert len(partition.shard.timers) == 2
    assert delete(partition, "g") is Error.NONE
    assert len(partition.shard.timers) == 1


def test_groups_with_members_stay(partition: OffsetsPartition) -> None:
    """NON_EMPTY_GROUP, for both kinds."""
    join_classic(partition, "g")
    join_consumer(partition, "cg")
    assert delete(partition, "g") is Error.NON_EMPTY_GROUP
    assert delete(partition, "cg") is Error.NON_EMPTY_GROUP
    assert set(partition.shard.groups) == {"g", "cg"}


def test_a_group_id_may_be_used_again(partition: OffsetsPartition) -> None:
    """What was deleted leaves nothing behind that could disturb its successor."""
    empty_groups(partition)
    for group in ("classic", "modern"):
        assert delete(partition, group) is Error.NONE
    join_consumer(partition, "classic")
    join_classic(partition, "modern")
    partition.restart()
    assert isinstance(partition.shard.groups["classic"], ConsumerGroup)
    assert isinstance(partition.shard.groups["modern"], ClassicGroup)


def test_a_resigning_shard_answers_everybody(partition: OffsetsPartition) -> None:
    """Who waits for others to join is told to look for the new coordinator."""
    partition.settings = group_settings()
    partition.restart()
    ticket = partition.begin("join_group", join_request("g"), 3)
    assert ticket not in partition.answers
    partition.restart()
    assert partition.answers[ticket].error_code == Error.NOT_COORDINATOR
