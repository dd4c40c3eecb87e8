"""What a group is after its coordinator has moved, and what its log says of it."""

from __future__ import annotations

from uuid import UUID

import pytest

from headrace.coordinator.effects import Effects
from headrace.coordinator.group.classic import ClassicGroup, ClassicState
from headrace.coordinator.group.records import GroupMetadataValue, MemberMetadata, decode_record
from headrace.coordinator.timers import Timers
from headrace.errors import CorruptData, Error, InvariantViolated
from headrace.wire.messages.join_group import JoinGroupResponse
from tests.coordinator.classic.story import Stage, check
from tests.settings import group_settings


def test_failover_in_a_stable_group() -> None:
    """After a failover members go on as if nothing had happened, or lose their session in time."""
    stage = check("""
        A > join v3 protocols=range:x,sticky:y
        log generation 0 None
        group PreparingRebalance
        B > join v3
        +3000
        +3000
        group CompletingRebalance
        A < generation 1 range leader A#1 as A#1 of A#1 B#1
        B < generation 1 range leader A#1 as B#1
        A > sync A#1=half B#1=rest
        log generation 1 range A#1=half B#1=rest
        group Stable
        A < assigned half
        restart
        group Stable
        B > sync
        B < assigned rest
        A > commit
        A < committed
        B > join
        B < generation 1 range leader A#1 as B#1
        +9999
        A > heartbeat
        A < alive
        +1
        group PreparingRebalance
        A > join
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1
    """)
    assert stage.group.members[stage.clients["A"].member_id].client_host == "/127.0.0.1"


def test_failover_during_a_rebalance() -> None:
    """Who waits learns that the coordinator has moved; the last written generation is the truth."""
    check("""
        A > join v3
        log generation 0 None
        group PreparingRebalance
        +3000
        group CompletingRebalance
        A < generation 1 range leader A#1 as A#1 of A#1
        A > sync A#1=all
        log generation 1 range A#1=all
        group Stable
        A < assigned all
        B > join v3
        group PreparingRebalance
        restart
        B < NOT_COORDINATOR B#1
        group Stable
        B > join as=-
        group PreparingRebalance
        A > join
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1 B#2
        B < generation 2 range leader A#1 as B#2
        B > sync
        restart
        B < NOT_COORDINATOR
        group Stable
        A > sync
        A < ILLEGAL_GENERATION
    """)


def test_failover_of_a_group_that_is_too_large() -> None:
    """A loaded group above group.max.size rebalances; who joins again last is refused."""
    stage = check(
        """
        A > join v3
        log generation 0 None
        group PreparingRebalance
        B > join v3
        +3000
        +3000
        group CompletingRebalance
        A < generation 1 range leader A#1 as A#1 of A#1 B#1
        B < generation 1 range leader A#1 as B#1
        A > sync A#1=half B#1=rest
        log generation 1 range A#1=half B#1=rest
        group Stable
        A < assigned half
        """
    )
    stage.settings = group_settings(group_max_size=1)
    stage.transcript.clear()
    for line in ("restart", "A > heartbeat", "B > join", "A > join", "+60000"):
        stage.perform(line)
    assert stage.transcript == [
        "restart",
        "group PreparingRebalance",
        "A > heartbeat",
        "A < REBALANCE_IN_PROGRESS",
        "B > join",
        "A > join",
        "A < GROUP_MAX_SIZE_REACHED",
        "+60000",
        "group CompletingRebalance",
        "B < generation 2 range leader B#1 as B#1 of B#1",
    ]


def new_group() -> ClassicGroup:
    return ClassicGroup("g", group_settings(), Timers(), lambda: pytest.fail("no new ids"))


def loaded_member(member_id: str, *, instance_id: str | None = None) -> MemberMetadata:
    return MemberMetadata(
        member_id=member_id,
        group_instance_id=instance_id,
        client_id="c",
        client_host="/::1",
        rebalance_timeout=-1,
        session_timeout=7_000,
        subscription=b"s",
        assignment=b"a",
    )


def metadata(*members: MemberMetadata, protocol: str | None = "range") -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=4,
        protocol=protocol,
        leader="C",
        current_state_timestamp=99,
        members=list(members),
    )


def test_load_takes_the_last_record() -> None:
    """Loading leaves what the last record says; records before KIP-62 have one timeout for all."""
    group = new_group()
    group.replay_metadata(metadata(loaded_member("A"), loaded_member("B")), 5)
    group.replay_metadata(metadata(loaded_member("B"), loaded_member("C")), 6)
    group.on_loaded(1_000)
    assert list(group.members) == ["B", "C"]
    assert (group.state, group.state_since_ms) == (ClassicState.STABLE, 99)
    assert group.generation_id == 4
    assert group.leader_id == "C"
    assert group.members["C"].rebalance_timeout_ms == 7_000
    assert group.timers.deadline_ms(("classic-session", "g", "C")) == 8_000
    assert len(group.timers) == 2
    assert group.subscribed_topics() is None  # b"s" is no subscription
    group = new_group()
    group.replay_metadata(metadata(loaded_member("A")), 7)
    assert group.leader_id == "A"  # the record names one who is not in it
    group.replay_metadata(metadata(protocol=None), 8)
    assert group.is_empty
    assert group.leader_id is None


@pytest.mark.parametrize(
    "value",
    [
        metadata(loaded_member("A"), protocol=None),
        metadata(loaded_member("A"), loaded_member("A")),
        metadata(loaded_member("A", instance_id="i"), loaded_member("B", instance_id="i")),
    ],
)
def test_senseless_records_are_corrupt(value: GroupMetadataValue) -> None:
    """A record that no coordinator can have written is reported, not believed."""
    with pytest.raises(CorruptData, match="group g"):
        new_group().replay_metadata(value, 0)


def test_deleted_group() -> None:
    """A dead group has no timers; late requests and timers change nothing."""
    stage = Stage(group_settings())
    for line in ("A > join v3", "+3000", "B > join"):
        stage.perform(line)
    assert len(stage.timers) == 3
    stage.group.replay_metadata(None, stage.now_ms)
    assert len(stage.timers) == 0
    assert stage.group.on_timer(("classic-join", "g"), 9_999) == Effects()
    stage.transcript.clear()
    for line in ("A > join", "A > sync", "A > heartbeat", "A > leave", "A > commit"):
        stage.perform(line)
    answers = [line for line in stage.transcript if line.startswith("A < ")]
    assert len(answers) == 5
    assert all(answer.startswith("A < COORDINATOR_NOT_AVAILABLE") for answer in answers)


def test_abandoned_group() -> None:
    """Who waits when the coordinator is replaced hears of it; nothing is left behind."""
    stage = Stage(group_settings())
    for line in ("A > join v3", "+3000", "A > join", "B > join v3", "C > join"):
        stage.perform(line)
    (reply,) = stage.group.abandon(Error.REBALANCE_IN_PROGRESS)
    assert isinstance(reply.response, JoinGroupResponse)
    assert reply.response.error_code == Error.REBALANCE_IN_PROGRESS
    assert reply.response.member_id == stage.clients["B"].name + "-" + str(UUID(int=2))
    assert len(stage.timers) == 0
    assert stage.group.abandon(Error.NOT_COORDINATOR) == []


def test_times_in_the_log() -> None:
    """A record tells since when the group is in its state; the expiry of offsets depends on it."""
    stage = Stage(group_settings())
    for line in ("+5", "A > join", "+10", "A > join", "+3000", "+7", "A > sync"):
        stage.perform(line)
    assert stage.group.state_since_ms == 3_022
    stage.perform("A > leave")
    records = [decode_record(*entry) for entry in stage.log]
    times = [
        record.value.current_state_timestamp
        for record in records
        if record is not None and isinstance(record.value, GroupMetadataValue)
    ]
    assert times == [5, 3_015, 3_022]


def test_foreign_timers_are_refused() -> None:
    """A timer that no classic group sets is a mistake of the shard."""
    with pytest.raises(InvariantViolated, match="no timer"):
        new_group().on_timer(("consumer-session", "g", "A"), 0)


def test_late_timers_find_nothing_to_do() -> None:
    """What expired in the same moment as its reason went away does no harm."""
    group = new_group()
    group.replay_metadata(metadata(loaded_member("A")), 0)
    for key in (
        ("classic-session", "g", "gone"),
        ("classic-pending", "g", "A"),
        ("classic-join", "g"),
        ("classic-sync", "g"),
    ):
        assert group.on_timer(key, 1) == Effects()
    assert group.state is ClassicState.STABLE
    assert list(group.members) == ["A"]
