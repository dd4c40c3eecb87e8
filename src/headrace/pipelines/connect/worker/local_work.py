"""What runs in this process, brought in line with what shall.

`settle` compares: what the worker holds, what the settings say of it, and what was started. It
stops what must not run, or runs with other settings, and starts what is missing. What failed stays
as it is until its settings change or it is restarted.

Tasks that are paused stay where they are and rest.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.config.providers import Provider, resolved
from headrace.pipelines.connect.config.worker import WorkerConfig
from headrace.pipelines.connect.group.protocol import TaskId, Work
from headrace.pipelines.connect.herder.states import WANTED
from headrace.pipelines.connect.host.assembly import TaskSpec
from headrace.pipelines.connect.state.config_log import Snapshot
from headrace.pipelines.connect.state.records import Settings, State, TargetState
from headrace.pipelines.connect.worker.launcher import Launcher
from headrace.pipelines.connect.worker.offset_topic import OffsetTopics
from headrace.pipelines.connect.worker.remote_host import Listeners
from headrace.pipelines.connect.worker.statuses import Statuses
from headrace.runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class _Started:
    """What was started, and by which settings."""

    settings: Settings
    state: State


class LocalWork:
    """For the herder's thread. `divide` is called for a connector whose tasks may have changed;
    `may_start` says whether the tasks of a connector may begin, or must wait."""

    def __init__(
        self,
        settings: WorkerConfig,
        providers: Mapping[str, Provider],
        offsets: OffsetTopics,
        statuses: Statuses,
        clock: Clock,
        *,
        divide: Callable[[str], None],
        may_start: Callable[[Snapshot, str], bool],
    ) -> None:
        self._settings = settings
        self._providers = providers
        self._offsets = offsets
        self._statuses = statuses
        self._divide = divide
        self._may_start = may_start
        self._patience_s = settings.number("task.shutdown.graceful.timeout.ms") / 1000
        self._connectors: dict[str, _Started] = {}
        self._tasks: dict[TaskId, _Started] = {}
        listeners = Listeners(self._on_state, divide, statuses.topic)
        self._host = Launcher(settings, clock, listeners)

    @property
    def connectors(self) -> list[str]:
        """Those that were started here."""
        return list(self._connectors)

    @property
    def tasks(self) -> list[TaskId]:
        """Those that were started here, failed and paused ones included."""
        return list(self._tasks)

    def settle(self, held: Work, snapshot: Snapshot) -> None:
        """Run what the worker holds, as the settings say."""
        tasks = {
            task: _Started({**snapshot.connectors[task.connector], **config}, state)
            for task in held.tasks
            if task.connector in snapshot.connectors
            and task in snapshot.tasks(task.connector)
            and (config := snapshot.task_settings.get(task)) is not None
            and (state := _state_of(snapshot, task.connector)) is not State.STOPPED
        }
        connectors = {
            name: _Started(snapshot.connectors[name], _state_of(snapshot, name))
            for name in held.connectors
            if name in snapshot.connectors
        }
        wrong = [
            task
            for task, started in self._tasks.items()
            if task not in tasks or tasks[task].settings != started.settings
        ]
        self._stop(wrong)
        for task in wrong:
            # A task that is no more leaves no word: the leader removes what was said of it.
            if task not in tasks and task in snapshot.tasks(task.connector):
                self._statuses.task(task, State.UNASSIGNED, None)
        for name in [name for name in self._connectors if name not in connectors]:
            del self._connectors[name]
            if name in snapshot.connectors:
                self._statuses.connector(name, State.UNASSIGNED, None)
        for name, wanted in connectors.items():
            if self._connectors.get(name) != wanted:
                self._start_connector(name, wanted)
        for task, wanted in tasks.items():
            if task in self._tasks:
                self._turn(task, wanted)
            elif self._may_start(snapshot, task.connector):
                self._start_task(task, wanted)

    def restart_connector(self, name: str) -> None:
        """Start a connector anew, if it is here."""
        started = self._connectors.pop(name, None)
        if started is not None:
            self._statuses.connector(name, State.RESTARTING, None)
            self._start_connector(name, started)

    def restart_tasks(self, tasks: list[TaskId]) -> None:
        """Start those of these tasks anew that are here."""
        here = {task: self._tasks[task] for task in tasks if task in self._tasks}
        self._stop(list(here))
        for task, started in here.items():
            self._statuses.task(task, State.RESTARTING, None)
            self._start_task(task, started)

    def stop(self) -> None:
        """Stop everything."""
        tasks, connectors = list(self._tasks), list(self._connectors)
        self._stop(tasks)
        self._host.close(self._patience_s)
        self._connectors.clear()
        for task in tasks:
            self._statuses.task(task, State.UNASSIGNED, None)
        for name in connectors:
            self._statuses.connector(name, State.UNASSIGNED, None)

    def fail_connector(self, name: str, fault: Exception) -> None:
        """A connector cannot say what its tasks are."""
        started = self._connectors.get(name)
        if started is not None:
            trace = "".join(traceback.format_exception(fault))
            self._statuses.connector(name, State.FAILED, started.settings, trace)

    # -- one by one -------------------------------------------------------------------------------

    def _start_connector(self, name: str, wanted: _Started) -> None:
        self._connectors[name] = wanted
        self._statuses.connector(name, wanted.state, wanted.settings)
        if wanted.state is State.RUNNING:
            self._divide(name)

    def _turn(self, task: TaskId, wanted: _Started) -> None:
        """Pause or resume a task, if it does not do what it shall."""
        if self._tasks[task].state is not wanted.state:
            self._tasks[task] = wanted
            (self._host.pause if wanted.state is State.PAUSED else self._host.resume)([task])

    def _start_task(self, task: TaskId, wanted: _Started) -> None:
        self._tasks[task] = wanted
        try:
            self._host.start(self._spec(task, wanted))
        except Exception as fault:  # whatever its settings do, the other tasks must start
            trace = "".join(traceback.format_exception(fault))
            self._statuses.task(task, State.FAILED, wanted.settings, trace)

    def _spec(self, task: TaskId, wanted: _Started) -> TaskSpec:
        config = resolved(wanted.settings, self._providers)
        is_source = _is_source(config)
        in_transactions = is_source and self._settings.exactly_once
        return TaskSpec(
            task,
            config,
            self._settings.given,
            self._offsets.of(task.connector, config if is_source else {}),
            self._settings.number("offset.flush.interval.ms"),
            transactional_id(self._settings, task) if in_transactions else None,
            paused=wanted.state is State.PAUSED,
        )

    def _stop(self, tasks: list[TaskId]) -> None:
        self._host.stop([task for task in tasks if task in self._host.tasks], self._patience_s)
        for task in tasks:
            self._tasks.pop(task, None)

    def _on_state(self, task: TaskId, state: State, trace: str | None) -> None:
        """In the task's thread. Its end by order is reported by who gave the order."""
        started = self._tasks.get(task)
        if started is not None and state is not State.UNASSIGNED:
            self._statuses.task(task, state, started.settings, trace)


def _state_of(snapshot: Snapshot, name: str) -> State:
    return WANTED[snapshot.target_states.get(name, TargetState.STARTED)]


def transactional_id(settings: WorkerConfig, task: TaskId) -> str:
    """The id of a source task's producer, the same in every worker that runs the task."""
    return f"{settings.text('group.id')}-{task}"


def _is_source(config: Settings) -> bool:
    return plugins.find(config.get(keys.CLASS, "")).kind == "source"
