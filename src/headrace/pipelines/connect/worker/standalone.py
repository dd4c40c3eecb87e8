"""A worker alone: connectors from files, offsets in a file, everything in this process.

    worker.properties + connector files ── divided into tasks ── host (threads)

A task that fails is left alone; the others go on.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.config.providers import configured, resolved
from headrace.pipelines.connect.config.report import faults
from headrace.pipelines.connect.config.validate import validate
from headrace.pipelines.connect.config.worker import standalone
from headrace.pipelines.connect.faults import (
    AlreadyExistsException,
    ConfigException,
    ConnectException,
)
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.host.assembly import TaskSpec
from headrace.pipelines.connect.host.host import Host, OnState
from headrace.pipelines.connect.state.records import State
from headrace.pipelines.connect.tasks import connector_of
from headrace.pipelines.connect.worker.catalogue import Catalogue
from headrace.pipelines.connect.worker.machine import this_machine
from headrace.pipelines.connect.worker.offset_file import OffsetFile
from headrace.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)
OFFSET_FILE: Final = "offset.storage.file.filename"


@dataclass(frozen=True, slots=True)
class Status:
    """What became of a task."""

    state: State
    trace: str | None = None


class Standalone:
    """The worker. `tell` hears of every state of a task, in the task's thread."""

    def __init__(self, settings: Mapping[str, str], clock: Clock, tell: OnState) -> None:
        machine = this_machine()
        self._providers = configured(settings, machine)
        self._settings = standalone(resolved(settings, self._providers))
        self._offsets = OffsetFile(Path(self._settings.text(OFFSET_FILE)))
        self._connectors: dict[str, Mapping[str, str]] = {}
        self.statuses: dict[TaskId, Status] = {}
        self.changed = threading.Condition()
        self._tell = tell
        self._host = Host(clock, self._on_state, self._divide_anew)

    def create(self, given: Mapping[str, str]) -> list[TaskId]:
        """Start a connector; ConfigException or ConnectException: it cannot be."""
        config = resolved(given, self._providers)
        found = faults(validate(config, Catalogue(), self._settings.traits))
        if found:
            told = "; ".join(found)
            raise ConfigException(
                f"Connector configuration is invalid and contains {len(found)} error(s): {told}"
            )
        name = config[keys.NAME]
        if name in self._connectors:
            raise AlreadyExistsException(f"Connector {name} already exists")
        divided = self._divided(config)
        self._connectors[name] = config
        return self._start(name, divided)

    def stop(self) -> None:
        """Stop every task, offsets kept."""
        self._host.stop(self._host.tasks, self._stop_timeout_s)

    @property
    def _stop_timeout_s(self) -> float:
        return self._settings.number("task.shutdown.graceful.timeout.ms") / 1000

    def _divided(self, config: Mapping[str, str]) -> list[Mapping[str, str]]:
        """The settings of each task."""
        kind = plugins.find(str(keys.COMMON.read(config)[keys.CLASS])).load()
        said = connector_of(kind)
        common = (keys.SOURCE if said.kind == "source" else keys.SINK).read(config)
        most = int(str(common[keys.TASKS_MAX]))
        own = said.settings.of(config)
        return [{**config, **each} for each in kind.task_configs(own, most)]

    def _start(self, name: str, divided: Sequence[Mapping[str, str]]) -> list[TaskId]:
        flush_ms = self._settings.number("offset.flush.interval.ms")
        started = []
        for number, config in enumerate(divided):
            task = TaskId(name, number)
            with self.changed:
                self.statuses[task] = Status(State.UNASSIGNED)
            offsets = self._offsets.of(name)
            self._host.start(TaskSpec(task, config, self._settings.given, offsets, flush_ms))
            started.append(task)
        return started

    def _divide_anew(self, name: str) -> None:
        """Restart a connector's tasks with new settings."""
        thread = threading.Thread(target=self._restart, args=(name,), daemon=True)
        thread.start()

    def _restart(self, name: str) -> None:
        try:
            divided = self._divided(self._connectors[name])
        except (ConfigException, ConnectException) as fault:
            _LOG.error("connector %s keeps its tasks as they are: %s", name, fault)
            return
        before = [task for task in self._host.tasks if task.connector == name]
        self._host.stop(before, self._stop_timeout_s)
        self._start(name, divided)

    def _on_state(self, task: TaskId, state: State, trace: str | None) -> None:
        with self.changed:
            self.statuses[task] = Status(state, trace)
            self.changed.notify_all()
        self._tell(task, state, trace)
