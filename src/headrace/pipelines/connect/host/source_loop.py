"""Poll, transform, convert, produce; keep the source's offsets only when brokers have the records.

At least once: offsets are kept every `offset.flush.interval.ms`, whenever the source has nothing
new, and at the end. What was polled after the last time is polled again after a crash.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.faults import RetriableException
from headrace.pipelines.connect.host.output import Output
from headrace.pipelines.connect.host.source_records import SourceRecords
from headrace.pipelines.connect.host.task import LoopContext
from headrace.pipelines.connect.model.batch import Batch, Mark, Position
from headrace.pipelines.connect.tasks import SourceTask
from headrace.runtime.clock import Clock

_IDLE_S: Final = 0.1
"""The rest after a poll that brought nothing and did not rest by itself."""
_LOG: Final = logging.getLogger(__name__)


class OffsetStore(Protocol):
    """Where source offsets are kept."""

    def read(self, partition: Position) -> Mapping[str, object] | None:
        """What was kept last of a partition."""

    def keep(self, offsets: list[tuple[Position, Position]]) -> None:
        """Keep these, all or none; return when they are safe."""


@dataclass(frozen=True, slots=True)
class SourceParts:
    """What a source's loop is made of."""

    task: SourceTask
    settings: Config
    context: LoopContext
    records: SourceRecords
    output: Output
    offsets: OffsetStore
    clock: Clock
    flush_interval_ms: int
    on_closed: Callable[[], None]


def run_source(parts: SourceParts, on_running: Callable[[], None]) -> None:
    """Run until the context says stop; raises what ends the task."""
    task, context = parts.task, parts.context
    task.context = context
    loop = _SourceLoop(parts)
    try:
        task.open(parts.settings, parts.offsets.read)
        on_running()
        while not context.stopping.is_set():
            if not loop.turn():
                loop.settle()
                context.wait(_IDLE_S)
            elif parts.clock.monotonic_ms() >= loop.due_ms:
                loop.settle()
        loop.settle()
    finally:
        try:
            task.close()
        finally:
            parts.on_closed()


class _SourceLoop:
    def __init__(self, parts: SourceParts) -> None:
        self._parts = parts
        self._marks: dict[str, Mark] = {}
        self.due_ms = parts.clock.monotonic_ms() + parts.flush_interval_ms

    def turn(self) -> bool:
        """Send what one poll brings; false if it brought nothing."""
        parts = self._parts
        brought = False
        for batch in self._polled():
            brought = True
            for written in parts.records.written(batch):
                parts.output.send(written)
            for mark in batch.marks:
                key = repr(sorted(mark.partition.items()))
                self._marks.pop(key, None)
                self._marks[key] = mark
            if parts.context.stopping.is_set():
                break
        return brought

    def _polled(self) -> Iterator[Batch]:
        try:
            yield from self._parts.task.poll()
        except RetriableException as fault:
            _LOG.warning("the source asks to try again: %s", fault)

    def settle(self) -> None:
        """Have all acknowledged, then keep how far each partition of the source is."""
        parts = self._parts
        self.due_ms = parts.clock.monotonic_ms() + parts.flush_interval_ms
        if not self._marks:
            return
        parts.output.flush()
        marks, self._marks = list(self._marks.values()), {}
        parts.offsets.keep([(mark.partition, mark.offset) for mark in marks])
        for mark in marks:
            parts.task.commit(mark.partition, mark.offset)
