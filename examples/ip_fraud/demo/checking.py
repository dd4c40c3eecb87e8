"""Every figure of the pipeline beside the generator's truth."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from examples.ip_fraud.demo.results import Figures
from examples.ip_fraud.on_spark import TABLE
from examples.ip_fraud.rules import EXPECTED_SHARE, FraudRow, fraud_row
from examples.ip_fraud.traffic import Plan, Truth

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Findings(NamedTuple):
    """All that a run leaves behind."""

    plan: Plan
    truth: Truth
    figures: Figures
    table: Counter[FraudRow]


class Check(NamedTuple):
    right: bool
    text: str


def table_rows(spark: SparkSession) -> Counter[FraudRow]:
    rows = spark.table(TABLE).select(*FraudRow._fields).collect()
    return Counter(FraudRow(*row) for row in rows)


def by_second(truth: Truth) -> dict[int, tuple[int, int]]:
    """The truth in the windows of the pipeline; a second is named by the moment it begins."""
    seconds: dict[int, tuple[int, int]] = {}
    for time_ms, (records, fraud) in truth.by_time.items():
        second = time_ms - time_ms % 1_000
        before = seconds.get(second, (0, 0))
        seconds[second] = (before[0] + records, before[1] + fraud)
    return seconds


def check(findings: Findings) -> list[Check]:
    """Nothing is compared approximately: a record too many or too few is wrong."""
    truth, figures = findings.truth, findings.figures
    expected_rows = Counter(fraud_row(text) for text in truth.fraud.elements())
    expected_seconds = by_second(truth)
    rows = findings.table.total()
    return [
        Check(
            figures.records == truth.records,
            f"{figures.records:,} records read, {truth.records:,} sent",
        ),
        Check(
            figures.fraud == truth.fraud,
            f"{figures.fraud.total():,} fraud rows in the topic, {truth.fraud_records:,} sent",
        ),
        Check(
            findings.table == expected_rows,
            f"{rows:,} fraud rows in the table, {truth.fraud_records:,} sent",
        ),
        Check(
            figures.hits == truth.hits,
            f"{len(figures.hits):,} addresses, {len(truth.hits):,} sent; "
            f"most hits {max(figures.hits.values(), default=0)}, "
            f"{max(truth.hits.values(), default=0)} sent",
        ),
        Check(
            figures.by_second == expected_seconds,
            f"{len(figures.by_second)} seconds with their counts, {len(expected_seconds)} sent",
        ),
        Check(
            figures.fraud_records == truth.fraud_records,
            f"share of fraud {truth.share:.3%}; of random addresses {EXPECTED_SHARE:.2%}",
        ),
    ]
