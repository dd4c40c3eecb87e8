"""What the config topic says: a replay of its records, and the snapshot that decisions read.

Task settings are kept back until the commit that counts them. A commit that does not find all of
them makes the connector inconsistent: compaction has taken some away, and its tasks must be
configured anew. Records that make no sense are passed over, as Connect does; `replay` then gives
a `Strange` with the reason, for the log.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state import json_text, records
from headrace.pipelines.connect.state.records import (
    RestartRequest,
    SessionKey,
    Settings,
    TargetState,
)

NO_OFFSET: Final = -1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The cluster's settings up to an offset of the config topic, which is that of the next record.

    `applied` has the settings that a connector had when its tasks were last configured.
    """

    offset: int = NO_OFFSET
    connectors: Mapping[str, Settings] = field(default_factory=dict)
    target_states: Mapping[str, TargetState] = field(default_factory=dict)
    task_counts: Mapping[str, int] = field(default_factory=dict)
    task_settings: Mapping[TaskId, Settings] = field(default_factory=dict)
    fenced_counts: Mapping[str, int] = field(default_factory=dict)
    task_generations: Mapping[str, int] = field(default_factory=dict)
    applied: Mapping[str, Settings] = field(default_factory=dict)
    pending_fencing: frozenset[str] = frozenset()
    inconsistent: frozenset[str] = frozenset()
    session_key: SessionKey | None = None
    logger_levels: Mapping[str, str] = field(default_factory=dict)

    def tasks(self, connector: str) -> tuple[TaskId, ...]:
        """The tasks that a connector has; none while it is inconsistent."""
        if connector in self.inconsistent:
            return ()
        return tuple(
            TaskId(connector, number) for number in range(self.task_counts.get(connector, 0))
        )


# --- what a record has changed ---


@dataclass(frozen=True, slots=True)
class ConnectorChanged:
    """A connector is new, or has other settings."""

    connector: str


@dataclass(frozen=True, slots=True)
class ConnectorRemoved:
    """A connector is gone, and its tasks with it."""

    connector: str


@dataclass(frozen=True, slots=True)
class TasksChanged:
    """These tasks have settings that were committed."""

    connector: str
    tasks: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True)
class TargetStateChanged:
    """A connector shall do something else."""

    connector: str


@dataclass(frozen=True, slots=True)
class SessionKeyChanged:
    """Calls between workers are signed with another key."""

    key: SessionKey


@dataclass(frozen=True, slots=True)
class LoggerLevelChanged:
    """A logger shall have another level, on every worker."""

    logger: str
    level: str


@dataclass(frozen=True, slots=True)
class Strange:
    """A record that is passed over, and why."""

    reason: str


Change: TypeAlias = (
    ConnectorChanged
    | ConnectorRemoved
    | TasksChanged
    | TargetStateChanged
    | SessionKeyChanged
    | LoggerLevelChanged
    | RestartRequest
    | Strange
    | None
)
"""What follows from a record; None: nothing that anybody must act upon."""


class ConfigLog:
    """The state after every record that was replayed."""

    def __init__(self) -> None:
        self._offset = NO_OFFSET
        self._connectors: dict[str, Settings] = {}
        self._target_states: dict[str, TargetState] = {}
        self._task_counts: dict[str, int] = {}
        self._task_settings: dict[TaskId, Settings] = {}
        self._fenced_counts: dict[str, int] = {}
        self._task_generations: dict[str, int] = {}
        self._applied: dict[str, Settings] = {}
        self._pending_fencing: set[str] = set()
        self._inconsistent: set[str] = set()
        self._session: SessionKey | None = None
        self._logger_levels: dict[str, str] = {}
        self._deferred: dict[str, dict[TaskId, Settings]] = {}

    def snapshot(self) -> Snapshot:
        """What the records say, for as long as it is wanted."""
        return Snapshot(
            self._offset,
            dict(self._connectors),
            dict(self._target_states),
            dict(self._task_counts),
            dict(self._task_settings),
            dict(self._fenced_counts),
            dict(self._task_generations),
            dict(self._applied),
            frozenset(self._pending_fencing),
            frozenset(self._inconsistent),
            self._session,
            dict(self._logger_levels),
        )

    def replay(self, offset: int, key: bytes | None, value: bytes | None) -> Change:
        """Take the record at `offset` into the state."""
        try:
            told = None if value is None else json_text.decode(value)
        except DataException as fault:
            return Strange(str(fault))
        # Workers compare offsets: like Connect's, ours does not count what cannot be read at all.
        self._offset = offset + 1
        name = "" if key is None else key.decode(errors="replace")
        for prefix, take in _KINDS:
            if name.startswith(prefix):
                return take(self, name.removeprefix(prefix), told)
        if name == records.SESSION_KEY:
            return self._session_key(told)
        return Strange(f"no worker writes the key {name}")

    def _connector(self, name: str, told: object) -> Change:
        if told is None:
            self._remove(name)
            return ConnectorRemoved(name)
        settings = _properties(told)
        if settings is None:
            return Strange(f"the settings of connector {name} are not a map of texts")
        self._connectors[name] = settings
        self._target_states.setdefault(name, TargetState.STARTED)
        return ConnectorChanged(name)

    def _remove(self, name: str) -> None:
        for known in (self._connectors, self._task_counts, self._applied, self._deferred):
            known.pop(name, None)
        for task in [task for task in self._task_settings if task.connector == name]:
            del self._task_settings[task]

    def _task(self, text: str, told: object) -> Change:
        task = records.task_of(text)
        settings = _properties(told)
        if task is None or settings is None:
            return Strange(f"the settings of task {text} are not a map of texts")
        self._deferred.setdefault(task.connector, {})[task] = settings
        return None

    def _commit(self, name: str, told: object) -> Change:
        if name not in self._connectors:
            # The connector's own records are gone, compacted with the one that deleted it.
            self._remove(name)
            return None
        count = _number(told, "tasks")
        if count is None:
            return Strange(f"the commit of the tasks of {name} has no number of tasks")
        known = name in self._deferred
        deferred = self._deferred.get(name, {})
        written = {task.task for task in deferred}
        if all(number in written for number in range(count)):
            self._task_settings |= deferred
            self._applied[name] = self._connectors[name]
            self._inconsistent.discard(name)
            if known:
                self._task_generations[name] = self._task_generations.get(name, -1) + 1
        else:
            self._inconsistent.add(name)
            deferred = {}
        if known:
            self._deferred[name] = {}
        self._task_counts[name] = count
        self._pending_fencing.add(name)
        return TasksChanged(name, tuple(deferred))

    def _target_state(self, name: str, told: object) -> Change:
        if told is None:
            self._target_states.pop(name, None)
            if name in self._connectors:
                self._target_states[name] = TargetState.STARTED
            return None
        if not isinstance(told, dict):
            return Strange(f"the target state of connector {name} is not a map")
        # Workers that do not know STOPPED write `state` alone.
        text = told.get("state") if told.get("state.v2") is None else told["state.v2"]
        if not isinstance(text, str) or text not in TargetState.__members__:
            return Strange(f"connector {name} has an unknown target state {text}")
        before = self._target_states.get(name)
        self._target_states[name] = state = TargetState(text)
        changed = name in self._connectors and before is not state
        return TargetStateChanged(name) if changed else None

    def _fencing(self, name: str, told: object) -> Change:
        count = _number(told, "task-count")
        if count is None:
            return Strange(f"the record of fenced tasks of {name} has no number of tasks")
        self._fenced_counts[name] = count
        self._pending_fencing.discard(name)
        return None

    def _restart(self, name: str, told: object) -> Change:
        if not isinstance(told, dict):
            return Strange(f"the restart of connector {name} is not a map")
        only_failed, include_tasks = told.get("only-failed"), told.get("include-tasks")
        return RestartRequest(name, only_failed is True, include_tasks is True)

    def _logger(self, name: str, told: object) -> Change:
        level = told.get("level") if isinstance(told, dict) else None
        if not isinstance(level, str):
            return Strange(f"the level of logger {name} is not a string")
        self._logger_levels[name] = level
        return LoggerLevelChanged(name, level)

    def _session_key(self, told: object) -> Change:
        fields = told if isinstance(told, dict) else {}
        key, algorithm = fields.get("key"), fields.get("algorithm")
        created = fields.get("creation-timestamp")
        if not isinstance(key, str) or not isinstance(algorithm, str):
            return Strange("the session key has no key or no algorithm")
        if not isinstance(created, int):
            return Strange("the session key does not say when it was made")
        try:
            made = SessionKey(base64.b64decode(key, validate=True), algorithm, created)
        except ValueError as fault:  # characters beyond ASCII are no `binascii.Error`
            return Strange(f"the session key is not base64: {fault}")
        self._session = made
        return SessionKeyChanged(made)


_KINDS: Final = (
    (records.TARGET_STATE, ConfigLog._target_state),
    (records.CONNECTOR, ConfigLog._connector),
    (records.FENCING, ConfigLog._fencing),
    (records.TASK, ConfigLog._task),
    (records.COMMIT, ConfigLog._commit),
    (records.RESTART, ConfigLog._restart),
    (records.LOGGER, ConfigLog._logger),
)


def _properties(told: object) -> Settings | None:
    found = told.get("properties") if isinstance(told, dict) else None
    if not isinstance(found, dict):
        return None
    # Workers of Java write what they were sent, and a setting may be sent as null: it is not set.
    given = {name: text for name, text in found.items() if text is not None}
    return given if all(isinstance(text, str) for text in given.values()) else None


def _number(told: object, name: str) -> int | None:
    found = told.get(name) if isinstance(told, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
