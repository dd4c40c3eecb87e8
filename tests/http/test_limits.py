"""Buckets of permits: their rate, their burst, and how many of them are kept."""

from __future__ import annotations

from headrace.http.limits import MAX_CLIENTS, RateLimit


def test_a_bucket_fills_at_its_rate() -> None:
    """The burst at once, then one permit per interval; clients do not share."""
    limit = RateLimit(2.0, 3)
    assert [limit.wait_s("a", 10.0) for _ in range(4)] == [0, 0, 0, 1]
    assert limit.wait_s("b", 10.0) == 0
    assert [limit.wait_s("a", 10.5), limit.wait_s("a", 10.5)] == [0, 1]
    assert [limit.wait_s("a", 1000.0) for _ in range(4)] == [0, 0, 0, 1]


def test_buckets_are_bounded() -> None:
    """Clients that come and go do not fill the memory."""
    limit = RateLimit(1.0, 1)
    for number in range(MAX_CLIENTS + 50):
        limit.wait_s(str(number), 0.0)
    assert limit.wait_s(str(MAX_CLIENTS + 49), 0.0) == 1
    assert limit.wait_s("0", 0.0) == 0


def test_a_permit_may_be_given_back() -> None:
    """It can be taken again; a bucket never holds more than its burst."""
    limit = RateLimit(0.1, 2)
    assert [limit.wait_s("a", 0.0), limit.wait_s("a", 0.0)] == [0, 0]
    limit.give_back("a")
    assert [limit.wait_s("a", 0.0), limit.wait_s("a", 0.0)] == [0, 10]
    for _ in range(5):
        limit.give_back("b")
    assert [limit.wait_s("b", 0.0) for _ in range(3)] == [0, 0, 10]
