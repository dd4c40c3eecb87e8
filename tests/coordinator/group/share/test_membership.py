"""The life of members of a share group: joining, epochs, leaving, being given up."""

from __future__ import annotations

import pytest

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.configs import group_value
from headrace.errors import Error
from headrace.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.coordinator.group.share.stage import ShareStage
from tests.coordinator.known_topics import KnownTopics
from tests.settings import group_settings


def error_of(answer: ShareGroupHeartbeatResponse) -> Error:
    return Error(answer.error_code)


def test_a_first_member_gets_its_partitions_when_they_have_state() -> None:
    """KIP-932: no partition is assigned before its state is initialized; the member is told when
    to come back for it, and does not wait for a whole interval."""
    stage = ShareStage()
    joined = stage.join("A", "orders")
    assert (joined.member_epoch, stage.assigned["A"]) == (1, {})
    assert joined.heartbeat_interval_ms == 250
    stage.carry_out_all()
    assert stage.started() == {"orders-0": (1, -1), "orders-1": (1, -1)}
    answer = stage.heartbeat("A")
    assert (answer.member_epoch, stage.assigned["A"]) == (2, {"orders": [0, 1]})
    assert answer.heartbeat_interval_ms == 5_000
    at_rest = stage.heartbeat("A")
    assert (at_rest.member_epoch, at_rest.assignment) == (2, None)
    assert not stage.asked


def test_members_share_partitions() -> None:
    """KIP-932: unlike in a consumer group, two members have the same partition at the same time."""
    stage = ShareStage(KnownTopics(orders=1))
    stage.join_ready("A", "orders")
    stage.join("B", "orders")
    stage.pass_time(1_000)
    stage.heartbeat("B")
    stage.heartbeat("A")
    assert stage.assigned == {"A": {"orders": [0]}, "B": {"orders": [0]}}
    assert stage.group.state.value == "Stable"


def test_assignments_are_an_interval_apart() -> None:
    """KIP-1263: share.assignment.interval.ms; who waits for one is told when it will be there."""
    stage = ShareStage()
    stage.join_ready("A", "orders")
    stage.pass_time(400)
    waiting = stage.join("B", "orders")
    assert (waiting.member_epoch, stage.assigned["B"]) == (2, {})
    assert waiting.heartbeat_interval_ms == 600
    stage.pass_time(600)
    assert stage.heartbeat("B").member_epoch == 3
    assert stage.assigned["B"] != {}


def test_epochs() -> None:
    """A member may repeat its last epoch, because the answer may be lost; any other is fenced."""
    stage = ShareStage()
    stage.join_ready("A", "orders")
    assert stage.epochs["A"] == 2
    assert error_of(stage.heartbeat("A", epoch=1)) is Error.NONE
    assert error_of(stage.heartbeat("A", epoch=3)) is Error.FENCED_MEMBER_EPOCH
    stage.join("B", "orders")
    stage.pass_time(1_000)
    assert stage.heartbeat("A").member_epoch == 3
    assert error_of(stage.heartbeat("A", epoch=1)) is Error.FENCED_MEMBER_EPOCH
    assert error_of(stage.heartbeat("X", epoch=1)) is Error.UNKNOWN_MEMBER_ID
    rejoined = stage.join("A", "orders")
    assert (rejoined.member_epoch, rejoined.assignment is not None) == (3, True)


def test_an_assignment_that_was_lost_is_told_again() -> None:
    """The member still is in the epoch before; Apache Kafka would not tell it (the member must)."""
    stage = ShareStage()
    stage.join("A", "orders")
    epoch = stage.epochs["A"]
    stage.carry_out_all()
    stage.heartbeat("A")
    stage.assigned["A"] = {}
    stage.heartbeat("A", epoch=epoch)
    assert stage.assigned["A"] == {"orders": [0, 1]}


def test_leaving() -> None:
    """A member that leaves makes a new epoch; the others get what it had."""
    stage = ShareStage()
    stage.join_ready("A", "orders")
    stage.join("B", "orders")
    stage.pass_time(1_000)
    stage.heartbeat("B")
    stage.heartbeat("A")
    assert sorted(each["orders"] for each in stage.assigned.values()) == [[0], [1]]
    left = stage.leave("B")
    assert (left.member_epoch, left.member_id) == (-1, "B")
    stage.pass_time(1_000)
    stage.heartbeat("A")
    assert stage.assigned["A"] == {"orders": [0, 1]}
    stage.leave("A")
    assert stage.group.state.value == "Empty"
    assert error_of(stage.leave("A")) is Error.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_given_up() -> None:
    """share.session.timeout.ms, counted anew after the coordinator has moved."""
    stage = ShareStage(overrides=lambda _: {"share.session.timeout.ms": 50_000})
    stage.join_ready("A", "orders")
    stage.pass_time(30_000)
    stage.restart()
    stage.pass_time(49_999)
    assert "A" in stage.group.members
    stage.pass_time(1)
    assert stage.group.is_empty
    assert error_of(stage.heartbeat("A")) is Error.UNKNOWN_MEMBER_ID


def test_a_group_has_a_largest_size() -> None:
    """group.share.max.size; who is a member already may stay."""
    stage = ShareStage(settings=group_settings(group_share_max_size=1))
    stage.join("A", "orders")
    assert error_of(stage.join("B", "orders")) is Error.GROUP_MAX_SIZE_REACHED
    assert error_of(stage.heartbeat("A")) is Error.NONE


def test_a_group_has_settings_of_its_own() -> None:
    """share.heartbeat.interval.ms of the group, kept within the broker's limits."""
    configs: dict[str, str] = {}
    broker = BrokerConfig()
    stage = ShareStage(
        overrides=lambda _: {name: group_value(name, configs, broker) for name in configs}
    )
    stage.join_ready("A", "orders")
    configs["share.heartbeat.interval.ms"] = "7000"
    assert stage.heartbeat("A").heartbeat_interval_ms == 7_000
    configs["share.heartbeat.interval.ms"] = "99000"
    assert stage.heartbeat("A").heartbeat_interval_ms == 15_000


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"member_id": ""}, None),
        ({"member_id": " "}, "MemberId can't be empty."),
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"subscribed_topic_names": None}, "SubscribedTopicNames must be set in first request."),
        ({"subscribed_topic_names": []}, "SubscribedTopicNames must be set in first request."),
        ({"member_epoch": -2}, "MemberEpoch is invalid."),
    ],
)
def test_invalid_requests(fields: dict[str, object], message: str | None) -> None:
    """What no member would send is INVALID_REQUEST, in Kafka's words, and leaves nothing behind."""
    stage = ShareStage()
    right: dict[str, object] = {
        "group_id": "g",
        "member_id": "A",
        "member_epoch": 0,
        "subscribed_topic_names": ["orders"],
    }
    answer = stage.ask("share.heartbeat", ShareGroupHeartbeatRequest(**{**right, **fields}))  # type: ignore[arg-type]
    assert (error_of(answer), answer.error_message) == (Error.INVALID_REQUEST, message)
    assert not stage.shard.groups
    assert not stage.log


def test_only_joining_makes_a_group() -> None:
    """A heartbeat or a departure without a group is GROUP_ID_NOT_FOUND."""
    stage = ShareStage()
    for epoch, message in ((1, "Share group g not found."), (-1, "Group g not found.")):
        answer = stage.heartbeat("A", epoch=epoch)
        assert (error_of(answer), answer.error_message) == (Error.GROUP_ID_NOT_FOUND, message)


def test_a_member_is_described() -> None:
    """ShareGroupDescribe: what the member told, and what it has."""
    stage = ShareStage()
    stage.heartbeat("A", "orders", epoch=0, rack="r1")
    stage.carry_out_all()
    stage.heartbeat("A")
    shown = stage.ask("share.describe", "g")
    assert (shown.group_state, shown.group_epoch, shown.assignment_epoch) == ("Stable", 2, 2)
    assert shown.assignor_name == "simple"
    (member,) = shown.members
    assert (member.member_id, member.rack_id, member.client_id) == ("A", "r1", "client")
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("orders", [0, 1])
    assert stage.ask("share.describe", "nobody").error_code == Error.GROUP_ID_NOT_FOUND
    assert stage.ask("share.describe", "").error_code == Error.INVALID_GROUP_ID
