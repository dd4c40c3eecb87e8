"""The sink in the shape that Spark asks for: two writers, made beside the driver, run in workers.

A writer is pickled to the workers, so it holds values only; connections are made where rows are.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:
    # Spark 4.0, where `datasource` rejects streaming writes and nothing makes one.
    from pyspark.sql.datasource import (  # type: ignore[assignment]
        DataSourceStreamWriter as DataSourceStreamArrowWriter,
    )

from headrace.errors import ConfigError, HeadraceError
from headrace.pipelines.sink.identity import (
    SparkTask,
    TaskIdentity,
    identity_in_stream,
    this_task,
)
from headrace.pipelines.sink.options import SinkOptions, sink_options
from headrace.pipelines.sink.schema import checked_columns
from headrace.pipelines.worker import freeze_once
from headrace.types import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_LOGGER: Final = logging.getLogger(__name__)

ThisTask: TypeAlias = Callable[[], SparkTask]
Messages: TypeAlias = Sequence[WriterCommitMessage | None]


@dataclass(frozen=True)
class TaskWritten(WriterCommitMessage):
    """What one task did: rows by partition; `skipped` if an earlier attempt had written them.

    `group` holds the marker of what was written, if there is one.
    """

    partition: int
    group: str | None
    rows: int
    written: Mapping[TopicPartition, int]
    skipped: bool


def batch_writer(
    options: Mapping[str, str], schema: StructType, overwrite: bool
) -> DataSourceArrowWriter:
    """For `df.write`. Each write is a query of its own: attempts at its tasks share an id."""
    if overwrite:
        raise ConfigError(
            "mode overwrite is not possible: a topic can only be appended to; "
            "use mode append, or delete the records of the topic first"
        )
    parsed = sink_options(options)
    return BatchWriter(parsed, checked_columns(schema, parsed.topic), uuid.uuid4().hex)


def stream_writer(
    options: Mapping[str, str], schema: StructType, overwrite: bool
) -> DataSourceStreamArrowWriter:
    """For `df.writeStream`. In output mode complete (`overwrite`) every result is appended."""
    parsed = sink_options(options)
    if parsed.write_name is not None:
        raise ConfigError(
            f"option writeName = {parsed.write_name!r} is for writes inside foreachBatch; "
            "a streaming write has the name of its query"
        )
    writer = StreamWriter(parsed, checked_columns(schema, parsed.topic))
    freeze_once()
    return writer


class BatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame once; `writeName` makes it part of the batch of a stream around it."""

    def __init__(
        self,
        options: SinkOptions,
        columns: tuple[str, ...],
        write_id: str,
        task: ThisTask = this_task,
    ) -> None:
        self._options = options
        self._columns = columns
        self._write_id = write_id
        self._task = task

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskWritten:
        task = self._task()
        identity: TaskIdentity | None = None
        if self._options.write_name is not None:
            identity = identity_in_stream(_in_batch(task, self._options), self._options.write_name)
        elif self._options.exactly_once:
            identity = TaskIdentity(self._write_id, 0, task.partition)
        return _write(iterator, self._columns, self._options, task, identity)

    def commit(self, messages: Messages) -> None:
        _say("write", self._write_id, messages)
        self._forget(messages)

    def abort(self, messages: Messages) -> None:
        self._forget(messages)

    def _forget(self, messages: Messages) -> None:
        """No attempt will ask for these markers again. Those that stay are dropped by age."""
        from headrace.client.cluster import shared_cluster
        from headrace.client.group_offsets import delete_groups

        if self._options.write_name is not None:
            return
        groups = [message.group for message in _reports(messages) if message.group is not None]
        try:
            if groups:
                delete_groups(shared_cluster(self._options.settings), groups)
        except HeadraceError as fault:
            _LOGGER.warning("the markers of write %s stay behind: %s", self._write_id, fault)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a streaming query. Tasks commit their rows themselves."""

    def __init__(
        self, options: SinkOptions, columns: tuple[str, ...], task: ThisTask = this_task
    ) -> None:
        self._options = options
        self._columns = columns
        self._task = task

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskWritten:
        task = self._task()
        identity = identity_in_stream(task) if self._options.exactly_once else None
        return _write(iterator, self._columns, self._options, task, identity)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        _say("batch", batchId, messages)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        """Nothing is open: a failed task has aborted its transaction, a lost one is fenced by its
        next attempt or given up after the time-out.
        """
        _LOGGER.debug("batch %d: %d tasks were written before it failed", batchId, len(messages))


def _write(
    batches: Iterator[pa.RecordBatch],
    columns: tuple[str, ...],
    options: SinkOptions,
    task: SparkTask,
    identity: TaskIdentity | None,
) -> TaskWritten:
    """One attempt. The rooms below it are loaded here, in a worker, and not beside the driver."""
    from headrace.client.cluster import shared_cluster
    from headrace.pipelines.sink.attempt import write_at_least_once, write_exactly_once

    cluster = shared_cluster(options.settings)
    if identity is None:
        outcome = write_at_least_once(batches, columns, options, cluster)
    else:
        outcome = write_exactly_once(batches, columns, options, cluster, identity)
    freeze_once()
    rows = outcome.written.total() + outcome.skipped_rows
    return TaskWritten(
        partition=task.partition,
        group=identity.name if identity is not None and rows else None,
        rows=rows,
        written=dict(outcome.written),
        skipped=outcome.skipped_rows > 0,
    )


def _in_batch(task: SparkTask, options: SinkOptions) -> SparkTask:
    """The task with the query and batch that the options name, if they do."""
    if options.stream_batch is None:
        return task
    query_id, batch_id = options.stream_batch
    return replace(task, query_id=query_id, batch_id=batch_id)


def _reports(messages: Messages) -> list[TaskWritten]:
    return [message for message in messages if isinstance(message, TaskWritten)]


def _say(what: str, which: object, messages: Messages) -> None:
    reports = _reports(messages)
    _LOGGER.debug(
        "%s %s: %d rows in %d tasks, of which %d had been written before",
        what,
        which,
        sum(report.rows for report in reports),
        len(reports),
        sum(report.skipped for report in reports),
    )
