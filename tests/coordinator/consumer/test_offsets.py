"""Who may commit and fetch offsets of a consumer group."""

from __future__ import annotations

import pytest

from headrace.coordinator.group.consumer import check_offset_commit, check_offset_fetch
from headrace.coordinator.group.consumer.member import Member
from headrace.coordinator.group.consumer.persistence import current_record, member_record
from headrace.coordinator.group.modern.state import MemberState
from headrace.errors import ClientFault, Error
from tests.coordinator.consumer.story import Stage, check
from tests.settings import group_settings

# A keeps 0 and 1 of what it had in epoch 2; B got 2 and 3 in epoch 3.
RECONCILED = """
    topic orders 4
    A > join topics=orders
    group Stable
    A < epoch 2 orders:0,1,2,3
    +1000
    B > join topics=orders
    group Reconciling
    B < epoch 3 nothing
    A > heartbeat
    A < epoch 2 orders:0,1
"""
RELEASED = """
    A > heartbeat owned
    A < epoch 3
    B > heartbeat
    group Stable
    B < epoch 3 orders:2,3
"""


def outcome(
    stage: Stage,
    member_id: str,
    epoch: int,
    *partitions: int,
    transactional: bool = False,
    version: int = 9,
) -> Error:
    try:
        per_partition = check_offset_commit(
            stage.consumer_group,
            member_id,
            None,
            epoch,
            is_transactional=transactional,
            version=version,
        )
        for partition in partitions:
            if per_partition is not None:
                per_partition("orders", partition)
    except ClientFault as fault:
        return fault.error
    return Error.NONE


def test_epochs_of_commits() -> None:
    """KIP-1251: an older epoch may commit what the member has owned since then."""
    stage = check(RECONCILED + RELEASED)
    assert outcome(stage, "A", 3, 0, 1, 2, 3) is Error.NONE, "its epoch: it may"
    assert outcome(stage, "A", 2, 0, 1) is Error.NONE, "owned since epoch 2"
    assert outcome(stage, "A", 2, 0, 2) is Error.STALE_MEMBER_EPOCH, "B owns 2"
    assert outcome(stage, "A", 1, 0) is Error.STALE_MEMBER_EPOCH, "it did not own 0 then"
    assert outcome(stage, "B", 2, 2) is Error.STALE_MEMBER_EPOCH, "B owns 2 only since epoch 3"
    assert outcome(stage, "A", 4, 0) is Error.STALE_MEMBER_EPOCH
    assert outcome(stage, "X", 3, 0) is Error.UNKNOWN_MEMBER_ID
    assert outcome(stage, "", -1, 0) is Error.UNKNOWN_MEMBER_ID, "there are members"
    assert outcome(stage, "A", 3, 0, version=8) is Error.UNSUPPORTED_VERSION
    assert outcome(stage, "A", 3, 0, version=3, transactional=True) is Error.NONE
    assert outcome(stage, "", -1, 0, transactional=True) is Error.NONE, "an old producer"
    with pytest.raises(ClientFault, match="does not own"):
        check_offset_commit(
            stage.consumer_group,
            "A",
            None,
            2,
            is_transactional=False,
            version=9,
        )("nosuch", 0)  # type: ignore[misc]


def test_commits_before_partitions_are_given_up() -> None:
    """KIP-848: a member may commit what it is asked to give up until it has."""
    stage = check(RECONCILED)
    assert outcome(stage, "A", 2, 2, 3) is Error.NONE
    stage.perform("A > heartbeat owned")
    assert outcome(stage, "A", 2, 2) is Error.STALE_MEMBER_EPOCH


def test_late_commits_of_what_is_given_up() -> None:
    """KIP-1251: what a member is giving up it may still commit with an older epoch."""
    stage = Stage(group_settings())
    topic_id = stage.topics.create("orders", 2)
    giving = Member(
        member_id="A",
        member_epoch=5,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned={topic_id: {0: 5}},
        revoking={topic_id: {1: 3}},
    )
    stage.write([member_record("g", giving), current_record("g", giving)])
    assert outcome(stage, "A", 4, 1) is Error.NONE
    assert outcome(stage, "A", 2, 1) is Error.STALE_MEMBER_EPOCH
    assert outcome(stage, "A", 4, 0) is Error.STALE_MEMBER_EPOCH


def test_commits_of_a_returned_instance() -> None:
    """KIP-345: an instance that left and returned may commit with its first epoch."""
    stage = check(
        """
        topic orders 1
        A > join topics=orders instance=i
        group Stable
        A < epoch 2 orders:0
        A > leave static
        group Reconciling
        A < epoch -2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0
    """
    )
    assert outcome(stage, "A", 0, 0) is Error.NONE


def test_commits_of_classic_members() -> None:
    """KIP-848: a classic member is told ILLEGAL_GENERATION, and may use any version."""
    stage = check(
        """
        topic orders 1
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0
        +1000
        C > classic-join topics=orders
        group Reconciling
        C < generation 3 range
    """
    )
    assert outcome(stage, "C", 3, 0, version=2) is Error.NONE
    assert outcome(stage, "C", 4, 0, version=2) is Error.ILLEGAL_GENERATION
    assert outcome(stage, "C", 2, 0, version=2) is Error.ILLEGAL_GENERATION
    with pytest.raises(ClientFault) as caught:
        check_offset_fetch(stage.consumer_group, "C", 2)
    assert caught.value.error is Error.ILLEGAL_GENERATION


def test_commits_without_members() -> None:
    """KIP-848: offsets of an empty group may be set by anybody, but not as a member."""
    stage = check(
        """
        topic orders 1
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0
        A > leave
        group Empty
        A < epoch -1
    """
    )
    assert outcome(stage, "", -1, 0) is Error.NONE
    assert outcome(stage, "A", 2, 0) is Error.UNKNOWN_MEMBER_ID


def test_fetches() -> None:
    """KIP-848: a fetch names a member and its epoch, or nobody."""
    stage = check(RECONCILED)
    group = stage.consumer_group
    check_offset_fetch(group, None, -1)
    check_offset_fetch(group, "A", 2)
    for member_id, epoch, error in (
        ("A", 3, Error.STALE_MEMBER_EPOCH),
        ("X", 2, Error.UNKNOWN_MEMBER_ID),
        (None, 2, Error.UNKNOWN_MEMBER_ID),
    ):
        with pytest.raises(ClientFault) as caught:
            check_offset_fetch(group, member_id, epoch)
        assert caught.value.error is error
