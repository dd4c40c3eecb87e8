"""IP fraud on Spark, end to end: every figure is exact."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.ip_fraud.on_spark import FRAUD_TOPIC, HITS_TOPIC, SHARE_TOPIC, TABLE, queries
from examples.ip_fraud.rules import FraudRow, fraud_row
from examples.ip_fraud.traffic import Plan, batches, truth_of
from examples.topics import Draft, provide
from tests.apps.reading import latest, read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAN = Plan(seed=13, ticks=4, records_per_tick=600, period_ms=1_000, begin_ms=50_000, returning=0.3)
HALVES = {"maxOffsetsPerTrigger": "1202"}
POISON = ["", "mill.example.org", "10, -, -"]
CUT_SHORT = "10.1.2.3, -, -"  # fraud, and no row for the table


@pytest.mark.spec(
    "book1:A-13",
    "book1:K-20",
    "book2:A1-13",
    "book2:A1-22",
    "book2:A1-23",
    "book2:A1-32",
    "book2:A1-33",
)
def test_all_figures_are_exact(spark: SparkSession, servers: str, tmp_path: Path) -> None:
    """Rows in topic and table, hits by address, records and fraud by second, in two batches."""
    sent = [Draft(r.text, timestamp_ms=b.timestamp_ms) for b in batches(PLAN) for r in b.requests]
    poison = [Draft(text, timestamp_ms=60_000) for text in [*POISON, CUT_SHORT]]
    provide("iprecord", sent[:900] + poison + sent[900:], partitions=2)
    spark.sql(f"DROP TABLE IF EXISTS {TABLE}")
    run(spark, tmp_path)

    truth = truth_of(PLAN)
    found = read_topic(servers, FRAUD_TOPIC)
    assert truth.fraud_records > 100
    assert Counter(record.text for record in found) == truth.fraud + Counter([CUT_SHORT])
    rows = spark.table(TABLE).select(*FraudRow._fields).collect()
    expected = Counter(fraud_row(text) for text in truth.fraud.elements())
    assert Counter(FraudRow(*row) for row in rows) == expected
    hits = {address: int(count) for address, count in latest(servers, HITS_TOPIC).items()}
    assert hits == truth.hits + Counter(["10.1.2.3"])
    assert max(hits.values()) > 1
    share = {int(key): json.loads(value) for key, value in latest(servers, SHARE_TOPIC).items()}
    counted = {key: (value["records"], value["fraud"]) for key, value in share.items()}
    assert counted == truth.by_time | {60_000: (len(POISON) + 1, 1)}


def run(spark: SparkSession, folder: Path) -> None:
    """One query after the other, up to the end of the topic."""
    for number, writer in enumerate(queries(spark, "iprecord", options=HALVES)):
        query = (
            writer.option("checkpointLocation", str(folder / f"checkpoint-{number}"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
