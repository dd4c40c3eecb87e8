"""Records that did not go on, in a topic of their own: as they were read, and why they failed.

The headers are Connect's `__connect.errors.*`, so that tools that know its dead letter queues know
ours.
"""

from __future__ import annotations

import traceback
from typing import Final

import pyarrow as pa

from headrace.pipelines.columns.schema import HEADERS
from headrace.pipelines.connect.faults import java_class
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.host.output import Output
from headrace.pipelines.connect.host.sink_records import Consumed
from headrace.pipelines.connect.host.source_records import Written
from headrace.pipelines.connect.host.tolerance import Failure

_PREFIX: Final = "__connect.errors."


class DeadLetters:
    """The dead letter queue of one task."""

    def __init__(self, output: Output, topic: str, task: TaskId, *, explains: bool) -> None:
        self._output = output
        self._topic = topic
        self._task = task
        self._explains = explains

    def report(self, read: Consumed, failure: Failure) -> None:
        """Queue a record; it is safe after `flush`."""
        headers = [{"key": name, "value": value} for name, value in read.headers]
        if self._explains:
            headers += [
                {"key": _PREFIX + name, "value": text.encode()}
                for name, text in _why(self._task, read, failure).items()
            ]
        columns = {
            "key": pa.array([read.key], pa.binary()),
            "value": pa.array([read.value], pa.binary()),
            "headers": pa.array([headers or None], HEADERS),
        }
        if read.timestamp is not None:
            columns["timestamp"] = pa.array([read.timestamp], pa.timestamp("ms", tz="UTC"))
        self._output.send(Written(self._topic, None, pa.record_batch(columns)))

    def flush(self) -> None:
        """Return when all that was reported is acknowledged."""
        self._output.flush()

    def close(self) -> None:
        """Let the producer go."""
        self._output.close()


def _why(task: TaskId, read: Consumed, failure: Failure) -> dict[str, str]:
    fault = failure.fault
    return {
        "topic": read.place.topic,
        "partition": str(read.place.partition),
        "offset": str(read.offset),
        "connector.name": task.connector,
        "task.id": str(task.task),
        "stage": failure.stage.value,
        "class.name": failure.executing,
        "exception.class.name": java_class(fault),
        "exception.message": str(fault),
        "exception.stacktrace": "".join(traceback.format_exception(fault)),
    }
