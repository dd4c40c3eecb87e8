"""A worker alone: connectors from files, offsets in a file, everything in this process.

    worker.properties + connector files ── divided into tasks ── host (threads)

A task that fails is left alone; the others go on.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.faults import ConfigException, ConnectException
from headrace.pipelines.connect.host.assembly import TaskSpec
from headrace.pipelines.connect.host.host import Host, OnState
from headrace.pipelines.connect.host.task import State, TaskId
from headrace.pipelines.connect.tasks import connector_of
from headrace.pipelines.connect.worker.offset_file import OffsetFile
from headrace.runtime.clock import Clock

_FLUSH_INTERVAL_MS: Final = 60_000
_STOP_TIMEOUT_MS: Final = 5_000
OFFSET_FILE: Final = "offset.storage.file.filename"


@dataclass(frozen=True, slots=True)
class Status:
    """What became of a task."""

    state: State
    trace: str | None = None


class Standalone:
    """The worker. `tell` hears of every state of a task, in the task's thread."""

    def __init__(self, settings: Mapping[str, str], clock: Clock, tell: OnState) -> None:
        for name in (keys.CONVERTERS[0], keys.CONVERTERS[1], OFFSET_FILE):
            if not settings.get(name):
                raise ConfigException(
                    f'Missing required configuration "{name}" which has no default value.'
                )
        self._settings = settings
        self._offsets = OffsetFile(Path(settings[OFFSET_FILE]))
        self._connectors: dict[str, Mapping[str, str]] = {}
        self.statuses: dict[TaskId, Status] = {}
        self.changed = threading.Condition()
        self._tell = tell
        self._stopping = threading.Event()
        self._host = Host(clock, self._on_state, self._divide_anew)

    def create(self, config: Mapping[str, str]) -> list[TaskId]:
        """Start a connector; ConfigException or ConnectException: it cannot be."""
        name = config.get(keys.NAME, "")
        if not name:
            raise ConfigException(
                f'Missing required configuration "{keys.NAME}" which has no default value.'
            )
        if name in self._connectors:
            raise ConnectException(f"Connector {name} already exists")
        divided = self._divided(config)
        self._connectors[name] = config
        return self._start(name, divided)

    def wait(self) -> None:
        """Return when somebody has called `stop`."""
        self._stopping.wait()

    def stop(self) -> None:
        """Stop every task, offsets kept."""
        self._stopping.set()
        timeout_ms = int(self._settings.get("task.shutdown.graceful.timeout.ms", _STOP_TIMEOUT_MS))
        self._host.stop(self._host.tasks, timeout_ms / 1000)

    def _divided(self, config: Mapping[str, str]) -> list[Mapping[str, str]]:
        """The settings of each task."""
        kind = plugins.find(str(keys.COMMON.read(config)[keys.CLASS])).load()
        said = connector_of(kind)
        common = (keys.SOURCE if said.kind == "source" else keys.SINK).read(config)
        most = int(str(common[keys.TASKS_MAX]))
        own = said.settings.of(config)
        return [{**config, **each} for each in kind.task_configs(own, most)]

    def _start(self, name: str, divided: Sequence[Mapping[str, str]]) -> list[TaskId]:
        flush_ms = int(self._settings.get("offset.flush.interval.ms", _FLUSH_INTERVAL_MS))
        started = []
        for number, config in enumerate(divided):
            task = TaskId(name, number)
            with self.changed:
                self.statuses[task] = Status(State.UNASSIGNED)
            offsets = self._offsets.of(name)
            self._host.start(TaskSpec(task, config, self._settings, offsets, flush_ms))
            started.append(task)
        return started

    def _divide_anew(self, name: str) -> None:
        """A connector has seen that its work is another: its tasks begin anew."""
        thread = threading.Thread(target=self._restart, args=(name,), daemon=True)
        thread.start()

    def _restart(self, name: str) -> None:
        divided = self._divided(self._connectors[name])
        before = [task for task in self._host.tasks if task.connector == name]
        self._host.stop(before, _STOP_TIMEOUT_MS / 1000)
        self._start(name, divided)

    def _on_state(self, task: TaskId, state: State, trace: str | None) -> None:
        with self.changed:
            self.statuses[task] = Status(state, trace)
            self.changed.notify_all()
        self._tell(task, state, trace)
