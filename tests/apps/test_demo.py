"""The checks and the plot of `make demo`; the run itself is what everybody sees."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from examples.ip_fraud.demo.checking import Findings, by_second, check
from examples.ip_fraud.demo.plot import draw
from examples.ip_fraud.demo.results import Figures
from examples.ip_fraud.generator import arguments_of
from examples.ip_fraud.on_spark import FRAUD_TOPIC, HITS_TOPIC, SHARE_TOPIC
from examples.ip_fraud.rules import FraudRow, fraud_row
from examples.ip_fraud.traffic import Plan, truth_of

PLAN = Plan(seed=2, ticks=8, records_per_tick=500, period_ms=500, begin_ms=10_250, returning=0.25)


def perfect() -> Findings:
    """What a run leaves that has found exactly the truth."""
    truth = truth_of(PLAN)
    figures = Figures(Counter(truth.fraud), dict(truth.hits), by_second(truth))
    rows = (fraud_row(text) for text in truth.fraud.elements())
    return Findings(PLAN, truth, figures, Counter(row for row in rows if row is not None))


def wrong(findings: Findings) -> list[str]:
    return [found.text for found in check(findings) if not found.right]


def test_the_truth_passes() -> None:
    """Ticks of half a second meet in windows of a whole one."""
    findings = perfect()
    assert wrong(findings) == []
    assert list(findings.figures.by_second) == [10_000, 11_000, 12_000, 13_000]


def test_one_record_too_few_is_found() -> None:
    """In the topic, in the table, in the hits and in the seconds, each by itself."""
    findings = perfect()
    text = next(iter(findings.truth.fraud))
    findings.figures.fraud[text] -= 1
    assert wrong(findings) == [
        f"{findings.truth.fraud_records - 1:,} fraud rows in the topic, "
        f"{findings.truth.fraud_records:,} sent"
    ]
    findings = perfect()
    row = next(iter(findings.table))
    findings.table[row] += 1
    assert [text.split(",")[0].split(" ", 1)[1] for text in wrong(findings)] == [
        "fraud rows in the table"
    ]
    findings = perfect()
    findings.figures.hits["1.2.3.4"] = 1
    assert len(wrong(findings)) == 1
    findings = perfect()
    findings.figures.by_second[10_000] = (499, findings.figures.by_second[10_000][1])
    assert len(wrong(findings)) == 2


def test_the_newest_value_of_a_key_counts() -> None:
    """Hits and seconds are tables that change; fraud rows are a stream."""
    figures = Figures()
    for count in ("1", "2"):
        figures.take(HITS_TOPIC, "10.1.2.3", count)
        figures.take(FRAUD_TOPIC, "", "a row")
        seconds = {"records": 100 * int(count), "fraud": int(count)}
        figures.take(SHARE_TOPIC, "5000", json.dumps(seconds))
    assert figures.hits == {"10.1.2.3": 2}
    assert figures.fraud == {"a row": 2}
    assert (figures.records, figures.fraud_records) == (200, 2)


def test_the_plan_travels_to_the_generator() -> None:
    """Every field of a plan is an argument of the command."""
    arguments = arguments_of(PLAN, "here:1", "iprecord")
    assert "--records-per-tick=500" in arguments
    assert "--begin-ms=10250" in arguments
    assert len(arguments) == 2 + 7
    assert replace(PLAN, seed=5) != PLAN


@pytest.mark.parametrize("empty", [False, True], ids=["full", "empty"])
def test_the_plot(tmp_path: Path, empty: bool) -> None:
    """A picture is drawn of any run, even of one that has found nothing."""
    findings = perfect()
    if empty:
        findings = Findings(PLAN, findings.truth, Figures(), Counter[FraudRow]())
    picture = draw(findings, tmp_path / "plot.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
