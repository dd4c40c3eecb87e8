"""What the status topic says: what connectors and tasks do, where, and which topics they use.

Records count as they come, but for one: a task that runs is not unassigned by a record of the same
or an earlier generation, which a worker that lost it may have written late. What a worker may write
is another matter: `may_write` keeps it from speaking for the new owner.
"""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state import json_text, records
from headrace.pipelines.connect.state.records import State, Status, TopicStatus, Write

_FIELDS: Final = ("state", "worker_id", "generation")


def may_write(known: Status | None, status: Status) -> bool:
    """Whether `status` may follow `known`: from the same worker, or not of an older generation."""
    return (
        known is None
        or known.worker_id == status.worker_id
        or known.generation <= status.generation
    )


class StatusLog:
    """The state after every record that was replayed."""

    def __init__(self) -> None:
        self._connectors: dict[str, Status] = {}
        self._tasks: dict[str, dict[int, Status]] = {}
        self._topics: dict[str, dict[str, TopicStatus]] = {}

    def replay(self, key: bytes | None, value: bytes | None) -> None:
        """Take a record into the state; one that is no status is passed over."""
        name = "" if key is None else key.decode(errors="replace")
        try:
            told = None if value is None else json_text.decode(value)
        except DataException:
            return
        if name.startswith(records.CONNECTOR_STATUS):
            self._connector(name.removeprefix(records.CONNECTOR_STATUS), told)
        elif name.startswith(records.TASK_STATUS):
            self._task(records.task_of(name.removeprefix(records.TASK_STATUS)), told)
        elif name.startswith(records.TOPIC_STATUS):
            self._topic(name.removeprefix(records.TOPIC_STATUS), told)

    def connector(self, name: str) -> Status | None:
        """What a connector does, if anybody has said so."""
        return self._connectors.get(name)

    def connectors(self) -> frozenset[str]:
        """The connectors of which something was said."""
        return frozenset(self._connectors)

    def task(self, task: TaskId) -> Status | None:
        """What a task does, if anybody has said so."""
        return self._tasks.get(task.connector, {}).get(task.task)

    def tasks(self, connector: str) -> dict[TaskId, Status]:
        """What the tasks of a connector do."""
        known = self._tasks.get(connector, {})
        return {TaskId(connector, number): known[number] for number in sorted(known)}

    def topics(self, connector: str) -> list[TopicStatus]:
        """The topics that a connector was seen to use."""
        return list(self._topics.get(connector, {}).values())

    def topic_resets(self, connector: str) -> list[Write]:
        """The records after which a connector uses no topics."""
        known = self._topics.get(connector, {})
        return [(records.topic_status_key(connector, topic), None) for topic in known]

    def removal(self, connector: str) -> list[Write]:
        """The records after which nothing is known of a connector and its tasks."""
        tasks = [(records.task_status_key(task), None) for task in self.tasks(connector)]
        return [
            *tasks,
            (records.connector_status_key(connector), None),
            *self.topic_resets(connector),
        ]

    def _connector(self, name: str, told: object) -> None:
        if not name:
            return
        if told is None:
            self._connectors.pop(name, None)
            self._tasks.pop(name, None)
        elif (status := _status(told)) is not None:
            self._connectors[name] = status

    def _task(self, task: TaskId | None, told: object) -> None:
        if task is None:
            return
        if told is None:
            self._tasks.get(task.connector, {}).pop(task.task, None)
        elif (status := _status(told)) is not None and not _is_late(self.task(task), status):
            self._tasks.setdefault(task.connector, {})[task.task] = status

    def _topic(self, place: str, told: object) -> None:
        topic, _, connector = place.partition(records.OF_CONNECTOR)
        if not topic or not connector:
            return
        if told is None:
            self._topics.get(connector, {}).pop(topic, None)
        elif (status := _topic_status(told)) is not None:
            self._topics.setdefault(connector, {})[topic] = status


def _is_late(known: Status | None, status: Status) -> bool:
    return (
        known is not None
        and known.state is State.RUNNING
        and status.state is State.UNASSIGNED
        and status.generation <= known.generation
    )


def _status(told: object) -> Status | None:
    if not isinstance(told, dict):
        return None
    state, worker, generation = (told.get(name) for name in _FIELDS)
    if not isinstance(state, str) or state not in State.__members__:
        return None
    if not isinstance(worker, str) or not isinstance(generation, int):
        return None
    trace, version = told.get("trace"), told.get("version")
    return Status(
        State(state),
        worker,
        generation,
        trace if isinstance(trace, str) else None,
        version if isinstance(version, str) else None,
    )


def _topic_status(told: object) -> TopicStatus | None:
    fields = told.get("topic") if isinstance(told, dict) else None
    if not isinstance(fields, dict):
        return None
    name, connector = fields.get("name"), fields.get("connector")
    task, discovered = fields.get("task"), fields.get("discoverTimestamp")
    if not isinstance(name, str) or not isinstance(connector, str):
        return None
    if not isinstance(task, int) or not isinstance(discovered, int):
        return None
    return TopicStatus(name, connector, task, discovered)
