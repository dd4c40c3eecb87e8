"""Poll, transform, convert, produce; records and the source's offsets in one transaction.

Exactly once: whoever reads committed records sees those of a transaction together with the offsets
that say they were polled, or neither. A task that begins fences those that had its transactional
id before it, so what they left open never counts.

`transaction.boundary` says where a transaction ends: with each poll, after an interval, or where
the task says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import pyarrow as pa

from headrace.client.producing import Fenced
from headrace.errors import HeadraceError
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.faults import ConnectException, IllegalArgumentException
from headrace.pipelines.connect.host.source_loop import SourceLoop, SourceParts
from headrace.pipelines.connect.host.source_records import Written
from headrace.pipelines.connect.model.batch import Batch, Position
from headrace.pipelines.connect.state.records import Write

_EXPIRED: Final = (
    "Task {task} was unable to finish writing records to Kafka before its producer transaction "
    "expired. It may be necessary to reconfigure this connector in order for it to run healthily "
    "with exactly-once support. Options for this include: tune the connector's producer "
    "configuration for higher throughput, increase the transaction timeout for the connector's "
    "producers, decrease the offset commit interval (if using interval-based transaction "
    "boundaries), or use the 'poll' transaction boundary (if the connector is not already "
    "configured to use it)."
)
_SENDING: Final = "Unrecoverable exception trying to send"
_COMMITTING: Final = "Failed to flush offsets and/or records for task {task}"
_OWN_TOPIC: Final = (
    "Source tasks may not produce to their own offsets topics when exactly-once support is enabled"
)


@runtime_checkable
class TransactionalOffsets(Protocol):
    """Where the offsets of transactional sources are kept: in a topic, by the task's producer.

    Whoever reads is told of every transaction that was committed before.
    """

    topic: str

    def read(self, partition: Position) -> Mapping[str, object] | None:
        """What was kept last of a partition."""

    def writes(self, offsets: list[tuple[Position, Position]]) -> list[Write]:
        """The records that keep these."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """Where transactions end. `kind` is poll, interval or connector; `timeout_ms` is how long the
    brokers leave one open."""

    kind: str
    interval_ms: int
    timeout_ms: int

    @classmethod
    def of(cls, settings: Mapping[str, object], flush_ms: int, timeout_ms: int) -> Boundary:
        """As a source's settings say."""
        interval = settings["transaction.boundary.interval.ms"]
        return cls(
            str(settings[keys.BOUNDARY]).lower(),
            interval if isinstance(interval, int) else flush_ms,
            timeout_ms,
        )


class Requests:
    """What a task asks for: the `TransactionContext` of those that may."""

    def __init__(self) -> None:
        self.wants_commit = False
        self.wants_abort = False

    def commit(self) -> None:
        if self.wants_abort:
            raise IllegalArgumentException(_BOTH)
        self.wants_commit = True

    def abort(self) -> None:
        if self.wants_commit:
            raise IllegalArgumentException(_BOTH)
        self.wants_abort = True

    def clear(self) -> None:
        self.wants_commit = self.wants_abort = False


_BOTH: Final = "Connector requested both commit and abort of same transaction"


class ExactlyOnce(SourceLoop):
    """Records, then their offsets, then the end of the transaction."""

    def __init__(
        self, parts: SourceParts, offsets: TransactionalOffsets, boundary: Boundary
    ) -> None:
        super().__init__(parts)
        self._offsets = offsets
        self._boundary = boundary
        self._requests = Requests()
        self._producer = parts.output.producer
        self._is_open = False
        self._began_ms = 0
        self._due_ms = parts.clock.monotonic_ms() + boundary.interval_ms
        if boundary.kind == "connector":
            parts.task.transaction = self._requests

    def begin(self) -> None:
        """Fence those before: from here on no offset moves but by this task."""
        self._open()

    def send(self, batch: Batch) -> None:
        """Within the transaction."""
        try:
            self._open()
            super().send(batch)
        except HeadraceError as fault:
            raise self._explained(fault, _SENDING) from fault

    def written(self, batch: Batch) -> list[Written]:
        """As other sources write it, but never into the topic of the offsets."""
        made = super().written(batch)
        if any(each.topic == self._offsets.topic for each in made):
            raise ConnectException(_OWN_TOPIC)
        return made

    def after_batch(self) -> None:
        self._follow_requests()

    def after_turn(self, *, brought: bool) -> None:
        self._follow_requests()
        if self._boundary.kind == "poll" or self._is_due():
            self._commit()
        elif self._is_open and not brought:
            self._flush()

    def before_pause(self) -> None:
        if self._boundary.kind == "interval":
            self._commit()

    def end(self) -> None:
        self._follow_requests()
        if self._boundary.kind != "connector":
            self._commit()

    def _is_due(self) -> bool:
        is_timed = self._boundary.kind == "interval"
        return is_timed and self.parts.clock.monotonic_ms() >= self._due_ms

    def _follow_requests(self) -> None:
        wants_abort, wants_commit = self._requests.wants_abort, self._requests.wants_commit
        self._requests.clear()
        if wants_abort:
            self._abort()
        if wants_abort or wants_commit:
            self._commit()

    def _open(self) -> None:
        if not self._is_open:
            self._producer.begin()
            self._is_open = True
            self._began_ms = self.parts.clock.monotonic_ms()

    def _flush(self) -> None:
        """Let what waits for more go now, since there is no more."""
        try:
            self.parts.output.flush()
        except HeadraceError as fault:
            raise self._explained(fault, _SENDING) from fault

    def _commit(self) -> None:
        """End the transaction, with the offsets of its records in it."""
        marks = self.take_marks()
        self._due_ms = self.parts.clock.monotonic_ms() + self._boundary.interval_ms
        try:
            if marks:
                self._open()
                kept = self._offsets.writes([(mark.partition, mark.offset) for mark in marks])
                self.parts.output.send(_rows(self._offsets.topic, kept))
            if self._is_open:
                self._producer.commit()
                self._is_open = False
        except HeadraceError as fault:
            words = _COMMITTING.format(task=self._name)
            raise self._explained(fault, words) from fault
        self.committed(marks)

    def _abort(self) -> None:
        try:
            self._producer.abort()
        except HeadraceError as fault:
            raise self._explained(fault, _SENDING) from fault
        self._is_open = False

    @property
    def _name(self) -> str:
        return f"{self.parts.context.connector}-{self.parts.context.task}"

    def _explained(self, fault: HeadraceError, words: str) -> ConnectException:
        """The end of the task in Connect's words; the cause has the broker's."""
        open_ms = self.parts.clock.monotonic_ms() - self._began_ms
        if isinstance(fault, Fenced) and open_ms >= self._boundary.timeout_ms:
            return ConnectException(_EXPIRED.format(task=self._name))
        return ConnectException(f"{words}: {fault}")


def _rows(topic: str, kept: list[Write]) -> Written:
    keys_, values = zip(*kept, strict=True)
    columns = {"key": pa.array(keys_, pa.binary()), "value": pa.array(values, pa.binary())}
    return Written(topic, None, pa.record_batch(columns))
