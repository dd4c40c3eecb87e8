"""Keys and values of Connect's topics, as a worker of Kafka 4.3 writes them.

| topic | key | value |
|---|---|---|
| config | `connector-N` | `{"properties":{…}}`, null: deleted |
| | `task-N-0` | `{"properties":{…}}`, valid once a commit follows |
| | `commit-N` | `{"tasks":2}` |
| | `target-state-N` | `{"state":"PAUSED","state.v2":"STOPPED"}`, null: deleted |
| | `tasks-fencing-N` | `{"task-count":2}` |
| | `restart-connector-N` | `{"include-tasks":true,"only-failed":false}` |
| | `session-key` | `{"key":base64,"algorithm":…,"creation-timestamp":ms}` |
| | `logger-cluster-L` | `{"level":"WARN"}` |
| offset | `["N",{partition}]` | `{offset}`, null: reset |
| status | `status-connector-N` | `{"state","trace","worker_id","generation","version"}` |
| | `status-task-N-0` | the same |
| | `status-topic-T:connector-N` | `{"topic":{"name","connector","task","discoverTimestamp"}}` |

Values are JSON without a schema. The module makes records; the logs beside it read them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state import json_text

Write: TypeAlias = tuple[bytes, bytes | None]
"""Key and value of a record; a value of None deletes."""

Settings: TypeAlias = Mapping[str, str]

_MOST_DIGITS: Final = 10
"""Of the number of a task, which has 31 bits."""

CONNECTOR: Final = "connector-"
TASK: Final = "task-"
COMMIT: Final = "commit-"
TARGET_STATE: Final = "target-state-"
FENCING: Final = "tasks-fencing-"
RESTART: Final = "restart-connector-"
SESSION_KEY: Final = "session-key"
LOGGER: Final = "logger-cluster-"

CONNECTOR_STATUS: Final = "status-connector-"
TASK_STATUS: Final = "status-task-"
TOPIC_STATUS: Final = "status-topic-"
OF_CONNECTOR: Final = ":connector-"


class TargetState(Enum):
    """What a connector shall do."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class State(Enum):
    """What a connector or task does."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    DESTROYED = "DESTROYED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class SessionKey:
    """What workers sign their calls to each other with."""

    key: bytes
    algorithm: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """A wish to restart a connector: with its tasks or not, only what failed or all."""

    connector: str
    only_failed: bool = False
    include_tasks: bool = False


@dataclass(frozen=True, slots=True)
class Status:
    """What a worker says of a connector or task that it runs."""

    state: State
    worker_id: str
    generation: int
    trace: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """A topic that a task of a connector was seen to use."""

    topic: str
    connector: str
    task: int
    discovered_ms: int


# --- the config topic ---


def connector_config(name: str, settings: Settings) -> Write:
    """A connector's settings."""
    return _key(CONNECTOR, name), json_text.encode({"properties": dict(settings)})


def task_config(task: TaskId, settings: Settings) -> Write:
    """A task's settings, which count once they are committed."""
    return _key(TASK, str(task)), json_text.encode({"properties": dict(settings)})


def tasks_commit(name: str, tasks: int) -> Write:
    """So many task settings before this belong together."""
    return _key(COMMIT, name), json_text.encode({"tasks": tasks})


def task_configs(name: str, tasks: Sequence[Settings]) -> list[Write]:
    """A connector's task settings, all of them, and their commit."""
    each = [task_config(TaskId(name, number), settings) for number, settings in enumerate(tasks)]
    return [*each, tasks_commit(name, len(tasks))]


def target_state(name: str, state: TargetState) -> Write:
    """What a connector shall do. Workers that do not know STOPPED read PAUSED."""
    known = TargetState.PAUSED if state is TargetState.STOPPED else state
    return _key(TARGET_STATE, name), json_text.encode(
        {"state": known.value, "state.v2": state.value}
    )


def removal(name: str) -> list[Write]:
    """The end of a connector. What its tasks had set stays, and counts no more."""
    return [(_key(CONNECTOR, name), None), (_key(TARGET_STATE, name), None)]


def task_count(name: str, tasks: int) -> Write:
    """So many tasks of a source were fenced, and as many may begin."""
    return _key(FENCING, name), json_text.encode({"task-count": tasks})


def restart(request: RestartRequest) -> Write:
    """A wish to restart."""
    wish = {"include-tasks": request.include_tasks, "only-failed": request.only_failed}
    return _key(RESTART, request.connector), json_text.encode(wish)


def session_key(key: SessionKey) -> Write:
    """A new key for calls between workers."""
    told = {
        "key": base64.b64encode(key.key).decode(),
        "algorithm": key.algorithm,
        "creation-timestamp": key.created_ms,
    }
    return SESSION_KEY.encode(), json_text.encode(told)


def logger_level(logger: str, level: str) -> Write:
    """The level of a logger on every worker."""
    return _key(LOGGER, logger), json_text.encode({"level": level})


# --- the offset topic ---


def offset_key(connector: str, partition: Mapping[str, object]) -> bytes:
    """A partition of a connector's source."""
    return json_text.encode([connector, dict(partition)])


def offset_value(offset: Mapping[str, object] | None) -> bytes | None:
    """Where a partition of a source stands; None: at its beginning."""
    return None if offset is None else json_text.encode(dict(offset))


# --- the status topic ---


def connector_status(name: str, status: Status) -> Write:
    """What a connector does; what is destroyed leaves no record."""
    return connector_status_key(name), _status(status)


def connector_status_key(name: str) -> bytes:
    """The key of the record that says what a connector does."""
    return _key(CONNECTOR_STATUS, name)


def task_status(task: TaskId, status: Status) -> Write:
    """What a task does; what is destroyed leaves no record."""
    return task_status_key(task), _status(status)


def task_status_key(task: TaskId) -> bytes:
    """The key of the record that says what a task does."""
    return _key(TASK_STATUS, str(task))


def topic_status(status: TopicStatus) -> Write:
    """A topic that a connector uses."""
    told = {
        "name": status.topic,
        "connector": status.connector,
        "task": status.task,
        "discoverTimestamp": status.discovered_ms,
    }
    return topic_status_key(status.connector, status.topic), json_text.encode({"topic": told})


def topic_status_key(connector: str, topic: str) -> bytes:
    """The key of the record that says a connector uses a topic."""
    return f"{TOPIC_STATUS}{topic}{OF_CONNECTOR}{connector}".encode()


def _status(status: Status) -> bytes | None:
    if status.state is State.DESTROYED:
        return None
    told = {
        "state": status.state.value,
        "trace": status.trace,
        "worker_id": status.worker_id,
        "generation": status.generation,
        "version": status.version,
    }
    return json_text.encode(told)


def _key(prefix: str, name: str) -> bytes:
    return (prefix + name).encode()


def task_of(text: str) -> TaskId | None:
    """The task that `N-0` names; None if it names none."""
    name, dash, number = text.rpartition("-")
    if not dash or not name or not (number.isascii() and number.removeprefix("+").isdigit()):
        return None
    digits = number.removeprefix("+").lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS or int(digits) >= 1 << 31:
        return None
    return TaskId(name, int(digits))
