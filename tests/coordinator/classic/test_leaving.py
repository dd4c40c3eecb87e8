"""How members go, told as stories: by LeaveGroup, one by one, several at once, and back."""

from __future__ import annotations

import pytest

from tests.coordinator.classic.story import PAIR, STABLE_PAIR, check


def test_last_member_leaves() -> None:
    """When the last one leaves, the group is empty at once, one generation later."""
    check("""
        A > join v2
        log generation 0 None
        group PreparingRebalance
        +3000
        group CompletingRebalance
        A < generation 1 range leader A#1 as A#1 of A#1
        A > leave
        log generation 2 None
        group Empty
        A < left
        A > leave
        A < UNKNOWN_MEMBER_ID
        A > join as=-
        group PreparingRebalance
        +3000
        group CompletingRebalance
        A < generation 3 range leader A#2 as A#2 of A#2
    """)


def test_leave_batch() -> None:
    """KIP-345: several members leave with one request and one rebalance, each with an outcome."""
    check(
        STABLE_PAIR
        + """
        C > join v3
        group PreparingRebalance
        D > join
        D < MEMBER_ID_REQUIRED D#1
        X > leave B#1 C#1 D#1 nobody B#1 instances=i1
        C < UNKNOWN_MEMBER_ID
        X < left B#1, C#1, D#1, ? UNKNOWN_MEMBER_ID, B#1 UNKNOWN_MEMBER_ID, i1 UNKNOWN_MEMBER_ID
        A > join
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1
        """
    )


def test_leaving_while_waiting_for_the_leader() -> None:
    """A member that is removed while its SyncGroup is parked is answered, and so is the rest."""
    check(
        PAIR
        + """
        B > sync
        X > leave B#1
        group PreparingRebalance
        B < UNKNOWN_MEMBER_ID
        X < left B#1
        """
    )


@pytest.mark.spec("book1:C-29")
def test_awaited_member_leaves() -> None:
    """If the one that everybody waits for leaves, the generation begins at once."""
    check(
        STABLE_PAIR
        + """
        A > join
        group PreparingRebalance
        B > leave
        group CompletingRebalance
        B < left B#1
        A < generation 2 range leader A#1 as A#1 of A#1
        """
    )


def test_return_after_max_poll() -> None:
    """A consumer that was too slow to poll leaves and returns: one rebalance, not two."""
    check(
        STABLE_PAIR.replace("B > join v3", "B > join v4\nB < MEMBER_ID_REQUIRED B#1\nB > join")
        + """
        B > leave
        group PreparingRebalance
        B < left B#1
        B > join as=-
        B < MEMBER_ID_REQUIRED B#2
        A > join
        B > join
        group CompletingRebalance
        A < generation 2 range leader A#1 as A#1 of A#1 B#2
        B < generation 2 range leader A#1 as B#2
        """
    )
