"""Poll, transform, convert, produce; keep the source's offsets only when brokers have the records.

At least once: offsets are kept every `offset.flush.interval.ms`, whenever the source has nothing
new, and at the end. What was polled after the last time is polled again after a crash.
`transactional_loop` keeps them together with the records instead.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.faults import RetriableException
from headrace.pipelines.connect.host.output import Output
from headrace.pipelines.connect.host.source_records import SourceRecords, Written
from headrace.pipelines.connect.host.task import LoopContext, Report
from headrace.pipelines.connect.model.batch import Batch, Mark, Position
from headrace.pipelines.connect.state.records import State
from headrace.pipelines.connect.tasks import Offsets, SourceTask
from headrace.runtime.clock import Clock

_IDLE_S: Final = 0.1
"""The rest after a poll that brought nothing and did not rest by itself."""
_LOG: Final = logging.getLogger(__name__)


@runtime_checkable
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
    read: Offsets
    clock: Clock
    flush_interval_ms: int
    on_closed: Callable[[], None]


class SourceLoop:
    """What every source's loop does. Kinds differ in when offsets are kept, and how."""

    def __init__(self, parts: SourceParts) -> None:
        self.parts = parts
        self._marks: dict[str, Mark] = {}

    def run(self, report: Report) -> None:
        """Run until the context says stop; raises what ends the task."""
        task, context = self.parts.task, self.parts.context
        task.context = context
        try:
            self.begin()
            task.open(self.parts.settings, self.parts.read)
            report(State.RUNNING)
            while not context.stopping.is_set():
                if context.paused:
                    self.before_pause()
                    report(State.PAUSED)
                    if context.until_resumed():
                        report(State.RUNNING)
                    continue
                brought = self._turn()
                self.after_turn(brought=brought)
                if not brought:
                    context.wait(_IDLE_S)
            self.end()
        finally:
            try:
                task.close()
            finally:
                self.parts.on_closed()

    def begin(self) -> None:
        """Called before the task opens."""

    def after_batch(self) -> None:
        """Called when a batch was sent."""

    def after_turn(self, *, brought: bool) -> None:
        """Called after each poll, whether it brought something or not."""

    def before_pause(self) -> None:
        """Called before the task rests."""

    def end(self) -> None:
        """Called when the task was asked to stop."""

    def send(self, batch: Batch) -> None:
        """Send a batch, and remember how far the source is with it."""
        for written in self.written(batch):
            self.parts.output.send(written)
            self.parts.context.uses(written.topic)
        for mark in batch.marks:
            key = repr(sorted(mark.partition.items()))
            self._marks.pop(key, None)
            self._marks[key] = mark

    def written(self, batch: Batch) -> list[Written]:
        """A batch as it is written to topics."""
        return self.parts.records.written(batch)

    def take_marks(self) -> list[Mark]:
        """How far each partition of the source is, of those that have moved since the last time."""
        marks, self._marks = list(self._marks.values()), {}
        return marks

    def committed(self, marks: list[Mark]) -> None:
        """Tell the task what is safe."""
        for mark in marks:
            self.parts.task.commit(mark.partition, mark.offset)
        self.parts.context.settled()

    def _turn(self) -> bool:
        """Send what one poll brings; false if it brought nothing."""
        brought = False
        for batch in self._polled():
            brought = True
            self.send(batch)
            self.after_batch()
            if self.parts.context.stopping.is_set():
                break
        return brought

    def _polled(self) -> Iterator[Batch]:
        try:
            yield from self.parts.task.poll()
        except RetriableException as fault:
            _LOG.warning("the source asks to try again: %s", fault)


class AtLeastOnce(SourceLoop):
    """Flush, then keep offsets."""

    def __init__(self, parts: SourceParts, offsets: OffsetStore) -> None:
        super().__init__(parts)
        self._offsets = offsets
        self._due_ms = parts.clock.monotonic_ms() + parts.flush_interval_ms

    def after_turn(self, *, brought: bool) -> None:
        if not brought or self.parts.clock.monotonic_ms() >= self._due_ms:
            self._settle()

    def before_pause(self) -> None:
        self._settle()

    def end(self) -> None:
        self._settle()

    def _settle(self) -> None:
        """Have all acknowledged, then keep how far each partition of the source is."""
        parts = self.parts
        self._due_ms = parts.clock.monotonic_ms() + parts.flush_interval_ms
        marks = self.take_marks()
        if not marks:
            return
        parts.output.flush()
        if parts.context.is_abandoned:
            return  # whoever runs in its place may be further
        self._offsets.keep([(mark.partition, mark.offset) for mark in marks])
        self.committed(marks)
