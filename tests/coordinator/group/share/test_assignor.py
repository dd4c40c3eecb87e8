"""The assignor `simple`: everybody busy, everything read, as little moved as possible."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from headrace.coordinator.group.share.assignor import assign_simple, share_out

ORDERS, LOGS = UUID(int=1), UUID(int=2)
MEMBERS = st.lists(st.text("abcdefghij", min_size=1, max_size=2), unique=True, max_size=12)


@given(st.integers(1, 9), MEMBERS, MEMBERS)
def test_partitions_are_shared_evenly(count: int, before: list[str], after: list[str]) -> None:
    """Each partition has equally many readers, each member equally many partitions but for one;
    members who come and go do not change that."""
    partitions = [(ORDERS, number) for number in range(count)]
    first = share_out(partitions, sorted(before), {})
    shares = share_out(partitions, sorted(after), first)
    assert shares.keys() == set(after)
    if not after:
        return
    readers = Counter(each for share in shares.values() for each in share)
    assert set(readers) == set(partitions)
    assert set(readers.values()) == {-(-len(after) // count)}
    sizes = {len(share) for share in shares.values()}
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 9), MEMBERS)
def test_nothing_moves_without_a_reason(count: int, members: list[str]) -> None:
    """The same members and partitions: the same assignment, once there is one."""
    partitions = [(ORDERS, number) for number in range(count)]
    first = share_out(partitions, sorted(members), {})
    assert share_out(partitions, sorted(members), first) == first


def test_a_member_keeps_what_it_had() -> None:
    """A second member takes half; the first one keeps the other half."""
    subscriptions = {"A": frozenset({ORDERS})}
    first = assign_simple(subscriptions, {ORDERS: range(4)}, {})
    second = assign_simple({**subscriptions, "B": frozenset({ORDERS})}, {ORDERS: range(4)}, first)
    assert second["A"][ORDERS] == {0, 1}
    assert second["B"][ORDERS] == {2, 3}


def test_different_subscriptions() -> None:
    """Each topic is shared out among its own subscribers."""
    subscriptions = {
        "A": frozenset({ORDERS}),
        "B": frozenset({LOGS}),
        "C": frozenset({ORDERS, LOGS}),
    }
    targets = assign_simple(subscriptions, {ORDERS: range(4), LOGS: range(2)}, {})
    assert {len(targets[member].get(ORDERS, ())) for member in "AC"} == {2}
    assert {len(targets[member].get(LOGS, ())) for member in "BC"} == {1}
    assert LOGS not in targets["A"]
    assert ORDERS not in targets["B"]


def test_nothing_to_share_out() -> None:
    """Topics without state yet give nothing to anybody, and nobody gets anything from nothing."""
    assert assign_simple({"A": frozenset({ORDERS})}, {}, {}) == {"A": {}}
    assert assign_simple({}, {ORDERS: range(3)}, {}) == {}
