"""What a group does when members fall silent or late, told as stories."""

from __future__ import annotations

import pytest

from tests.coordinator.classic.story import PAIR, STABLE_PAIR, check


def test_leader_dies_before_sync() -> None:
    """The leader vanishes before it assigns: its session ends, the follower leads the next one."""
    check(
        PAIR
        + """
        B > sync
        +9000
        +1000   # a follower that waits needs no heartbeats
        group PreparingRebalance
        B < REBALANCE_IN_PROGRESS
        B > join
        group CompletingRebalance
        B < generation 2 range leader B#1 as B#1 of B#1
        B > sync B#1=all
        log generation 2 range B#1=all
        group Stable
        B < assigned all
        """
    )


@pytest.mark.spec("slides:D31", "admin:CO-16", "book1:C-08", "book1:C-25")
def test_follower_dies() -> None:
    """A follower stops its heartbeats: after its session the rest rebalances without it."""
    check(
        STABLE_PAIR
        + """
        +6000
        A > heartbeat
        A < alive
        +4000
        group PreparingRebalance
        A > heartbeat
        A < REBALANCE_IN_PROGRESS
        A > join
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1
        B > heartbeat
        B < UNKNOWN_MEMBER_ID
        """
    )


def test_commits_keep_the_session() -> None:
    """A commit of offsets is a sign of life, as a heartbeat is; in a transaction it is not."""
    check(
        STABLE_PAIR
        + """
        +9000
        A > commit
        A < committed
        B > commit transactional=yes
        B < committed
        +1000
        group PreparingRebalance
        B > commit
        B < UNKNOWN_MEMBER_ID
        +8000
        A > commit
        A < committed
        +9999
        +1
        log generation 2 None
        group Empty
        """
    )


def test_waiting_for_the_leader_longer_than_a_session() -> None:
    """A follower whose SyncGroup waits is alive; its session starts anew with the answer."""
    check(
        PAIR
        + """
        B > sync
        +9000
        A > heartbeat
        A < alive
        +9000
        A > sync A#1=half B#1=rest
        log generation 1 range A#1=half B#1=rest
        group Stable
        A < assigned half
        B < assigned rest
        +9000
        A > heartbeat
        A < alive
        +1000
        group PreparingRebalance
        B > heartbeat
        B < UNKNOWN_MEMBER_ID
        """
    )


def test_member_vanishes_mid_rebalance() -> None:
    """A member that is awaited dies: the rebalance goes on as soon as its session is over."""
    check(
        STABLE_PAIR
        + """
        C > join v3
        group PreparingRebalance
        A > join
        +9999
        +1
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1 C#1
        C < generation 2 range leader A#1 as C#1
        """
    )


def test_leader_vanishes_mid_rebalance() -> None:
    """If the leader does not join again, one who did leads the next generation."""
    check(
        STABLE_PAIR
        + """
        C > join v3
        group PreparingRebalance
        B > join
        +10000
        group CompletingRebalance
        B < generation 2 range leader B#1 as B#1 of B#1 C#1
        C < generation 2 range leader B#1 as C#1
        """
    )


def test_slow_joiner_is_dropped() -> None:
    """KIP-62: alive by its heartbeats but not back in time, a member is out of the generation."""
    check(
        STABLE_PAIR.replace("A > join v3", "A > join v3 rebalance=15000").replace(
            "B > join v3", "B > join v3 rebalance=12000"
        )
        + """
        A > join
        group PreparingRebalance
        +9000
        B > heartbeat
        B < REBALANCE_IN_PROGRESS
        +5999
        +1
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1
        B > join
        B < UNKNOWN_MEMBER_ID B#1
        B > join
        group PreparingRebalance
        """
    )


def test_all_members_are_too_slow() -> None:
    """If nobody joins again, the group is empty, and says so in the log."""
    check(
        STABLE_PAIR.replace("> join v3", "> join v3 rebalance=7000")
        + """
        B > leave
        group PreparingRebalance
        B < left B#1
        +7000
        log generation 2 None
        group Empty
        A > heartbeat
        A < UNKNOWN_MEMBER_ID
        A > sync
        A < UNKNOWN_MEMBER_ID
        """
    )


def test_member_that_never_syncs_is_dropped() -> None:
    """KAFKA-13572: who joins, sends heartbeats, but does not sync in time is removed."""
    check(
        PAIR.replace("> join v3", "> join v3 rebalance=8000")
        + """
        A > sync A#1=half B#1=rest
        log generation 1 range A#1=half B#1=rest
        group Stable
        A < assigned half
        +7000
        B > heartbeat
        B < alive
        A > heartbeat
        A < alive
        +1000
        group PreparingRebalance
        B > sync
        B < UNKNOWN_MEMBER_ID
        A > join
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1
        """
    )


def test_leader_that_never_syncs_is_dropped() -> None:
    """A leader that lives but does not assign is removed; who waited for it is told to join."""
    check(
        PAIR.replace("> join v3", "> join v3 rebalance=8000")
        + """
        B > sync
        +7000
        A > heartbeat
        A < alive
        +1000
        group PreparingRebalance
        B < REBALANCE_IN_PROGRESS
        B > join
        group CompletingRebalance
        B < generation 2 range leader B#1 as B#1 of B#1
        """
    )


def test_commit_of_an_old_generation() -> None:
    """Commits are fenced by generation and member; generation -1 is for groups without members."""
    check(
        """
        X > commit generation=-1
        X < committed
        """
        + STABLE_PAIR
        + """
        A > commit generation=0
        A < ILLEGAL_GENERATION
        A > commit generation=2
        A < ILLEGAL_GENERATION
        X > commit generation=1
        X < UNKNOWN_MEMBER_ID
        X > commit generation=-1
        X < UNKNOWN_MEMBER_ID
        X > commit generation=-1 transactional=yes
        X < committed
        A > commit generation=0 transactional=yes
        A < ILLEGAL_GENERATION
        A > heartbeat generation=0
        A < ILLEGAL_GENERATION
        """
    )
