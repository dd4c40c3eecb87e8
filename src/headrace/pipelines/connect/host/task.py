"""What a task may ask of the loop that runs it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.tasks import Partition


class LoopContext:
    """The `TaskContext` of a task in a loop."""

    def __init__(self, task: TaskId, on_reconfigure: Callable[[], None]) -> None:
        self.connector = task.connector
        self.task = task.task
        self.stopping = threading.Event()
        self.seeks: dict[Partition, int] = {}
        self._on_reconfigure = on_reconfigure

    def wait(self, seconds: float) -> bool:
        """Wait, but no longer than until the task must stop; true if it must."""
        return self.stopping.wait(seconds)

    def reconfigure(self) -> None:
        """Ask for new task settings."""
        self._on_reconfigure()

    def seek(self, offsets: Mapping[Partition, int]) -> None:
        """Read these partitions on from these offsets."""
        self.seeks |= offsets
