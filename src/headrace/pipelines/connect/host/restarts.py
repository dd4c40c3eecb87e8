"""Whether a task that failed is restarted without being asked, and after how long.

`headrace.task.restart=on-failure` restarts it; Connect never does, which is the default. The delay
doubles with each restart of the last hour, so that a task that has recovered begins with the
shortest one again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final

from headrace.pipelines.connect.config import connector as keys

_HOUR_MS: Final = 3_600_000


class Restarts:
    """The restarts of one task."""

    def __init__(self, config: Mapping[str, str]) -> None:
        settings = keys.OURS.read(config)
        self._wanted = settings["headrace.task.restart"] == "on-failure"
        self._first_ms = int(str(settings["headrace.task.restart.delay.ms"]))
        self._most_ms = int(str(settings["headrace.task.restart.delay.max.ms"]))
        self._per_hour = int(str(settings["headrace.task.restart.max.per.hour"]))
        self._done: deque[int] = deque()

    def delay_ms(self, now_ms: int) -> int | None:
        """After a failure: how long to wait before the restart; None: the task stays failed."""
        while self._done and now_ms - self._done[0] >= _HOUR_MS:
            self._done.popleft()
        before = len(self._done)
        if not self._wanted or before >= self._per_hour:
            return None
        self._done.append(now_ms)
        return int(min(self._first_ms * 2 ** min(before, 32), self._most_ms))
