"""Rates and buckets: what is remembered of somebody's use, and how long it must wait."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.quotas.buckets import TokenBucket
from headrace.quotas.meters import Meters
from headrace.quotas.rates import LONGEST_THROTTLE_MS, QuotaWindow, SampledRate
from tests.generated import examples

WINDOW = QuotaWindow(samples=11, size_ms=1_000)


def test_a_beginner_has_used_nothing_for_all_windows_but_one() -> None:
    """The first use is divided by `samples - 1` windows: a burst of so much is no violation."""
    rate = SampledRate()
    rate.record(5_000, 1_000, WINDOW)
    assert rate.per_second(1_000, WINDOW) == 500
    assert rate.throttle_ms(500, 1_000, WINDOW) == 0
    # (500 - 400) / 400 of ten seconds.
    assert rate.throttle_ms(400, 1_000, WINDOW) == 2_500


@pytest.mark.parametrize(
    ("limit", "at_ms", "wait_ms"),
    [
        # 10,000 at 0 and 10,000 at 500: 20,000 in 10 s and half of the current window.
        (2_000, 500, 0),
        (1_000, 500, 9_500),
        (1_900, 500, 26),
        # Later the same use weighs less, until a second is left of the rate's time.
        (1_000, 10_500, 9_500),
        (1_000, 11_499, 8_501),
        (1_000, 11_500, 0),
    ],
)
def test_the_wait_brings_the_rate_down_to_the_limit(limit: int, at_ms: int, wait_ms: int) -> None:
    """Vectors of Kafka's formula: (rate - limit) / limit of the time in which it was measured."""
    rate = SampledRate()
    rate.record(10_000, 0, WINDOW)
    rate.record(10_000, 500, WINDOW)
    assert rate.throttle_ms(limit, at_ms, WINDOW) == wait_ms


def test_whoever_waited_as_told_is_at_its_limit() -> None:
    """After the wait the rate is the limit, and the next use is measured from there."""
    rate = SampledRate()
    rate.record(15_000, 0, WINDOW)
    wait_ms = rate.throttle_ms(1_000, 0, WINDOW)
    assert wait_ms == 5_000
    # Nothing but time has passed: less than ten windows, so the rate's time has not grown yet.
    assert rate.per_second(wait_ms, WINDOW) == 1_500
    assert rate.per_second(11_000 - 1, WINDOW) == pytest.approx(15_000 / 10.999)
    assert rate.per_second(11_000, WINDOW) == 0


def test_what_was_given_back_was_never_used() -> None:
    rate = SampledRate()
    rate.record(9_000, 0, WINDOW)
    rate.record(-9_000, 3, WINDOW)
    assert rate.per_second(3, WINDOW) == 0


def test_a_wait_fits_into_its_field() -> None:
    """However small the limit and large the use, the answer can tell the wait."""
    rate, bucket = SampledRate(), TokenBucket()
    rate.record(1e300, 0, WINDOW)
    bucket.take(1e300, 1e-300, 0, WINDOW)
    assert rate.throttle_ms(1e-300, 0, WINDOW) == LONGEST_THROTTLE_MS
    assert 0 < bucket.throttle_ms(1e-300, 0, WINDOW) <= LONGEST_THROTTLE_MS


@settings(max_examples=examples(40), deadline=None)
@given(
    sizes=st.lists(st.integers(1, 1_000), min_size=20, max_size=40),
    pauses_ms=st.lists(st.integers(0, 400), min_size=40, max_size=40),
    samples=st.integers(2, 12),
)
def test_whoever_obeys_uses_no_more_than_its_limit(
    sizes: list[int], pauses_ms: list[int], samples: int
) -> None:
    """Beyond one window and the latest use, the limit holds from the beginning to any moment.

    As long as a request is not more than a window allows: of more, Kafka's formula forgives a part.
    """
    window, rate, limit = QuotaWindow(samples, 1_000), SampledRate(), 1_000
    now_ms, used = 0, 0
    for size, pause_ms in zip(sizes, pauses_ms, strict=False):
        rate.record(size, now_ms, window)
        used += size
        assert used <= limit * (now_ms + window.span_ms) / 1000 + max(sizes)
        now_ms += rate.throttle_ms(limit, now_ms, window) + pause_ms


def test_a_bucket_begins_full_and_fills_with_time() -> None:
    """KIP-599's own example: 5 a second for 11 seconds make a bucket of 55."""
    bucket = TokenBucket()
    assert bucket.tokens(5, 0, WINDOW) == 55
    bucket.take(80, 5, 0, WINDOW)
    assert bucket.tokens(5, 0, WINDOW) == -25
    assert bucket.throttle_ms(5, 0, WINDOW) == 5_000
    assert bucket.throttle_ms(5, 4_999, WINDOW) == 1
    assert bucket.throttle_ms(5, 5_000, WINDOW) == 0
    assert bucket.tokens(5, 60_000, WINDOW) == 55


def test_a_bucket_follows_its_limit() -> None:
    """A lower limit makes the bucket smaller at once."""
    bucket = TokenBucket()
    assert bucket.tokens(10, 0, WINDOW) == 110
    assert bucket.tokens(1, 0, WINDOW) == 11


def test_any_number_of_strangers_is_forgotten() -> None:
    """Memory is bounded by who came in two idle times; who stays is known all the time."""
    meters = Meters(SampledRate, 1_000)
    regular = meters.of("regular", 0)
    most = 0
    for number in range(300_000):
        now_ms = number // 10
        meters.of(number, now_ms)
        if number % 5_000 == 0:
            assert meters.of("regular", now_ms) is regular
            most = max(most, len(meters))
    assert most <= 20_002
    assert meters.of("regular", 200_000) is not regular


def test_a_meter_that_was_forgotten_is_like_a_new_one() -> None:
    """Nothing is lost with it: whatever it had counted is too old to count."""
    idle = SampledRate()
    idle.record(1e9, 0, WINDOW)
    at_ms = WINDOW.span_ms
    assert idle.used(at_ms, WINDOW) == SampledRate().used(at_ms, WINDOW) == 0
    idle.record(7, at_ms, WINDOW)
    fresh = SampledRate()
    fresh.record(7, at_ms, WINDOW)
    for now_ms in range(at_ms, at_ms + 15_000, 500):
        assert idle.per_second(now_ms, WINDOW) == fresh.per_second(now_ms, WINDOW)
