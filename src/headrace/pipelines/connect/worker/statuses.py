"""What this worker says of the connectors and tasks that it runs."""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state.records import Settings, State, Status, TopicStatus
from headrace.pipelines.connect.worker.status_topic import StatusTopic
from headrace.runtime.clock import Clock

_MOST_OF_AN_END: Final = 32 << 10
"""Characters of a trace, at each of its ends."""


class Statuses:
    """Under one worker id; `generation` is that of the last round."""

    def __init__(
        self, topic: StatusTopic, worker_id: str, clock: Clock, *, notes_topics: bool
    ) -> None:
        self._topic = topic
        self._worker_id = worker_id
        self._clock = clock
        self._notes_topics = notes_topics
        self.generation = 0

    def connector(
        self, name: str, state: State, config: Settings | None, trace: str | None = None
    ) -> None:
        """Say what a connector does; without its settings, what becomes of it afterwards."""
        status = self._made(state, config, trace)
        self._topic.tell_connector(name, status, safely=_is_an_end(state))

    def task(
        self, task: TaskId, state: State, config: Settings | None, trace: str | None = None
    ) -> None:
        """Say what a task does; without its connector's settings, what becomes of it afterwards."""
        status = self._made(state, config, trace)
        self._topic.tell_task(task, status, safely=_is_an_end(state))

    def topic(self, task: TaskId, topic: str) -> None:
        """Say that a task uses a topic."""
        if self._notes_topics:
            now_ms = self._clock.now_ms()
            self._topic.tell_topic(TopicStatus(topic, task.connector, task.task, now_ms))

    def _made(self, state: State, config: Settings | None, trace: str | None) -> Status:
        version = None if config is None else _version(config)
        told = None if trace is None else _cut(trace)
        return Status(state, self._worker_id, self.generation, told, version)


def _cut(trace: str) -> str:
    """What fits into a record that every broker takes: how it begins, and how it ends."""
    left_out = len(trace) - 2 * _MOST_OF_AN_END
    if left_out <= 0:
        return trace
    begin, end = trace[:_MOST_OF_AN_END], trace[-_MOST_OF_AN_END:]
    return f"{begin}\n... {left_out} characters are left out ...\n{end}"


def _is_an_end(state: State) -> bool:
    return state in (State.UNASSIGNED, State.FAILED)


def _version(config: Settings) -> str | None:
    try:
        return plugins.find(config.get(keys.CLASS, "")).version
    except ConnectException:
        return None
