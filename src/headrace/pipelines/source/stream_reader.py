"""Spark's side of a streaming read, as PySpark calls it from version 4.2 on.

Earlier versions plan a batch without saying where it begins, so neither a limit of rows nor the
checkpoint's topic ids and group can be kept; the module cannot be imported there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from headrace.client.cluster import shared_cluster
from headrace.pipelines.source.offsets import (
    offsets_to_json,
    position_from_json,
    position_to_json,
)
from headrace.pipelines.source.options import SourceOptions, stream_options
from headrace.pipelines.source.planning import Planner
from headrace.pipelines.source.readers import check_schema, log_remarks, read_task
from headrace.runtime.clock import SystemClock

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def stream_reader(options: Mapping[str, str], schema: StructType) -> StreamReader:
    """A reader of all that comes."""
    parsed = stream_options(options)
    check_schema(parsed, schema)
    return StreamReader(parsed)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads batch after batch; its methods are called in the planner process, `read` in tasks."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._planner: Planner | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options, "_planner": None}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return position_to_json(self._plan().initial())

    def latestOffset(  # noqa: N802
        self, start: dict[str, Any], limit: ReadLimit
    ) -> dict[str, Any]:
        max_rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        hold_back = not isinstance(limit, ReadAllAvailable)
        position = position_from_json(start)
        end = self._plan().next_end(position, max_rows, hold_back=hold_back)
        # Spark compares positions as text, so one that did not move is given back as it came.
        return start if end is position else position_to_json(end)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        # PySpark has no limit of two parts: beside a maximum, the planner knows the minimum.
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return offsets_to_json(self._plan().high_watermarks()) or None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._plan().aim_at_now()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        ranges = self._plan().ranges(position_from_json(start), position_from_json(end))
        return [InputPartition(each) for each in ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_task(self._options, partition)

    def _plan(self) -> Planner:
        if self._planner is None:
            log_remarks(self._options)
            self._planner = Planner(
                self._options, shared_cluster(self._options.client), SystemClock()
            )
        return self._planner
