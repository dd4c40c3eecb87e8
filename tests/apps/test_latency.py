"""Latency and throughput: the figures are those of the records, and at capacity events wait."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from examples.latency import ORDERS, OUTCOMES, application, last_day, meter, provide_topics
from examples.topics import Draft, write
from headrace.pipelines.run.progress import parse_progress
from tests.apps.reading import read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

CAPACITY = 100


def run(writer: DataStreamWriter, folder: Path) -> list[Any]:
    """Up to the end of its topic; what `headrace run` would tell of each trigger with rows."""
    query = writer.option("checkpointLocation", str(folder)).trigger(availableNow=True).start()
    query.awaitTermination()
    told = [parse_progress("q", json.loads(report.json)) for report in query.recentProgress]
    return [progress for progress in told if progress.input_rows]


@pytest.mark.spec("book2:T-01", "book2:T-02")
def test_latency_is_told_and_grows_when_events_wait(
    spark: SparkSession, servers: str, tmp_path: Path
) -> None:
    """Three triggers' worth of events at once: each trigger leaves less behind, and takes longer
    to come; the figures of a trigger and of a day are those of the records in the topic."""
    provide_topics()
    write(ORDERS, (Draft(str(number)) for number in range(3 * CAPACITY)))
    triggers = run(application(spark, CAPACITY), tmp_path / "application")
    assert [progress.lag for progress in triggers] == [2 * CAPACITY, CAPACITY, 0]

    outcomes = read_topic(servers, OUTCOMES)
    latencies = [record.timestamp_ms - int(record.text) for record in outcomes]
    best = [min(latencies[start : start + CAPACITY]) for start in range(0, 300, CAPACITY)]
    assert best == sorted(set(best)), "those who wait longer take longer"

    (observed,) = (progress.observed for progress in run(meter(spark), tmp_path / "meter"))
    (day,) = last_day(spark).collect()
    assert observed == {"latency": day.asDict()}
    assert (day.best_ms, day.worst_ms) == (min(latencies), max(latencies))
    assert day.average_ms == pytest.approx(fmean(latencies))
    within = sum(latency <= day.of_85_percent_ms for latency in latencies)
    assert within >= 0.85 * len(latencies)
