"""What a task may ask of the loop that runs it, and what the host asks of the loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeAlias

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state.records import State
from headrace.pipelines.connect.tasks import Partition

Report: TypeAlias = Callable[[State], None]
"""Hears of RUNNING and PAUSED in the task's thread."""


class LoopContext:
    """The `TaskContext` of a task in a loop. Other threads may stop, pause and resume it."""

    def __init__(
        self,
        task: TaskId,
        on_reconfigure: Callable[[], None],
        on_topic: Callable[[str], None] = lambda topic: None,
    ) -> None:
        self.connector = task.connector
        self.task = task.task
        self.stopping = threading.Event()
        self.is_abandoned = False
        """It was asked to stop and did not in time: its successor may have begun by now."""
        self.seeks: dict[Partition, int] = {}
        self._going = threading.Event()
        self._going.set()
        self._on_reconfigure = on_reconfigure
        self._on_topic = on_topic
        self._topics: set[str] = set()

    # -- the task asks ----------------------------------------------------------------------------

    def wait(self, seconds: float) -> bool:
        """Wait, but no longer than until the task must stop; true if it must."""
        return self.stopping.wait(seconds)

    def reconfigure(self) -> None:
        """Ask for new task settings."""
        self._on_reconfigure()

    def seek(self, offsets: Mapping[Partition, int]) -> None:
        """Read these partitions on from these offsets."""
        self.seeks |= offsets

    # -- the host asks ----------------------------------------------------------------------------

    def stop(self) -> None:
        """End soon, paused or not."""
        self.stopping.set()
        self._going.set()

    def abandon(self) -> None:
        """Stop waiting for its end; from here on it does not speak for its task."""
        self.is_abandoned = True

    def pause(self) -> None:
        """Rest before the next turn."""
        if not self.stopping.is_set():
            self._going.clear()

    def resume(self) -> None:
        """Go on."""
        self._going.set()

    # -- the loop asks ----------------------------------------------------------------------------

    @property
    def paused(self) -> bool:
        """Whether the loop shall rest."""
        return not self._going.is_set()

    def until_resumed(self) -> bool:
        """Rest; true if the task goes on, false if it must stop."""
        self._going.wait()
        return not self.stopping.is_set()

    def uses(self, topic: str) -> None:
        """Report a topic as used, once between two calls of `settled`."""
        if topic not in self._topics:
            self._topics.add(topic)
            self._on_topic(topic)

    def settled(self) -> None:
        """A commit is done: topics that are used from here on are reported anew."""
        self._topics.clear()
