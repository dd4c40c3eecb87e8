"""Spark's reports as figures."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.pipelines.run.progress import QueryProgress, parse_progress, total_lag

REPORT = {
    "batchId": 12,
    "timestamp": "2026-11-16T04:38:00.123Z",
    "numInputRows": 1000,
    "inputRowsPerSecond": 500.5,
    "processedRowsPerSecond": 2000.0,
    "durationMs": {"addBatch": 100, "triggerExecution": 140},
    "stateOperators": [
        {"numRowsTotal": 30, "numRowsDroppedByWatermark": 2},
        {"numRowsTotal": 4, "numRowsDroppedByWatermark": 0},
    ],
    "observedMetrics": {"latency": {"worst": 40, "best": None}, "empty": {"worst": None}, "x": 1},
    "sources": [
        {
            "endOffset": {"orders": {"0": 17, "1": 4}, "@ids": {"orders": "u6Xy"}},
            "latestOffset": {"orders": {"0": 20, "1": 4}, "@ids": {"orders": "u6Xy"}},
        }
    ],
}


def test_a_report_is_read() -> None:
    """Rates and batch time; rows kept and dropped by all operators; lag over all partitions."""
    assert parse_progress("q", REPORT) == QueryProgress(
        query="q",
        batch_id=12,
        timestamp="2026-11-16T04:38:00.123Z",
        input_rows=1000,
        input_rows_per_s=500.5,
        processed_rows_per_s=2000.0,
        batch_ms=140,
        lag=3,
        state_rows=34,
        late_rows=2,
        observed={"latency": {"worst": 40}},
    )


@pytest.mark.parametrize("report", [{}, dict.fromkeys(REPORT)])
def test_missing_parts_are_zero_or_unknown(report: dict[str, Any]) -> None:
    """Spark leaves out what it cannot tell."""
    progress = parse_progress("q", report)
    assert progress[3:7] == (0, 0, 0, 0)
    assert progress[7:] == (None, None, None, {})


def source(latest: Any, end: Any) -> dict[str, Any]:
    return {"latestOffset": latest, "endOffset": end}


@pytest.mark.parametrize(
    ("sources", "lag"),
    [
        ([], None),
        ([source({"t": {"0": 5}}, {"t": {"0": 2}}), source({"u": {"0": 1}}, {"u": {"0": 0}})], 4),
        ([source('{"t":{"0":5}}', '{"t":{"0":2}}')], 3),  # as text
        ([source({"t": {"0": 5, "1": 7}}, {"t": {"0": 5}})], 7),  # a partition not yet met
        ([source({"t": {"0": 5}, "new": {"0": 2}}, {"t": {"0": 5}})], 2),
        ([source({"t": {"0": 2}}, {"t": {"0": 5}})], 0),  # told before the batch, so older
        ([source(90, 30)], None),  # the rate source counts seconds
        ([source(None, {"t": {"0": 5}})], None),
        ([source({"t": {"0": 5}}, None)], None),
        ([source("no json", "{}")], None),
        ([source({"t": 5}, {"t": 2})], None),
        ([source({"logOffset": {"x": "y"}}, {"logOffset": {"x": "y"}})], None),
        ([source(90, 30), source({"t": {"0": 5}}, {"t": {"0": 2}})], 3),
    ],
)
def test_the_lag_is_the_sum_of_what_sources_tell(sources: list[Any], lag: int | None) -> None:
    """Sources that tell no offsets of topics do not count; none at all is not zero."""
    assert total_lag(sources) == lag
