"""Fetch, convert, transform, put; commit offsets only when the sink has flushed.

At least once: what was put after the last commit is put again after a crash or a rebalance. A sink
that keeps its own positions (`SinkTask.assigned`) makes it exactly once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from headrace.client.consuming import Consumption, GroupConsumer, is_expelled
from headrace.client.reading import Read
from headrace.client.settings import ClientSettings
from headrace.errors import HeadraceError
from headrace.pipelines.columns.decode import decode_in_pieces
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.faults import RetriableException
from headrace.pipelines.connect.host.sink_records import Consumed, SinkRecords, consumed
from headrace.pipelines.connect.host.task import LoopContext, Report
from headrace.pipelines.connect.host.tolerance import Failure, Stage
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.state.records import State
from headrace.pipelines.connect.tasks import RowsRefused, SinkTask
from headrace.pipelines.source.gaps import Unfilled
from headrace.pipelines.source.selection import select
from headrace.pipelines.source.split import OffsetRange
from headrace.runtime.clock import Clock
from headrace.types import TopicPartition

_NO_END: Final = 2**63 - 1
_FIRST_PAUSE_S: Final = 0.5
_MOST_PAUSE_S: Final = 30.0
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SinkParts:
    """What a sink's loop is made of. `on_failed` reports a record that does not go on."""

    task: SinkTask
    settings: Config
    context: LoopContext
    records: SinkRecords
    client: ClientSettings
    consumption: Consumption
    on_failed: Callable[[Consumed, Failure], None]
    clock: Clock
    class_name: str
    commit_interval_ms: int = 60_000
    on_settled: Callable[[], None] = field(default=lambda: None)
    """Called before offsets are committed: what was reported on the way must be safe by then."""
    on_closed: Callable[[], None] = field(default=lambda: None)


def run_sink(parts: SinkParts, report: Report) -> None:
    """Run until the context says stop; raises what ends the task."""
    parts.task.context = parts.context
    loop = _SinkLoop(parts)
    try:
        parts.task.open(parts.settings)
        loop.consumer.start()
        report(State.RUNNING)
        while not parts.context.stopping.is_set():
            if parts.context.paused:
                loop.settle()
                report(State.PAUSED)
                while parts.context.paused:
                    loop.consumer.stay()
                if not parts.context.stopping.is_set():
                    report(State.RUNNING)
            else:
                loop.turn()
    finally:
        try:
            loop.consumer.close()
        finally:
            try:
                parts.task.close()
            finally:
                parts.on_closed()


class _SinkLoop:
    def __init__(self, parts: SinkParts) -> None:
        self._parts = parts
        self._done: dict[TopicPartition, int] = {}
        self._safe: dict[TopicPartition, int] = {}
        self._pause_s = 0.0
        self._due_ms = parts.clock.monotonic_ms() + parts.commit_interval_ms
        self.consumer = GroupConsumer(
            parts.client,
            parts.consumption,
            on_assigned=self._assigned,
            on_revoked=self._revoked,
            on_lost=self._lost,
        )

    def turn(self) -> None:
        """Put what one poll brings."""
        self._follow_seeks()
        reads = self.consumer.poll()
        pieces = [(read, self._rows(read)) for read in reads]
        self.consumer.ask()
        for number, (read, tables) in enumerate(pieces):
            try:
                for table in tables:
                    self._put_all(read.place, table)
                    self._done[read.place] = table.column("offset")[-1].as_py() + 1
            except RetriableException as fault:
                self._go_back([each for each, _ in pieces[number:]], fault)
                return
            if read.place in self.consumer.positions:
                self._done[read.place] = self.consumer.positions[read.place]
        self._pause_s = 0.0
        if self._parts.clock.monotonic_ms() >= self._due_ms:
            self.settle()

    def settle(self) -> None:
        """Flush and commit now; what cannot be flushed is put again."""
        try:
            self._settle()
        except Exception as fault:
            self._rewind(fault)

    def _rows(self, read: Read) -> Iterator[pa.RecordBatch]:
        """What was read, as rows to be decoded one piece at a time; the position is set at once."""
        assert read.fetched is not None
        topic, partition = read.place
        self._parts.context.uses(topic)
        wanted = OffsetRange(topic, partition, read.offset, _NO_END)
        self._safe.setdefault(read.place, read.offset)
        self._parts.context.uses(topic)
        committed = self._parts.consumption.read_committed
        found = select(read.fetched, wanted, read_committed=committed, unfilled=Unfilled())
        self.consumer.advance(read.place, found.next_offset)
        return decode_in_pieces(
            found.data,
            topic=topic,
            partition=partition,
            first_offset=read.offset,
            end_offset=_NO_END,
            headers=True,
        )

    def _put_all(self, place: TopicPartition, rows: pa.RecordBatch) -> None:
        for batch in self._parts.records.batches(place, rows):
            try:
                self._parts.task.put(batch)
            except RowsRefused as refused:
                self._report(refused, place, batch, rows)

    def _report(
        self, refused: RowsRefused, place: TopicPartition, batch: Batch, rows: pa.RecordBatch
    ) -> None:
        """The target does not take these rows, and never will."""
        offsets = batch.positions.to_pylist()
        reasons = {offsets[row]: reason for row, reason in refused.rows.items()}
        for read in consumed(place, rows):
            if read.offset in reasons:
                fault = RowsRefused({0: reasons[read.offset]})
                self._parts.on_failed(read, Failure(Stage.TASK_PUT, self._parts.class_name, fault))

    def _go_back(self, reads: list[Read], fault: RetriableException) -> None:
        """Read again, after a pause, what the sink could not take now."""
        for read in reads:
            self.consumer.advance(read.place, self._done.get(read.place, read.offset))
        self._pause_s = min(max(self._pause_s * 2, _FIRST_PAUSE_S), _MOST_PAUSE_S)
        _LOG.warning("the sink asks to try again in %g s: %s", self._pause_s, fault)
        self._parts.context.wait(self._pause_s)

    def _rewind(self, fault: Exception) -> None:
        """What was not flushed may be lost: read it again."""
        _LOG.error("offsets are not committed, what came after them is put again", exc_info=fault)
        for place, offset in self._safe.items():
            self.consumer.advance(place, offset)
        self._done = dict(self._safe)

    def _follow_seeks(self) -> None:
        seeks, self._parts.context.seeks = self._parts.context.seeks, {}
        for place, offset in seeks.items():
            self.consumer.advance(TopicPartition(*place), offset)
            self._done[TopicPartition(*place)] = offset

    def _settle(self) -> None:
        """Flush, then commit what the sink says is safe."""
        parts = self._parts
        self._due_ms = parts.clock.monotonic_ms() + parts.commit_interval_ms
        news = {place: at for place, at in self._done.items() if self._safe.get(place) != at}
        if not news:
            return
        lowered = parts.task.flush(
            {(place.topic, place.partition): at for place, at in news.items()}
        )
        if lowered is not None:
            news = {TopicPartition(*place): at for place, at in lowered.items()}
        parts.on_settled()
        self.consumer.commit(news)
        self._safe |= news
        parts.context.settled()

    def _assigned(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._done.clear()
        self._safe.clear()
        found = self._parts.task.assigned([(place.topic, place.partition) for place in places])
        return {TopicPartition(*place): offset for place, offset in found.items()}

    def _revoked(self, places: Collection[TopicPartition]) -> None:
        """Whatever keeps it from a commit, the next owner puts again what came after the last."""
        try:
            self._settle()
        except Exception as fault:
            if isinstance(fault, HeadraceError) and is_expelled(fault):
                _LOG.warning("offsets are not committed, the group has moved on: %s", fault)
            else:
                _LOG.error("offsets are not committed as partitions are given up", exc_info=fault)
        finally:
            self._lost(places)

    def _lost(self, places: Collection[TopicPartition]) -> None:
        self._done.clear()
        self._safe.clear()
        self._parts.task.revoked([(place.topic, place.partition) for place in places])
