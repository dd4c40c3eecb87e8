"""A consumer group as others see it: described, deleted, loaded; its states on paper."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group.classic import ClassicGroup
from headrace.coordinator.group.consumer import ConsumerGroup, describe
from headrace.coordinator.group.consumer.member import Member
from headrace.coordinator.group.consumer.persistence import current_record, member_record
from headrace.coordinator.group.modern.state import (
    GroupState,
    MemberState,
    group_diagram,
    member_diagram,
)
from headrace.coordinator.group.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    OffsetCommitKey,
    OwnedPartitions,
)
from headrace.coordinator.timers import Timers
from headrace.errors import CorruptData, Error
from headrace.wire import decode, encode_bytes
from headrace.wire.consumer_protocol import ConsumerProtocolAssignment, encode_assignment
from headrace.wire.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from tests.coordinator.consumer.story import Stage, check
from tests.settings import group_settings

PAGE = Path(__file__).parents[3] / "docs" / "protocol" / "consumer-groups.md"

MIXED = """
    topic orders 2
    A > join topics=orders assignor=range instance=i rack=r
    group Stable
    A < epoch 2 orders:0,1
    +1000
    C > classic-join topics=orders
    group Reconciling
    C < generation 3 range
    A > heartbeat
    A < epoch 2 orders:0
"""


def test_described() -> None:
    """KIP-848, KIP-1099: epochs, assignments as they are and shall be, and who speaks what."""
    stage = check(MIXED)
    described = ConsumerGroupDescribeResponse(groups=[describe(stage.consumer_group)])
    (group,) = decode(
        ConsumerGroupDescribeResponse, 1, encode_bytes(described, 1)
    ).groups  # it can be sent
    assert (group.group_id, group.group_state) == ("g", "Reconciling")
    assert (group.group_epoch, group.assignment_epoch, group.assignor_name) == (3, 3, "range")
    a, c = group.members
    assert (a.member_id, a.instance_id, a.rack_id, a.member_epoch) == ("A", "i", "r", 2)
    assert (a.client_id, a.client_host, a.member_type) == ("A", "/127.0.0.1", 1)
    assert (a.subscribed_topic_names, a.subscribed_topic_regex) == (["orders"], "")
    (assigned,) = a.assignment.topic_partitions
    assert (assigned.topic_name, assigned.partitions) == ("orders", [0, 1]), "still to be given up"
    (target,) = a.target_assignment.topic_partitions
    assert (target.topic_name, target.partitions) == ("orders", [0])
    assert (c.member_id, c.member_type, c.assignment.topic_partitions) == ("C", 0, [])
    (target,) = c.target_assignment.topic_partitions
    assert target.partitions == [1]
    stage.perform("no topic orders")
    (a, _) = describe(stage.consumer_group).members
    assert a.assignment.topic_partitions == [], "topics that are gone have no name to show"


def test_subscribed_topics() -> None:
    """Offsets of topics that any member wants are in use, those of an expression included."""
    stage = Stage(group_settings())
    for line in ("topic orders 1", "topic logs 1", "A > join topics=payments regex=l.*"):
        stage.perform(line)
    assert stage.consumer_group.subscribed_topics() == {"payments", "logs"}
    stage.perform("A > leave")
    assert stage.consumer_group.subscribed_topics() == set()
    assert stage.consumer_group.is_empty


def test_deleted() -> None:
    """The tombstones of a group leave nothing of it, and it is dead."""
    stage = check(MIXED)
    group = stage.consumer_group
    group.abandon(Error.NONE)
    stage.write(group.build_tombstones())
    assert group.state is GroupState.DEAD
    assert not any(dict(stage.log).values())


def test_zombie_with_the_previous_epoch() -> None:
    """KIP-848: the epoch before is taken only from a member that owns no more than it should."""
    stage = check(MIXED)
    client = stage.clients["A"]
    stage.perform("A > heartbeat owned")
    assert (client.epoch, stage.transcript[-1]) == (3, "A < epoch 3")
    (topic_id,) = client.owned
    client.owned = {topic_id: [0, 1]}
    stage.perform("A > heartbeat epoch=2 owned")
    assert stage.transcript[-1] == "A < FENCED_MEMBER_EPOCH"
    client.owned = {topic_id: [0]}
    stage.perform("A > heartbeat epoch=2 owned")
    assert stage.transcript[-1] == "A < epoch 3"


def test_abandoned() -> None:
    """A coordinator that resigns expects nothing of members any more."""
    stage = check(MIXED)
    assert len(stage.timers) > 0
    assert stage.consumer_group.abandon(Error.NOT_COORDINATOR) == []
    assert len(stage.timers) == 0


CLASSIC = """
    topic orders 2
    C > classic-join new topics=orders instance=i
    classic group PreparingRebalance
    classic group CompletingRebalance
    C < generation 1 range
    C > classic-sync assign=C/orders:0,1
    classic group Stable
    C < orders:0,1
"""


def test_upgrade_that_fails() -> None:
    """KIP-848: if the new member does not get in, the classic group goes on as if nothing was."""
    stage = check(CLASSIC, group_initial_rebalance_delay_ms=0, group_consumer_max_size=1)
    timers = dict(stage.timers._deadlines)
    stage.perform("A > join topics=orders")
    assert stage.transcript[-1] == "A < GROUP_MAX_SIZE_REACHED"
    assert stage.timers._deadlines == timers
    stage.perform("C > classic-heartbeat")
    assert stage.transcript[-1] == "C < alive"


@pytest.mark.parametrize(
    "assignment",
    [
        encode_assignment(
            ConsumerProtocolAssignment(assigned_partitions=[], user_data=b"of an assignor"), 1
        ),
        b"\0\1garbage",
    ],
)
def test_assignments_that_cannot_be_taken_along(assignment: bytes) -> None:
    """KIP-848: a classic group with assignments that would lose something is not upgraded."""
    stage = check(CLASSIC, group_initial_rebalance_delay_ms=0)
    assert isinstance(stage.group, ClassicGroup)
    for member in stage.group.members.values():
        member.assignment = assignment
    stage.perform("A > join topics=orders")
    assert stage.transcript[-1] == "A < GROUP_ID_NOT_FOUND"


def fresh() -> ConsumerGroup:
    return ConsumerGroup(
        "g", group_settings(), Timers(), Stage(group_settings()).topics, lambda: UUID(int=7)
    )


def test_records_of_older_brokers() -> None:
    """KIP-1251, KIP-1101: records without epochs of partitions, and with what a hash replaced."""
    group = fresh()
    owned = OwnedPartitions(topic_id=UUID(int=1), partitions=[3, 4], assignment_epochs=None)
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=5,
        previous_member_epoch=4,
        state=0,
        assigned_partitions=[owned],
        partitions_pending_revocation=[],
    )
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="A")
    group.replay(StateRecord(key, value))
    assert group.members["A"].assigned == {UUID(int=1): {3: 5, 4: 5}}
    old = ConsumerGroupPartitionMetadataValue(topics=[])
    group.replay(StateRecord(ConsumerGroupPartitionMetadataKey(group_id="g"), old))
    assert group.has_partition_metadata


def test_old_topic_metadata_is_ended() -> None:
    """KIP-1101: the first heartbeat ends what brokers before 4.1 wrote about topics."""
    stage = Stage(group_settings(), logged=True)
    old = ConsumerGroupPartitionMetadataValue(topics=[])
    stage.write([StateRecord(ConsumerGroupPartitionMetadataKey(group_id="g"), old)])
    stage.perform("A > join topics=")
    assert "log partition metadata end" in stage.transcript


def test_states_of_newer_brokers() -> None:
    """KIP-848: a member in a state that is not known must abandon everything and join again."""
    stage = Stage(group_settings())
    member = Member(member_id="A", member_epoch=5, rebalance_timeout_ms=1000)
    record = current_record("g", member)
    assert isinstance(record.value, ConsumerGroupCurrentMemberAssignmentValue)
    record.value.state = 99
    stage.write([member_record("g", member), record])
    assert stage.consumer_group.members["A"].state is MemberState.UNKNOWN
    stage.perform("A > heartbeat epoch=5")
    assert stage.transcript[-1] == "A < FENCED_MEMBER_EPOCH"
    stage.perform("A > join topics=")
    assert stage.transcript[-1].startswith("A < epoch ")


def test_records_of_others() -> None:
    """A record that is none of a consumer group, or ends one with members, is corrupt."""
    group = fresh()
    with pytest.raises(CorruptData):
        group.replay(StateRecord(OffsetCommitKey(group="g", topic="t", partition=0), None))
    stage = check(MIXED)
    with pytest.raises(CorruptData, match="while it has members"):
        stage.consumer_group.replay(stage.consumer_group.build_tombstones()[-1])


def test_a_refusal_leaves_nothing_behind() -> None:
    """A heartbeat that is refused changes neither timers nor what is written next."""
    stage = check(MIXED)
    timers = {key: stage.timers.deadline_ms(key) for key in list(stage.timers._deadlines)}
    log = len(stage.log)
    stage.perform("A > leave static")
    stage.perform("topic orders 3")
    stage.perform("B > join regex=( instance=i")
    assert stage.transcript[-1] == "B < INVALID_REGULAR_EXPRESSION"
    session = ("consumer-session", "g", "A")
    assert stage.timers.deadline_ms(session) == timers[session]
    assert len(stage.log) == log + 1
    assert not stage.consumer_group.topics_were_seen


@pytest.mark.parametrize("diagram", [group_diagram(), member_diagram()])
def test_diagrams(diagram: str) -> None:
    """The documentation shows the transitions that the code allows."""
    assert f"```mermaid\n{diagram}\n```" in PAGE.read_text()
