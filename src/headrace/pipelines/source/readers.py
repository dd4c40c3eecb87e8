"""Spark's side of the source: the readers of a batch and of a stream, as PySpark calls them.

Spark pickles a reader into every task, so it holds options and nothing that is open; what talks to
a cluster is made in the process that uses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from headrace.client.cluster import shared_cluster
from headrace.errors import ConfigError
from headrace.pipelines.columns.schema import arrow_schema
from headrace.pipelines.source.batch import plan_batch
from headrace.pipelines.source.filters import EVERYTHING, Narrowing, narrow
from headrace.pipelines.source.gaps import LOGGER
from headrace.pipelines.source.offsets import (
    offsets_to_json,
    position_from_json,
    position_to_json,
)
from headrace.pipelines.source.options import SourceOptions, batch_options, stream_options
from headrace.pipelines.source.planning import Planner
from headrace.pipelines.source.reading import read_range
from headrace.pipelines.source.scans import conditions_in
from headrace.runtime.clock import SystemClock

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def batch_reader(options: Mapping[str, str], schema: StructType) -> BatchReader:
    """A reader of what lies between two positions and can meet the conditions of its plan."""
    parsed = batch_options(options)
    _check_schema(parsed, schema)
    return BatchReader(parsed, narrow(conditions_in(schema)))


def stream_reader(options: Mapping[str, str], schema: StructType) -> StreamReader:
    """A reader of all that comes."""
    parsed = stream_options(options)
    _check_schema(parsed, schema)
    return StreamReader(parsed)


class BatchReader(DataSourceReader):
    """Reads once, from a start to an end that are fixed when the query is planned."""

    def __init__(self, options: SourceOptions, narrowing: Narrowing = EVERYTHING) -> None:
        self._options = options
        self._narrowing = narrowing

    def partitions(self) -> Sequence[InputPartition]:
        _log_remarks(self._options)
        cluster = shared_cluster(self._options.client)
        return [
            InputPartition(each) for each in plan_batch(cluster, self._options, self._narrowing)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._options, partition)


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
        return _read(self._options, partition)

    def _plan(self) -> Planner:
        if self._planner is None:
            _log_remarks(self._options)
            self._planner = Planner(
                self._options, shared_cluster(self._options.client), SystemClock()
            )
        return self._planner


def _read(options: SourceOptions, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    # When nothing is to be read, Spark still makes one task, with a partition that says nothing.
    return iter(()) if partition.value is None else read_range(options, partition.value)


def _check_schema(options: SourceOptions, schema: StructType) -> None:
    expected = arrow_schema(headers=options.include_headers).names
    if schema.names != expected:
        raise ConfigError(
            f"the columns of this source are {', '.join(expected)} and cannot be chosen with "
            f"schema({', '.join(schema.names)}): select and decode them in the query"
        )


def _log_remarks(options: SourceOptions) -> None:
    for remark in options.remarks:
        LOGGER.warning("%s", remark)
