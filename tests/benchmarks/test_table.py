"""The arithmetic of the side-by-side benchmarks: ratios, verdicts and the table."""

from __future__ import annotations

import pytest

from benchmarks.table import (
    MET,
    NO_RATIO,
    NO_TARGET,
    NOT_MET,
    OURS,
    THEIRS,
    Metric,
    Ratio,
    Row,
    Samples,
    Target,
    at_least,
    at_most,
    build_lines,
    format_table,
    format_value,
    missed,
    ratio_of,
)

RATE = Metric("rate", "1/s", at_least(1.0))
CPU = Metric("cpu", "s", at_most(0.5))
SHOWN = Metric("p99", "ms")


def measured(metric: Metric, ours: list[float], theirs: list[float]) -> Samples:
    samples = Samples(Row("case", "label", (metric,)))
    samples.of(OURS).extend({metric.key: value} for value in ours)
    samples.of(THEIRS).extend({metric.key: value} for value in theirs)
    return samples


def verdict(metric: Metric, ours: list[float], theirs: list[float]) -> str:
    samples = measured(metric, ours, theirs)
    (line,) = build_lines([samples], [samples.row])
    return line.verdict


def test_ratio_is_taken_within_a_repetition() -> None:
    """A machine that slows down for both brokers leaves the ratio as it was."""
    assert ratio_of([100, 10, 50], [200, 20, 100]) == Ratio(0.5, 0.5, 0.5)


def test_ratio_shows_median_and_spread() -> None:
    """One odd repetition widens the spread and does not move the median."""
    assert ratio_of([1, 2, 9], [1, 1, 1]) == Ratio(2, 1, 9)


@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([1.0], []), ([1.0], [0.0])])
def test_no_ratio_without_a_pair_to_divide(ours: list[float], theirs: list[float]) -> None:
    """Missing repetitions and a zero of Kafka's give no ratio instead of an error."""
    assert ratio_of(ours, theirs) is None


def test_repetition_with_a_zero_of_kafka_is_left_out() -> None:
    """CPU time below one clock tick reads as zero; the other repetitions still count."""
    assert ratio_of([1, 3], [0, 1]) == Ratio(3, 3, 3)


@pytest.mark.parametrize(
    ("target", "ratio", "holds"),
    [
        (at_least(1.0), 1.0, True),
        (at_least(1.0), 0.99, False),
        (at_most(0.5), 0.5, True),
        (at_most(0.5), 0.51, False),
    ],
)
def test_target_includes_its_bound(target: Target, ratio: float, holds: bool) -> None:
    """A ratio exactly at the bound meets the target, in either direction."""
    assert target.holds(ratio) is holds


def test_verdict_follows_the_median() -> None:
    """One bad repetition of three does not miss a target; two do."""
    assert verdict(RATE, [2, 2, 1], [1, 1, 2]) == MET
    assert verdict(RATE, [2, 1, 1], [1, 2, 2]) == NOT_MET
    assert verdict(CPU, [1, 1, 1], [4, 4, 1]) == MET


def test_metric_without_target_is_not_judged() -> None:
    """A number that is only shown has no verdict, and its absence misses nothing."""
    assert verdict(SHOWN, [5], [1]) == NO_TARGET
    samples = measured(SHOWN, [], [])
    assert missed(build_lines([samples], [samples.row])) == []


def test_target_without_ratio_counts_as_missed() -> None:
    """What was not shown to hold must not pass under --strict."""
    assert verdict(RATE, [5], []) == NO_RATIO
    samples = measured(RATE, [5], [])
    assert len(missed(build_lines([samples], [samples.row]))) == 1


def test_lines_follow_the_declared_order() -> None:
    """The table has the cases' order, whatever was measured first."""
    first, second = Row("a", "x", (RATE,)), Row("b", "y", (RATE, SHOWN))
    lines = build_lines([Samples(second), Samples(first)], [first, second])
    assert [(line.case, line.metric.key) for line in lines] == [
        ("a", "rate"),
        ("b", "rate"),
        ("b", "p99"),
    ]


def test_table_shows_medians_ratio_spread_and_verdict() -> None:
    """A person reads one line per metric; numbers stand under their headings."""
    samples = measured(RATE, [900, 1200, 1500], [1000, 1000, 1000])
    head, rule, line = format_table(build_lines([samples], [samples.row])).splitlines()
    cells = [cell for cell in line.split("  ") if cell]
    values = ["1,200", "1,000", "1.20", "0.90..1.50", "≥ 1", "met"]
    assert [cell.strip() for cell in cells] == ["case", "label", "rate [1/s]", *values]
    assert head.index("ratio") + len("ratio") == line.index("1.20") + len("1.20")
    assert set(rule) == {"-", " "}


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.01234, "0.0123"), (12.345, "12.3"), (999.4, "999"), (1234567.8, "1,234,568")],
)
def test_values_have_three_digits(value: float, text: str) -> None:
    """No more precision is shown than a measurement has."""
    assert format_value(value) == text
