"""Spark's side of a batch read, as PySpark calls it, and what a stream's has in common with it.

Spark pickles a reader into every task, so it holds options and nothing that is open; what talks to
a cluster is made in the process that uses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from headrace.client.cluster import shared_cluster
from headrace.errors import ConfigError
from headrace.pipelines.columns.schema import arrow_schema
from headrace.pipelines.source.batch import plan_batch, ranges_now
from headrace.pipelines.source.filters import EVERYTHING, Narrowing, narrow
from headrace.pipelines.source.gaps import LOGGER
from headrace.pipelines.source.options import SourceOptions, batch_options
from headrace.pipelines.source.portions import Portion, portions_of
from headrace.pipelines.source.reading import read_range
from headrace.pipelines.source.scans import conditions_in
from headrace.pipelines.source.split import split_ranges

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def batch_reader(options: Mapping[str, str], schema: StructType) -> BatchReader:
    """A reader of what lies between two positions and can meet the conditions of its plan."""
    parsed = batch_options(options)
    check_schema(parsed, schema)
    conditions = conditions_in(schema)
    return BatchReader(parsed, None if conditions is None else narrow(conditions))


class BatchReader(DataSourceReader):
    """Reads once, from a start to an end.

    They are fixed when the query is planned, if the plan is that query's own, with its conditions.
    A plan that Spark may use for other queries (`narrowing` is None) has tasks that look when they
    run.
    """

    def __init__(self, options: SourceOptions, narrowing: Narrowing | None = None) -> None:
        self._options = options
        self._narrowing = narrowing

    def partitions(self) -> Sequence[InputPartition]:
        log_remarks(self._options)
        cluster = shared_cluster(self._options.client)
        ranges = plan_batch(cluster, self._options, self._narrowing or EVERYTHING)
        tasks = portions_of(ranges) if self._narrowing is None else ranges
        return [InputPartition(each) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if self._narrowing is not None:
            return read_task(self._options, partition)
        return _read_portion(self._options, partition.value)


def _read_portion(options: SourceOptions, portion: Portion) -> Iterator[pa.RecordBatch]:
    cluster = shared_cluster(options.client)
    found = [each for part in portion for each in ranges_now(cluster, options, part)]
    for each in split_ranges(found):
        yield from read_range(options, each)


def read_task(options: SourceOptions, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The rows of a range that was fixed when the query was planned."""
    # When nothing is to be read, Spark still makes one task, with a partition that says nothing.
    return iter(()) if partition.value is None else read_range(options, partition.value)


def check_schema(options: SourceOptions, schema: StructType) -> None:
    """Reject columns of the user's own."""
    expected = arrow_schema(headers=options.include_headers).names
    if schema.names != expected:
        raise ConfigError(
            f"the columns of this source are {', '.join(expected)} and cannot be chosen with "
            f"schema({', '.join(schema.names)}): select and decode them in the query"
        )


def log_remarks(options: SourceOptions) -> None:
    """Warn of options that have no effect."""
    for remark in options.remarks:
        LOGGER.warning("%s", remark)
