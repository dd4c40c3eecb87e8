"""What Spark reports about a query's last batch, reduced to what an operator looks at.

The report is a mapping whose shape depends on the sources, and parts of it may be missing; it comes
from another process, so nothing in it is taken for granted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

# Offsets by topic and partition, as Spark's Kafka connector and ours write them.
TopicOffsets: TypeAlias = dict[str, dict[str, int]]


class QueryProgress(NamedTuple):
    """One finished trigger of one query."""

    query: str
    batch_id: int
    timestamp: str  # when the trigger began: ISO 8601, UTC
    input_rows: int
    input_rows_per_s: float
    processed_rows_per_s: float
    batch_ms: int
    lag: int | None  # records that are in the topics and not yet processed; None: not told
    state_rows: int | None  # None: the query keeps no state
    late_rows: int | None  # that this trigger dropped, being older than the watermark
    observed: dict[str, dict[str, Any]]  # what `DataFrame.observe` computed, by its names


def parse_progress(query: str, report: Mapping[str, Any]) -> QueryProgress:
    """Read the report of one trigger."""
    durations = report.get("durationMs") or {}
    states = report.get("stateOperators") or []

    def over_states(figure: str) -> int | None:
        return sum(int(_number(state.get(figure))) for state in states) if states else None

    return QueryProgress(
        query=query,
        batch_id=int(_number(report.get("batchId"))),
        timestamp=str(report.get("timestamp", "")),
        input_rows=int(_number(report.get("numInputRows"))),
        input_rows_per_s=_number(report.get("inputRowsPerSecond")),
        processed_rows_per_s=_number(report.get("processedRowsPerSecond")),
        batch_ms=int(_number(durations.get("triggerExecution"))),
        lag=total_lag(report.get("sources") or []),
        state_rows=over_states("numRowsTotal"),
        late_rows=over_states("numRowsDroppedByWatermark"),
        observed=_observed(report.get("observedMetrics")),
    )


def total_lag(sources: list[Mapping[str, Any]]) -> int | None:
    """How far the sources that tell their latest offsets are behind them, all together."""
    lags = []
    for source in sources:
        latest = topic_offsets(source.get("latestOffset"))
        reached = topic_offsets(source.get("endOffset"))
        if latest is not None and reached is not None:
            lags.append(_lag(latest, reached))
    return sum(lags) if lags else None


def _lag(latest: TopicOffsets, reached: TopicOffsets) -> int:
    """A partition that the query has not met yet counts from its beginning."""
    return sum(
        max(0, offset - reached.get(topic, {}).get(partition, 0))
        for topic, partitions in latest.items()
        for partition, offset in partitions.items()
    )


def topic_offsets(offset: Any) -> TopicOffsets | None:
    """`{"orders": {"0": 17}}`, as an object or as its JSON text; None if it is of another kind.

    Names that begin with "@" cannot be topics: our source keeps topic ids there.
    """
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return None
    if not isinstance(offset, Mapping):
        return None
    topics: TopicOffsets = {}
    for topic, partitions in offset.items():
        if topic.startswith("@"):
            continue
        if not isinstance(partitions, Mapping):
            return None
        if not all(type(value) is int for value in partitions.values()):
            return None
        topics[topic] = dict(partitions)
    return topics


def _observed(metrics: Any) -> dict[str, dict[str, Any]]:
    """Figures of `DataFrame.observe`; those that a batch without rows left null are not there."""
    if not isinstance(metrics, Mapping):
        return {}
    figures = {
        name: {key: value for key, value in row.items() if value is not None}
        for name, row in metrics.items()
        if isinstance(row, Mapping)
    }
    return {name: row for name, row in figures.items() if row}


def _number(value: Any) -> float:
    """Spark leaves a rate out that it cannot compute."""
    return value if isinstance(value, int | float) and value == value else 0
