"""A plan gives the same records, and the same truth, every time."""

from __future__ import annotations

import pytest

from examples.ip_fraud.rules import CacheIPLookup, address_of, is_fraud
from examples.ip_fraud.traffic import Plan, batches, truth_of

PLAN = Plan(seed=3, ticks=4, records_per_tick=500, period_ms=1_000, begin_ms=10_000, returning=0.3)


def test_the_same_plan_gives_the_same_records() -> None:
    """The generator and whoever checks it draw the same batches."""
    first, second = list(batches(PLAN)), list(batches(PLAN))
    assert first == second
    assert [batch.timestamp_ms for batch in first] == [10_000, 11_000, 12_000, 13_000]
    assert [len(batch.requests) for batch in first] == [500] * 4


def test_another_seed_gives_others() -> None:
    """Records depend on the seed alone."""
    other = Plan(seed=4, ticks=4, records_per_tick=500, begin_ms=10_000, returning=0.3)
    assert list(batches(other)) != list(batches(PLAN))


def test_the_truth_agrees_with_the_rules() -> None:
    """Counted from the octets that were drawn, it is what the rules find in the texts."""
    truth = truth_of(PLAN)
    scanner = CacheIPLookup()
    texts = [sent.text for batch in batches(PLAN) for sent in batch.requests]
    fraud = [text for text in texts if is_fraud(text, scanner)]
    assert truth.records == len(texts) == 2_000
    assert sorted(truth.fraud.elements()) == sorted(fraud)
    assert sorted(truth.hits.elements()) == sorted(map(address_of, fraud))
    assert truth.share == len(fraud) / 2_000
    assert sum(records for records, _ in truth.by_time.values()) == 2_000
    assert sum(found for _, found in truth.by_time.values()) == len(fraud)


@pytest.mark.spec("book2:A1-04", "book1:N-14")
def test_a_plan_without_numbers_is_the_timer_of_the_application() -> None:
    """A record per line of the template, the first after three seconds, then every three."""
    plan = Plan(ticks=2)
    assert (plan.delay_ms, plan.period_ms) == (3_000, 3_000)
    sizes = [len(batch.requests) for batch in batches(plan, lines=["a b c", "d e f"])]
    assert sizes == [2, 2]
