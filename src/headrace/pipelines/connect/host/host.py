"""Tasks in threads. The state of each is reported, with a trace if it failed.

    UNASSIGNED ── start ──> RUNNING <── pause, resume ──> PAUSED
                            RUNNING ── a fault ──> FAILED (── after a delay, if wanted ──> RUNNING)

A task that is started paused opens nothing before it is resumed.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.host.assembly import TaskSpec, assembled
from headrace.pipelines.connect.host.restarts import Restarts
from headrace.pipelines.connect.host.task import LoopContext
from headrace.pipelines.connect.state.records import State
from headrace.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)
OnState = Callable[[TaskId, State, str | None], None]
"""Hears of a task's states in a thread of the host; a trace comes with FAILED."""
OnReconfigure = Callable[[str], None]
"""Called when a connector asks for new task settings."""
OnTopic = Callable[[TaskId, str], None]
"""Called when a task reads or writes a topic; not for every record, but again after commits."""


@dataclass(frozen=True, slots=True)
class _Running:
    context: LoopContext
    thread: threading.Thread


class Host:
    """The tasks of one process."""

    def __init__(
        self,
        clock: Clock,
        on_state: OnState,
        on_reconfigure: OnReconfigure,
        on_topic: OnTopic = lambda task, topic: None,
    ) -> None:
        self._clock = clock
        self._on_state = on_state
        self._on_reconfigure = on_reconfigure
        self._on_topic = on_topic
        self._tasks: dict[TaskId, _Running] = {}

    def start(self, spec: TaskSpec) -> None:
        """Start a task that is not running."""
        assert spec.id not in self._tasks, "a task runs once"
        context = LoopContext(
            spec.id,
            lambda: self._on_reconfigure(spec.id.connector),
            lambda topic: self._on_topic(spec.id, topic),
        )
        if spec.paused:
            context.pause()
        thread = threading.Thread(
            target=self._run, args=(spec, context), name=f"task {spec.id}", daemon=True
        )
        self._tasks[spec.id] = _Running(context, thread)
        thread.start()

    def stop(self, tasks: Iterable[TaskId], timeout_s: float) -> list[TaskId]:
        """Ask these to stop and wait for them; returns those that have not ended in time."""
        running = {task: self._tasks[task] for task in tasks if task in self._tasks}
        for each in running.values():
            each.context.stop()
        until = self._clock.monotonic_ms() + timeout_s * 1000
        late = []
        for task, each in running.items():
            each.thread.join(max(0.0, (until - self._clock.monotonic_ms()) / 1000))
            del self._tasks[task]
            if each.thread.is_alive():
                each.context.abandon()
                _LOG.error("task %s has not stopped within %g s and is left alone", task, timeout_s)
                late.append(task)
        return late

    def pause(self, tasks: Iterable[TaskId]) -> None:
        """Let these rest; each reports PAUSED once it does. Failed ones stay as they are."""
        for task in tasks:
            if task in self._tasks:
                self._tasks[task].context.pause()

    def resume(self, tasks: Iterable[TaskId]) -> None:
        """Let these go on; each reports RUNNING."""
        for task in tasks:
            if task in self._tasks:
                self._tasks[task].context.resume()

    def close(self, timeout_s: float) -> None:
        """Stop every task."""
        self.stop(self.tasks, timeout_s)

    @property
    def tasks(self) -> list[TaskId]:
        """Those that were started and not stopped, failed ones included."""
        return list(self._tasks)

    def _run(self, spec: TaskSpec, context: LoopContext) -> None:
        restarts = Restarts(spec.config)

        def report(state: State, trace: str | None = None) -> None:
            # One that was left alone has nothing to say about its successor.
            running = self._tasks.get(spec.id)
            if running is not None and running.context is context:
                self._on_state(spec.id, state, trace)

        while True:
            try:
                if context.paused:
                    report(State.PAUSED)
                    context.until_resumed()
                if not context.stopping.is_set():
                    assembled(spec, context, self._clock)(report)
                report(State.UNASSIGNED)
                return
            except BaseException as fault:  # libraries in Rust panic with what is no `Exception`
                report(State.FAILED, _trace(fault))
            delay_ms = restarts.delay_ms(self._clock.monotonic_ms())
            if delay_ms is None or context.wait(delay_ms / 1000):
                return
            context.seeks.clear()


def _trace(fault: BaseException) -> str:
    """In characters that can be sent: names of files, say, may have others."""
    trace = "".join(traceback.format_exception(fault))
    return trace.encode(errors="backslashreplace").decode()
