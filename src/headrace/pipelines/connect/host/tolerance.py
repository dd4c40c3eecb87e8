"""What a fault of one record means: tried again, dropped and reported, or the end of the task.

The settings are Connect's `errors.*`. A fault that may pass is tried again for as long as
`errors.retry.timeout` says, with pauses that double up to `errors.retry.delay.max.ms`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeVar

from headrace.pipelines.connect.faults import ConnectException, RetriableException
from headrace.runtime.clock import Clock

_T = TypeVar("_T")
_FIRST_PAUSE_MS: Final = 300
NO_END: Final = -1
_LOG: Final = logging.getLogger(__name__)


class Stage(Enum):
    """What was done with the record."""

    TRANSFORMATION = "TRANSFORMATION"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TASK_PUT = "TASK_PUT"
    TASK_POLL = "TASK_POLL"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    KAFKA_CONSUME = "KAFKA_CONSUME"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a record does not go on."""

    stage: Stage
    executing: str
    """The class that failed, by the name that the configuration has for it."""
    fault: Exception


class RecordFailed(Exception):
    """A step failed for a record; the caller knows which record it was."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure.fault))
        self.failure = failure


@dataclass(frozen=True, slots=True)
class ErrorSettings:
    """`errors.*` of a connector."""

    tolerates_all: bool = False
    retry_timeout_ms: int = 0
    retry_delay_max_ms: int = 60_000
    logs: bool = False
    logs_messages: bool = False


class Tolerance:
    """The error handling of one task. `wait` rests, and says whether the task shall stop."""

    def __init__(
        self, settings: ErrorSettings, clock: Clock, wait: Callable[[float], bool], task: str
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._wait = wait
        self._task = task
        self.failed = 0
        """Records that did not go on."""

    def attempt(self, stage: Stage, executing: str, step: Callable[[], _T]) -> _T:
        """What `step` returns; RecordFailed if it cannot be had."""
        began = self._clock.monotonic_ms()
        pause_ms = _FIRST_PAUSE_MS
        while True:
            try:
                return step()
            except RetriableException as fault:
                if not self._may_retry(began, pause_ms) or self._wait(pause_ms / 1000):
                    raise RecordFailed(Failure(stage, executing, fault)) from fault
                pause_ms = min(pause_ms * 2, self._settings.retry_delay_max_ms)
            except Exception as fault:
                raise RecordFailed(Failure(stage, executing, fault)) from fault

    def _may_retry(self, began_ms: int, pause_ms: int) -> bool:
        limit = self._settings.retry_timeout_ms
        return limit == NO_END or self._clock.monotonic_ms() - began_ms + pause_ms <= limit

    def drop(self, failure: Failure, which: str, shown: Callable[[], str]) -> None:
        """Count the record as dropped; ConnectException if that is not tolerated.

        `which` says where the record is from, `shown` what it holds, for the log.
        """
        self.failed += 1
        if self._settings.logs:
            told = f": {shown()}" if self._settings.logs_messages else ""
            _LOG.error(
                "Error encountered in task %s. Executing stage '%s' with class '%s' for %s%s",
                self._task,
                failure.stage.value,
                failure.executing,
                which,
                told,
                exc_info=failure.fault,
            )
        if not self._settings.tolerates_all:
            raise ConnectException(
                f"Tolerance exceeded in error handler: {failure.stage.value} by "
                f"{failure.executing} of {which}: {failure.fault}"
            ) from failure.fault
