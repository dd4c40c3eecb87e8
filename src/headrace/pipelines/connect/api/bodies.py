"""What is sent and answered, as JSON has it; and how it is made of what a worker says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state.records import Settings, Status
from headrace.pipelines.connect.worker.worker import ConnectorInfo, ConnectorStatus

Scalar: TypeAlias = str | bool | int | float | None
Given: TypeAlias = dict[str, Scalar]
"""Settings as clients send them: numbers and flags need no quotation marks."""
Json: TypeAlias = dict[str, Any]

_UNKNOWN: Final = "unknown"
_FLAGS: Final = {True: "true", False: "false"}


class CreateRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A new connector."""

    name: str | None = None
    config: Given | None = None
    initial_state: str | None = None


class TaskRef(msgspec.Struct):
    """A task by its connector and its number."""

    connector: str
    task: int


class Connector(msgspec.Struct):
    """A connector as it is configured."""

    name: str
    config: Mapping[str, str]
    tasks: list[TaskRef]
    type: str


class ConnectorState(msgspec.Struct, omit_defaults=True):
    """What a connector does, and where."""

    state: str
    worker_id: str
    version: str | None = None
    trace: str | None = None


class TaskState(msgspec.Struct, omit_defaults=True):
    """What a task does, and where."""

    id: int
    state: str
    worker_id: str
    version: str | None = None
    trace: str | None = None


class WholeState(msgspec.Struct):
    """What a connector and its tasks do."""

    name: str
    connector: ConnectorState
    tasks: list[TaskState]
    type: str


class Expanded(msgspec.Struct, omit_defaults=True):
    """What was asked for of one connector in a list."""

    status: WholeState | None = None
    info: Connector | None = None


class TaskSettings(msgspec.Struct):
    """A task as it is configured."""

    id: TaskRef
    config: Mapping[str, str]


class Offset(msgspec.Struct):
    """Where a partition stands: of a source as its connector says it, of a sink in Kafka."""

    partition: Json | None = None
    offset: Json | None = None


class Offsets(msgspec.Struct):
    """Some offsets of a connector, or all."""

    offsets: list[Offset] | None = None


class Message(msgspec.Struct):
    """What was done, in words."""

    message: str


class Topics(msgspec.Struct):
    """The topics that a connector was seen to use."""

    topics: list[str]


def texts(given: Mapping[str, Scalar]) -> dict[str, str]:
    """Settings, all of them texts; null is none."""
    return {key: text for key, value in given.items() if (text := _text(value)) is not None}


def changes(given: Mapping[str, Scalar]) -> dict[str, str | None]:
    """Settings that change; null takes one away."""
    return {key: _text(value) for key, value in given.items()}


def _text(value: Scalar) -> str | None:
    if isinstance(value, bool):
        return _FLAGS[value]
    return None if value is None else str(value)


def connector_of(info: ConnectorInfo) -> Connector:
    tasks = [task_ref(task) for task in info.tasks]
    return Connector(info.name, info.config, tasks, info.kind or _UNKNOWN)


def task_ref(task: TaskId) -> TaskRef:
    return TaskRef(task.connector, task.task)


def state_of(status: ConnectorStatus) -> WholeState:
    tasks = [task_state(task, each) for task, each in status.tasks.items()]
    own = status.status
    connector = ConnectorState(own.state.value, own.worker_id, own.version, own.trace)
    return WholeState(status.name, connector, tasks, status.kind or _UNKNOWN)


def task_state(task: TaskId, status: Status) -> TaskState:
    return TaskState(task.task, status.state.value, status.worker_id, status.version, status.trace)


def task_settings(tasks: Mapping[TaskId, Settings]) -> list[TaskSettings]:
    return [TaskSettings(task_ref(task), config) for task, config in tasks.items()]


def offsets_of(
    found: Iterable[tuple[Mapping[str, object], Mapping[str, object] | None]],
) -> Offsets:
    return Offsets([Offset(dict(place), None if at is None else dict(at)) for place, at in found])
