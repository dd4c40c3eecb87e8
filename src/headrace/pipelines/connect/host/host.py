"""Tasks in threads. The state of each is reported, with a trace if it failed."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.host.assembly import TaskSpec, assembled
from headrace.pipelines.connect.host.task import LoopContext
from headrace.pipelines.connect.state.records import State
from headrace.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)
OnState = Callable[[TaskId, State, str | None], None]
"""Hears of a task's states in the task's thread; a trace comes with FAILED."""
OnReconfigure = Callable[[str], None]
"""Called when a connector asks for new task settings."""


@dataclass(frozen=True, slots=True)
class _Running:
    context: LoopContext
    thread: threading.Thread


class Host:
    """The tasks of one process."""

    def __init__(self, clock: Clock, on_state: OnState, on_reconfigure: OnReconfigure) -> None:
        self._clock = clock
        self._on_state = on_state
        self._on_reconfigure = on_reconfigure
        self._tasks: dict[TaskId, _Running] = {}

    def start(self, spec: TaskSpec) -> None:
        """Start a task that is not running."""
        assert spec.id not in self._tasks, "a task runs once"
        context = LoopContext(spec.id, lambda: self._on_reconfigure(spec.id.connector))
        thread = threading.Thread(
            target=self._run, args=(spec, context), name=f"task {spec.id}", daemon=True
        )
        self._tasks[spec.id] = _Running(context, thread)
        thread.start()

    def stop(self, tasks: list[TaskId], timeout_s: float) -> list[TaskId]:
        """Ask these to stop and wait for them; returns those that have not ended in time."""
        running = {task: self._tasks[task] for task in tasks if task in self._tasks}
        for each in running.values():
            each.context.stopping.set()
        until = self._clock.monotonic_ms() + timeout_s * 1000
        late = []
        for task, each in running.items():
            each.thread.join(max(0.0, (until - self._clock.monotonic_ms()) / 1000))
            del self._tasks[task]
            if each.thread.is_alive():
                _LOG.error("task %s has not stopped within %g s and is left alone", task, timeout_s)
                late.append(task)
        return late

    @property
    def tasks(self) -> list[TaskId]:
        """Those that were started and not stopped, failed ones included."""
        return list(self._tasks)

    def _run(self, spec: TaskSpec, context: LoopContext) -> None:
        try:
            run = assembled(spec, context, self._clock)
            run(lambda: self._on_state(spec.id, State.RUNNING, None))
        except Exception as fault:
            self._on_state(spec.id, State.FAILED, "".join(traceback.format_exception(fault)))
        else:
            self._on_state(spec.id, State.UNASSIGNED, None)
