"""What members speak: protocol types, the vote, and what a group refuses."""

from __future__ import annotations

from headrace.coordinator.effects import Caller
from headrace.coordinator.group.classic import handle_sync
from headrace.errors import Error
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.coordinator.classic.story import check
from tests.coordinator.tickets import Ticket


def test_vote() -> None:
    """The protocol that all speak and most prefer wins, even if no single one prefers it first."""
    check("""
        A > join v3 protocols=range,sticky
        log generation 0 None
        group PreparingRebalance
        B > join v3 protocols=own,sticky,range
        C > join v3 protocols=sticky,range
        +3000
        +3000
        group CompletingRebalance
        A < generation 1 sticky leader A#1 as A#1 of A#1 B#1 C#1
        B < generation 1 sticky leader A#1 as B#1
        C < generation 1 sticky leader A#1 as C#1
    """)


def test_inconsistent_protocols() -> None:
    """INCONSISTENT_GROUP_PROTOCOL: another type, nothing in common, or nothing at all."""
    check("""
        A > join v3 type= protocols=range
        log generation 0 None
        A < INCONSISTENT_GROUP_PROTOCOL
        A > join v3 type=consumer protocols=
        A < INCONSISTENT_GROUP_PROTOCOL
        A > join v3 protocols=range,range
        group PreparingRebalance
        B > join v3 type=connect
        B < INCONSISTENT_GROUP_PROTOCOL
        B > join v3 type=consumer protocols=sticky
        B < INCONSISTENT_GROUP_PROTOCOL
        +3000
        group CompletingRebalance
        A < generation 1 range leader A#1 as A#1 of A#1
        A > join protocols=sticky
        A < INCONSISTENT_GROUP_PROTOCOL A#1
    """)


def test_sync_with_another_protocol() -> None:
    """KIP-559: SyncGroup v5 names the protocol, and must name the one that was agreed on."""
    stage = check("""
        A > join v7
        log generation 0 None
        A < MEMBER_ID_REQUIRED A#1
        A > join
        group PreparingRebalance
        +3000
        group CompletingRebalance
        A < generation 1 range leader A#1 as A#1 of A#1
        A > sync protocol=sticky
        A < INCONSISTENT_GROUP_PROTOCOL
        A > sync type=connect
        A < INCONSISTENT_GROUP_PROTOCOL
        A > sync as=nobody
        A < UNKNOWN_MEMBER_ID
        A > sync A#1=x
        log generation 1 range A#1=x
        group Stable
        A < assigned x
    """)
    request = SyncGroupRequest(
        group_id="g", generation_id=1, member_id=stage.clients["A"].member_id, assignments=[]
    )
    caller: Caller[SyncGroupResponse] = Caller(Ticket(0), "A", "/127.0.0.1", 5)
    (reply,) = handle_sync(stage.group, request, caller, stage.now_ms).replies
    assert isinstance(reply.response, SyncGroupResponse)
    assert reply.response.error_code == Error.INCONSISTENT_GROUP_PROTOCOL


def test_session_timeout_has_limits() -> None:
    """INVALID_SESSION_TIMEOUT outside of what the broker allows; no group comes of it."""
    stage = check("""
        A > join v3 session=5999
        A < INVALID_SESSION_TIMEOUT
        A > join session=1800001
        A < INVALID_SESSION_TIMEOUT
        A > join session=1800000
        log generation 0 None
        group PreparingRebalance
    """)
    assert stage.group.is_recorded


def test_next_kind_of_group() -> None:
    """An empty group forgets its protocol type as soon as somebody of another one joins."""
    check("""
        A > join v3 type=connect protocols=eager
        log generation 0 None
        group PreparingRebalance
        +3000
        group CompletingRebalance
        A < generation 1 eager leader A#1 as A#1 of A#1
        A > leave
        log generation 2 None
        group Empty
        A < left A#1
        B > join v3
        group PreparingRebalance
        +3000
        group CompletingRebalance
        B < generation 3 range leader B#1 as B#1 of B#1
    """)
