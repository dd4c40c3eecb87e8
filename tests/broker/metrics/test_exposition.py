"""Prometheus' text format, and what a declaration becomes in it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.broker.metrics.catalogue import METRICS
from headrace.broker.metrics.declaration import COUNTER, GAUGE, SUMMARY, Metric, Summary, family
from headrace.http.exposition import shown
from tests.broker.metrics.scraping import parse

NOTHING: Any = None


def test_labels_and_help_are_escaped() -> None:
    """Quotes, backslashes and line ends of a value come back as they were."""
    nasty = 'a "quoted" \\ back\nslash'
    metric = Metric("m", GAUGE, "one\\two\nthree", lambda _: [((nasty, "b"), 1)], ("x", "y"))
    text = "".join(family(metric, NOTHING))
    assert text.startswith("# HELP m one\\\\two\\nthree\n# TYPE m gauge\n")
    assert parse(text).value("m", x=nasty, y="b") == 1


def test_an_empty_label_is_left_out() -> None:
    """The sum over all topics is the sample without a topic."""
    metric = Metric("m_total", COUNTER, "help", lambda _: [(("",), 3)], ("topic",))
    assert "".join(family(metric, NOTHING)).splitlines()[-1] == "m_total 3"


def test_a_summary_has_quantiles_sum_and_count() -> None:
    """As Prometheus' own clients write it."""
    value = Summary({"0.5": 1.5, "0.99": float("nan")}, 2, 3.25)
    metric = Metric("m", SUMMARY, "help", lambda _: [(("A",), value)], ("request",))
    assert "".join(family(metric, NOTHING)).splitlines()[2:] == [
        'm{request="A",quantile="0.5"} 1.5',
        'm{request="A",quantile="0.99"} NaN',
        'm_sum{request="A"} 3.25',
        'm_count{request="A"} 2',
    ]


def test_a_family_without_samples_is_not_mentioned() -> None:
    """A type line without a sample helps nobody."""
    assert list(family(Metric("m", GAUGE, "help", lambda _: []), NOTHING)) == []


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "1"),
        (True, "1"),
        (1 << 70, str(1 << 70)),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_numbers(number: float, text: str) -> None:
    """Integers stay exact, the others are what Go's parser reads."""
    assert shown(number) == text


def test_declarations_are_sound() -> None:
    """Names are said once, counters end with `_total`, nothing else does, help is a sentence."""
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))
    for metric in METRICS:
        assert metric.name == metric.name.lower()
        assert (metric.type is COUNTER) == metric.name.endswith("_total"), metric.name
        assert metric.help.endswith((".", "1.")), metric.name
        assert "quantile" not in metric.labels
