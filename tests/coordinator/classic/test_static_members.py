"""Static members keep their place over a restart (KIP-345, KIP-814), told as stories."""

from __future__ import annotations

from tests.coordinator.classic.story import check
from tests.settings import group_settings

STATIC_PAIR = """
    A > join instance=a
    log generation 0 None
    group PreparingRebalance
    B > join instance=b
    +3000
    +3000
    group CompletingRebalance
    A < generation 1 range leader a#1 as a#1 of a#1 b#1
    B < generation 1 range leader a#1 as b#1
    A > sync a#1=half b#1=rest
    log generation 1 range a#1=half b#1=rest
    group Stable
    A < assigned half
    B > sync
    B < assigned rest
"""


def test_follower_restarts_inside_its_session() -> None:
    """KIP-345: a static follower that returns in time keeps its work; nobody else notices."""
    check(
        STATIC_PAIR
        + """
        +9000
        A > heartbeat
        A < alive
        B > join as=-
        log generation 1 range a#1=half b#2=rest
        B < generation 1 range leader a#1 as b#2
        B > sync
        B < assigned rest
        A > heartbeat
        A < alive
        +9000
        B > heartbeat
        B < alive
        """
    )


def test_leader_restarts_inside_its_session() -> None:
    """KIP-814: a static leader that returns sees all members, and is told not to assign."""
    check(
        STATIC_PAIR
        + """
        A > join as=-
        log generation 1 range b#1=rest a#2=half
        A < generation 1 range leader a#2 as a#2 of b#1 a#2 without assigning
        A > sync
        A < assigned half
        B > heartbeat
        B < alive
        """
    )


def test_old_leader_restarts_inside_its_session() -> None:
    """Before v9 a static leader that returns takes itself for a follower of its former self."""
    check(
        STATIC_PAIR.replace("A > join instance", "A > join v8 instance")
        + """
        A > join as=-
        log generation 1 range b#1=rest a#2=half
        A < generation 1 range leader a#1 as a#2
        A > sync
        A < assigned half
        A > join   # it is the leader all the same, so this is a rebalance
        group PreparingRebalance
        """
    )


def test_restart_outside_the_session() -> None:
    """A static member that is away for longer is removed, and joins like a new one."""
    check(
        STATIC_PAIR
        + """
        +6000
        A > heartbeat
        A < alive
        +4000
        group PreparingRebalance
        A > join
        group CompletingRebalance
        A < generation 2 range leader a#1 as a#1 of a#1
        A > sync a#1=all
        log generation 2 range a#1=all
        group Stable
        A < assigned all
        B > heartbeat
        B < UNKNOWN_MEMBER_ID
        B > join as=-
        group PreparingRebalance
        A > join
        group CompletingRebalance
        A < generation 3 range leader a#1 as a#1 of a#1 b#2
        B < generation 3 range leader a#1 as b#2
        """
    )


def test_two_instances_with_one_instance_id() -> None:
    """A second process with the same instance id takes over; the first one is fenced everywhere."""
    check(
        STATIC_PAIR
        + """
        C > join instance=b
        log generation 1 range a#1=half b#2=rest
        C < generation 1 range leader a#1 as b#2
        B > heartbeat
        B < FENCED_INSTANCE_ID
        B > sync
        B < FENCED_INSTANCE_ID
        B > commit
        B < FENCED_INSTANCE_ID
        B > join
        B < FENCED_INSTANCE_ID b#1
        B > leave
        B < left b FENCED_INSTANCE_ID
        C > heartbeat
        C < alive
        """
    )


def test_parked_requests_of_a_fenced_instance() -> None:
    """KIP-345: a join or sync that waits when its instance is taken over is answered at once."""
    check("""
        A > join instance=a
        log generation 0 None
        group PreparingRebalance
        B > join instance=a
        A < FENCED_INSTANCE_ID a#1
        C > join instance=c
        +3000
        +3000
        group CompletingRebalance
        B < generation 1 range leader a#2 as a#2 of a#2 c#1
        C < generation 1 range leader a#2 as c#1
        C > sync
        D > join instance=c   # the leader may be assigning work to c#1 right now
        group PreparingRebalance
        C < FENCED_INSTANCE_ID
        B > sync a#2=x c#1=y
        B < REBALANCE_IN_PROGRESS
        B > join
        group CompletingRebalance
        B < generation 2 range leader a#2 as a#2 of a#2 c#2
        D < generation 2 range leader a#2 as c#2
    """)


def test_return_during_a_rebalance() -> None:
    """A static member that returns while the group waits for it completes the rebalance."""
    check(
        STATIC_PAIR
        + """
        A > join
        group PreparingRebalance
        B > join as=-
        group CompletingRebalance
        A < generation 2 range leader a#1 as a#1 of a#1 b#2
        B < generation 2 range leader a#1 as b#2
        """
    )


def test_return_with_another_protocol() -> None:
    """If the return of a static member changes the vote, the group must rebalance."""
    check(
        """
        A > join instance=a protocols=range,sticky
        log generation 0 None
        group PreparingRebalance
        +3000
        group CompletingRebalance
        A < generation 1 range leader a#1 as a#1 of a#1
        A > sync a#1=all
        log generation 1 range a#1=all
        group Stable
        A < assigned all
        A > join as=- protocols=sticky,range
        group PreparingRebalance
        group CompletingRebalance
        A < generation 2 sticky leader a#2 as a#2 of a#2
    """.replace("        group PreparingRebalance\n        group Comp", "        group Comp")
    )


def test_silent_static_members_are_waited_for() -> None:
    """The rebalance timeout does not remove static members; the end of their session does."""
    story = STATIC_PAIR.replace("instance=a", "instance=a rebalance=7000").replace(
        "instance=b", "instance=b rebalance=7000 session=30000"
    )
    check(
        story
        + """
        A > join
        group PreparingRebalance
        +7000
        group CompletingRebalance
        A < generation 2 range leader a#1 as a#1 of a#1 b#1
        """
    )
    check(
        story
        + """
        X > leave instances=a
        group PreparingRebalance
        X < left a
        +7000   # nobody joined, but b may come back
        +7000
        B > heartbeat
        B < REBALANCE_IN_PROGRESS
        B > join
        group CompletingRebalance
        B < generation 2 range leader b#1 as b#1 of b#1
        """
    )
    check(
        story
        + """
        X > leave instances=a
        group PreparingRebalance
        X < left a
        +30000
        log generation 2 None
        group Empty
        """
    )


def test_removal_by_instance_id() -> None:
    """KIP-345: an administrator removes static members by instance id alone."""
    check(
        STATIC_PAIR
        + """
        X > leave instances=a,c,b
        log generation 2 None
        group Empty
        X < left a, c UNKNOWN_MEMBER_ID, b
        """
    )


def test_unknown_instance() -> None:
    """An instance id that the group does not know is an unknown member, whatever its member id."""
    check(
        STATIC_PAIR
        + """
        C > join instance=c as=a#1
        C < UNKNOWN_MEMBER_ID a#1
        D > heartbeat as=d generation=1
        D < UNKNOWN_MEMBER_ID
        """
    )


def test_return_after_a_restart_of_the_coordinator() -> None:
    """The new id of a static member is in the log before it is told, so it survives a failover."""
    check(
        STATIC_PAIR
        + """
        B > join as=-
        log generation 1 range a#1=half b#2=rest
        B < generation 1 range leader a#1 as b#2
        restart
        group Stable
        B > heartbeat
        B < alive
        B > sync
        B < assigned rest
        B > heartbeat as=b#1
        B < FENCED_INSTANCE_ID
        """
    )


def test_restart_before_the_first_sync() -> None:
    """A static member that restarts before it has synced still has to, and nobody else has."""
    check(
        STATIC_PAIR.replace("instance=b", "instance=b rebalance=9000")
        .replace("instance=a", "instance=a rebalance=9000")
        .replace("    B > sync\n    B < assigned rest\n", "")
        + """
        +8000
        B > join as=-
        log generation 1 range a#1=half b#2=rest
        B < generation 1 range leader a#1 as b#2
        A > heartbeat
        A < alive
        +999
        B > sync
        B < assigned rest
        +1
        A > heartbeat
        A < alive
        """
    )


def test_return_during_the_initial_delay() -> None:
    """A static member that returned is known to wait, and needs no heartbeats meanwhile."""
    check(
        """
        A > join instance=a
        log generation 0 None
        group PreparingRebalance
        A > join as=-
        A < FENCED_INSTANCE_ID a#1
        +19999
        +1
        group CompletingRebalance
        A < generation 1 range leader a#2 as a#2 of a#2
        """,
        group_settings(group_initial_rebalance_delay_ms=20_000),
    )


def test_one_of_the_silent_returns() -> None:
    """A rebalance that nobody joined is tried again; who has joined by then goes on."""
    check("""
        A > join instance=a rebalance=7000 session=60000
        log generation 0 None
        group PreparingRebalance
        B > join instance=b rebalance=7000 session=60000
        C > join
        C < MEMBER_ID_REQUIRED C#1
        C > join
        +3000
        +3000
        group CompletingRebalance
        A < generation 1 range leader a#1 as a#1 of a#1 b#1 C#1
        B < generation 1 range leader a#1 as b#1
        C < generation 1 range leader a#1 as C#1
        C > leave
        group PreparingRebalance
        C < left C#1
        +7000
        +1000
        B > join
        +6000
        group CompletingRebalance
        B < generation 2 range leader b#1 as b#1 of a#1 b#1
    """)


def test_commit_of_an_instance_without_member_id() -> None:
    """Who names an instance id must be that instance, also in a transaction of an old client."""
    check(
        STATIC_PAIR
        + """
        B > commit as=- generation=-1 transactional=yes
        B < FENCED_INSTANCE_ID
        """
    )


def test_pending_member_becomes_static() -> None:
    """An id that was given to a dynamic member cannot be used with an instance id."""
    check("""
        A > join
        log generation 0 None
        A < MEMBER_ID_REQUIRED A#1
        A > join instance=a
        A < UNKNOWN_MEMBER_ID A#1
    """)


def test_impatient_static_member() -> None:
    """Silent members with a tiny rebalance timeout do not keep the coordinator busy."""
    stage = check("""
        A > join instance=a rebalance=-7
        log generation 0 None
        group PreparingRebalance
        B > join instance=b rebalance=1
        +3000
        group CompletingRebalance
        A < generation 1 range leader a#1 as a#1 of a#1 b#1
        B < generation 1 range leader a#1 as b#1
        A > sync
        log generation 1 range a#1= b#1=
        group Stable
        A < assigned nothing
        B > sync
        B < assigned nothing
        X > leave instances=a
        group PreparingRebalance
        X < left a
        +501
    """)
    assert stage.timers.deadline_ms(stage.group.join_timer) == stage.now_ms + 500
