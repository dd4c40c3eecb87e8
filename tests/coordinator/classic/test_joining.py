"""How members come into a group, told as stories: ids, generations, rejoins, limits."""

from __future__ import annotations

import pytest

from tests.coordinator.classic.story import PAIR, STABLE_PAIR, check
from tests.settings import group_settings


def test_first_member() -> None:
    """KIP-394, KIP-134: a first member gets an id, joins, waits for others, leads, is assigned."""
    check("""
        A > join
        log generation 0 None
        A < MEMBER_ID_REQUIRED A#1
        A > join
        group PreparingRebalance
        +2999
        +1
        group CompletingRebalance
        A < generation 1 range leader A#1 as A#1 of A#1
        A > sync A#1=all
        log generation 1 range A#1=all
        group Stable
        A < assigned all
        A > heartbeat
        A < alive
    """)


def test_old_clients_join_without_an_id() -> None:
    """JoinGroup v0-v3 know no MEMBER_ID_REQUIRED; in v0 the session timeout bounds a rebalance."""
    check("""
        A > join v0 session=6000
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
        +5999
        +1   # A did not come back: v0 gives it no more than its session
        group CompletingRebalance
        B < generation 2 range leader B#1 as B#1 of B#1
    """)


@pytest.mark.spec("slides:D08", "admin:CO-13", "book1:C-29")
def test_second_member() -> None:
    """A second member joins: the first learns by heartbeat, both get their part of generation 2."""
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
        A > heartbeat
        A < REBALANCE_IN_PROGRESS
        A > sync
        A < REBALANCE_IN_PROGRESS
        A > commit
        A < committed
        A > join
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1 B#1
        B < generation 2 range leader A#1 as B#1
        B > sync
        B > heartbeat
        B < alive
        A > commit
        A < REBALANCE_IN_PROGRESS
        A > sync A#1=half B#1=rest
        log generation 2 range A#1=half B#1=rest
        group Stable
        A < assigned half
        B < assigned rest
        B > sync   # the answer was lost; asking again is free
        B < assigned rest
    """)


def test_new_members_prolong_the_initial_delay() -> None:
    """KIP-134: each newcomer prolongs the wait of an empty group, but never beyond its timeout."""
    check("""
        A > join v3 rebalance=7000
        log generation 0 None
        group PreparingRebalance
        +2000
        B > join v3 rebalance=7000
        +1000   # the first delay is over; B prolongs it
        C > join v3 rebalance=7000
        +2999
        D > join v3 rebalance=7000
        +1   # C and D prolong it by what is left of 7 s
        +999
        +1
        group CompletingRebalance
        A < generation 1 range leader A#1 as A#1 of A#1 B#1 C#1 D#1
        B < generation 1 range leader A#1 as B#1
        C < generation 1 range leader A#1 as C#1
        D < generation 1 range leader A#1 as D#1
    """)


def test_initial_delay_of_the_next_life() -> None:
    """Newcomers of the group's former life do not prolong the initial delay of the next one."""
    check("""
        A > join v3 rebalance=3000
        log generation 0 None
        group PreparingRebalance
        B > join v3 rebalance=3000
        +3000
        group CompletingRebalance
        A < generation 1 range leader A#1 as A#1 of A#1 B#1
        B < generation 1 range leader A#1 as B#1
        X > leave A#1 B#1
        log generation 2 None
        group Empty
        X < left A#1, B#1
        A > join as=- rebalance=60000
        group PreparingRebalance
        +3000
        group CompletingRebalance
        A < generation 3 range leader A#2 as A#2 of A#2
    """)


def test_fifty_members_join_at_once() -> None:
    """While members join at the same time, none of them is told that it is unknown."""
    first = "".join(f"M{i} > join\nM{i} < MEMBER_ID_REQUIRED M{i}#1\n" for i in range(50))
    first = first.replace("M0 <", "log generation 0 None\nM0 <", 1)
    second = "".join(f"M{i} > join\n" for i in range(50))
    second = second.replace("M0 > join\n", "M0 > join\ngroup PreparingRebalance\n", 1)
    everybody = " ".join(f"M{i}#1" for i in range(50))
    answers = "".join(f"M{i} < generation 1 range leader M0#1 as M{i}#1\n" for i in range(50))
    answers = answers.replace("as M0#1", f"as M0#1 of {everybody}", 1)
    check(f"{first}{second}+3000\n+3000\ngroup CompletingRebalance\n{answers}")


def test_members_keep_coming() -> None:
    """A member that got its id during a rebalance is waited for: one generation for all."""
    check(
        STABLE_PAIR
        + """
        C > join v4
        C < MEMBER_ID_REQUIRED C#1
        A > join
        group PreparingRebalance
        B > join
        C > join
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1 B#1 C#1
        B < generation 2 range leader A#1 as B#1
        C < generation 2 range leader A#1 as C#1
        """
    )


def test_pending_member_expires() -> None:
    """KIP-394: an id that nobody joins with is forgotten, and nobody waits for it any longer."""
    check(
        STABLE_PAIR
        + """
        C > join v4 session=6000
        C < MEMBER_ID_REQUIRED C#1
        A > join
        group PreparingRebalance
        B > join
        +5999
        +1   # C#1 never came
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1 B#1
        B < generation 2 range leader A#1 as B#1
        C > join
        C < UNKNOWN_MEMBER_ID C#1
        """
    )


def test_new_member_waits_for_ever() -> None:
    """A new member that is never seen again is dropped after five minutes in the rebalance."""
    check(
        """
        A > join v3 rebalance=900000
        log generation 0 None
        group PreparingRebalance
        B > join v3 rebalance=900000
        +300000   # the wait of an empty group is long here, and A may be long gone
        group CompletingRebalance
        A < UNKNOWN_MEMBER_ID
        B < generation 1 range leader B#1 as B#1 of B#1
        """,
        group_settings(group_initial_rebalance_delay_ms=400_000),
    )


def test_leader_rejoins() -> None:
    """The leader may ask for a rebalance at any time; a follower that says nothing new may not."""
    check(
        STABLE_PAIR
        + """
        B > join
        B < generation 1 range leader A#1 as B#1
        A > join
        group PreparingRebalance
        B > join
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1 B#1
        B < generation 2 range leader A#1 as B#1
        B > join   # the answer was lost
        B < generation 2 range leader A#1 as B#1
        A > join
        A < generation 2 range leader A#1 as A#1 of A#1 B#1
        """
    )


@pytest.mark.spec("admin:CO-12")
def test_changed_metadata_rebalances() -> None:
    """A member with another subscription forces a rebalance, also while others wait to sync."""
    check(
        STABLE_PAIR
        + """
        B > join protocols=range:new
        group PreparingRebalance
        A > join
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1 B#1
        B < generation 2 range leader A#1 as B#1
        A > sync v3 generation=1
        A < ILLEGAL_GENERATION
        B > sync
        B > join protocols=range:newer   # without waiting for the answer
        group PreparingRebalance
        B < REBALANCE_IN_PROGRESS
        A > sync A#1=half B#1=rest
        A < REBALANCE_IN_PROGRESS
        """
    )


def test_repeated_requests_replace_each_other() -> None:
    """A client that lost its connection asks again; what it gave up ends, the new request waits."""
    check(
        PAIR
        + """
        B > sync
        B > sync
        B < REBALANCE_IN_PROGRESS
        A > sync B#1=rest   # the leader forgot itself
        log generation 1 range A#1= B#1=rest
        group Stable
        A < assigned nothing
        B < assigned rest
        A > join
        group PreparingRebalance
        A > join
        A < REBALANCE_IN_PROGRESS A#1
        """
    )


def test_followers_do_not_assign() -> None:
    """What a follower hands in as an assignment is nobody's work."""
    check(
        PAIR
        + """
        B > sync A#1=none B#1=all
        A > sync A#1=half B#1=rest
        log generation 1 range A#1=half B#1=rest
        group Stable
        A < assigned half
        B < assigned rest
        """
    )


def test_maximum_size() -> None:
    """group.max.size: who comes too late is told so; those who are in stay in."""
    check(
        STABLE_PAIR
        + """
        C > join v3
        C < GROUP_MAX_SIZE_REACHED
        A > join
        group PreparingRebalance
        C > join v3   # B has not joined again, its place is free
        B > join
        B < GROUP_MAX_SIZE_REACHED
        +60000
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1 C#1
        C < generation 2 range leader A#1 as C#1
        """,
        group_settings(group_max_size=2),
    )
