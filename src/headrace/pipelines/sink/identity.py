"""Who is writing: the query, the batch and the task, in the words that survive a restart.

Spark keeps a query's id in its checkpoint and numbers its batches, and passes both to every task as
local properties. The number of a task within its stage completes a name that the next attempt of
the same task has too, and no other: the transactional id, by which a new attempt fences an old one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark import TaskContext

from headrace.pipelines.sink.faults import NoQuery

PREFIX: Final = "headrace-sink-"

_QUERY_ID: Final = "sql.streaming.queryId"
_BATCH_ID: Final = "streaming.sql.batchId"


@dataclass(frozen=True, slots=True)
class SparkTask:
    """What Spark tells a task about itself; the query and its batch only within a stream."""

    partition: int
    attempt: int
    query_id: str | None
    batch_id: int | None


@dataclass(frozen=True, slots=True)
class TaskIdentity:
    """One task of one batch of one query, whichever attempt at it this is."""

    query_id: str
    batch_id: int
    partition: int

    @property
    def name(self) -> str:
        """Of the transactional id and of the group that holds the marker."""
        return f"{PREFIX}{self.query_id}-{self.partition}"

    def __str__(self) -> str:
        return f"task {self.partition} of batch {self.batch_id} of query {self.query_id}"


def this_task() -> SparkTask:
    """The task that runs in this process now."""
    context = TaskContext.get()
    if context is None:
        raise NoQuery("rows can be written by a Spark task only, and this process runs none")
    batch_id = context.getLocalProperty(_BATCH_ID)
    return SparkTask(
        partition=context.partitionId(),
        attempt=context.attemptNumber(),
        query_id=context.getLocalProperty(_QUERY_ID),
        batch_id=int(batch_id) if batch_id is not None else None,
    )


def identity_in_stream(task: SparkTask, write_name: str | None = None) -> TaskIdentity:
    """This task by its query and batch. A name tells apart what one batch writes in several goes.

    A task without a query would be a batch write that asks for the identity of a stream.
    """
    if task.query_id is None or task.batch_id is None:
        raise NoQuery(
            "Spark names no streaming query for this task, so a repeated batch could not be "
            "distinguished from a new one; write from a streaming query (in foreachBatch: with the "
            "function that headrace.pipelines.topic_writer makes, or with writeName on the thread "
            "that Spark calls), or choose guarantee = at-least-once"
        )
    query_id = task.query_id if write_name is None else f"{task.query_id}-{write_name}"
    return TaskIdentity(query_id, task.batch_id, task.partition)
