"""A share partition on its leader: acquire, acknowledge, lock, deliver again.

An acknowledgement changes nothing before it is kept: its records stay locked with a change pending,
`begin_write` hands out all changes that wait as one write, and `end_write` applies or forgets them
and tells whom to answer. One write is under way at a time, so what is kept never goes back. A lock
that has expired is the exception: its records are free at once, and kept with the next write.

Time is an argument; nothing is due before `wake_at_ms`. Tickets are opaque.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from headrace.errors import ClientFault, Error
from headrace.replica.sharing.choosing import Choice, LogBatch, Wish, choose
from headrace.replica.sharing.states import (
    TERMINAL,
    Acknowledgement,
    AcknowledgeType,
    Acquired,
    RecordState,
    SavedBatch,
    ShareLimits,
    StateWrite,
)
from headrace.replica.sharing.window import Span, Window


class _Change:
    """Records of one acknowledgement or one departed member, on their way to be kept."""

    __slots__ = ("ranges", "ticket")

    def __init__(self, ticket: Any) -> None:
        self.ticket = ticket
        self.ranges: list[tuple[int, int]] = []


class _Run(NamedTuple):
    """Adjacent offsets with the same type of acknowledgement."""

    first: int
    last: int
    type: AcknowledgeType


class SharePartition:
    """See the module."""

    def __init__(
        self,
        start_offset: int,
        batches: Iterable[SavedBatch] = (),
        *,
        leader_epoch: int = 0,
        state_epoch: int = 0,
        saved_start: int | None = None,
    ) -> None:
        """`saved_start` is the start offset that is kept, if that is another one: where a group
        begins is to be remembered, too.
        """
        self.leader_epoch = leader_epoch
        self.state_epoch = state_epoch
        self.wake_at_ms: int | None = None  # when the first lock may expire
        self.window = Window(start_offset)
        self._log_start = 0
        self._saved_start = start_offset if saved_start is None else saved_start
        self._expired: list[SavedBatch] = []  # free already, and not kept yet
        self._waiting: list[_Change] = []
        self._writing: list[_Change] | None = None
        # What metrics show.
        self.acquired_records = 0
        self.expired_records = 0
        self.acknowledged_records = dict.fromkeys(AcknowledgeType, 0)
        for batch in batches:
            self._restore(batch)
        self.window.advance()

    def _restore(self, batch: SavedBatch) -> None:
        window = self.window
        first = max(batch.first_offset, window.end_offset)
        if first <= batch.last_offset:
            window.extend_to(first - 1)  # what was acquired, and never acknowledged
            window.append(
                Span(first, batch.last_offset, RecordState(batch.state), batch.delivery_count)
            )

    @property
    def start_offset(self) -> int:
        return self.window.start_offset

    # -- acquiring --------------------------------------------------------------------------------

    def next_offset(self, limits: ShareLimits) -> int | None:
        """Where to read for the next member; None while too much is in flight."""
        free = self.window.first_free
        if free is not None:
            return free
        return self.window.end_offset if len(self.window) < limits.max_record_locks else None

    def choose(
        self, offset: int, batches: Iterable[LogBatch], wish: Wish, limits: ShareLimits
    ) -> Choice:
        """What a member would get of these batches; nothing changes."""
        return choose(self.window, offset, batches, wish, limits)

    def acquire(
        self, choice: Choice, member: str, now_ms: int, limits: ShareLimits
    ) -> list[Acquired]:
        """Let a member have what was chosen just now."""
        window = self.window
        deadline_ms = now_ms + limits.lock_duration_ms
        pieces = [Acquired(first, last, 0) for first, last in choice.gaps] + choice.acquired
        for first, last, count in sorted(pieces):
            window.extend_to(last)
            for span in window.cut(first, last):
                if count:
                    span.become(RecordState.ACQUIRED)
                    span.count = count
                    span.member, span.deadline_ms = member, deadline_ms
                elif span.is_free:
                    span.become(RecordState.ARCHIVED)
        if choice.gaps:
            window.advance()
        if choice.acquired:
            self.acquired_records += choice.records
            if self.wake_at_ms is None or deadline_ms < self.wake_at_ms:
                self.wake_at_ms = deadline_ms
        return choice.acquired

    # -- acknowledging ----------------------------------------------------------------------------

    def acknowledge(
        self,
        member: str,
        acknowledgements: Sequence[Acknowledgement],
        ticket: Any,
        now_ms: int,
        limits: ShareLimits,
    ) -> bool:
        """Take what a member says: all of it, or nothing with a ClientFault.

        True if the ticket is to be answered by `end_write`, False if there is nothing to keep.
        """
        runs = [run for each in acknowledgements for run in _runs(each)]
        runs = [
            run._replace(first=max(run.first, self._log_start))
            for run in runs
            if run.last >= self._log_start  # nobody is blamed for records that were deleted
        ]
        for run in runs:
            self._check(member, run, limits)
        change = _Change(ticket)
        for run in runs:
            self.acknowledged_records[run.type] += run.last - run.first + 1
            first = max(run.first, self.start_offset)  # gaps may lie before it
            for span in self.window.cut(first, run.last) if first <= run.last else ():
                if span.is_done:  # said to be a gap, and known to be one
                    continue
                if run.type is AcknowledgeType.RENEW:
                    span.deadline_ms = now_ms + limits.lock_duration_ms
                else:
                    _mark(span, change, _target(run.type, span, limits))
        if change.ranges:
            self._waiting.append(change)
        return bool(change.ranges)

    def _check(self, member: str, run: _Run, limits: ShareLimits) -> None:
        if run.last >= self.window.end_offset:
            raise ClientFault(Error.INVALID_REQUEST, "offsets behind those that were acquired")
        if run.type is AcknowledgeType.RENEW and not limits.renew_enabled:
            raise ClientFault(
                Error.INVALID_REQUEST, "the group does not allow to renew acquisition locks"
            )
        if run.first < self.start_offset and run.type is not AcknowledgeType.GAP:
            # Somebody else has done it meanwhile. Kafka says nothing then, and two believe that
            # theirs was the accepted delivery.
            raise ClientFault(Error.INVALID_RECORD_STATE, "the records are done")
        for span in self.window.overlapping(run.first, run.last):
            if run.type is AcknowledgeType.GAP and span.state is RecordState.ARCHIVED:
                continue
            if span.state is not RecordState.ACQUIRED or span.change is not None:
                raise ClientFault(Error.INVALID_RECORD_STATE, "the records are not acquired")
            if span.member != member:
                raise ClientFault(
                    Error.INVALID_RECORD_STATE, "the records are acquired by another member"
                )

    def release(self, member: str, ticket: Any, limits: ShareLimits) -> bool:
        """A member has gone: free what it holds. As `acknowledge` returns."""
        change = _Change(ticket)
        for span in self.window.spans:
            if span.state is RecordState.ACQUIRED and span.member == member and not span.change:
                _mark(span, change, _target(AcknowledgeType.RELEASE, span, limits))
        if change.ranges:
            self._waiting.append(change)
        return bool(change.ranges)

    def on_time(self, now_ms: int, limits: ShareLimits) -> bool:
        """Free what was held too long; True if there is something to be had or to be kept."""
        expired = False
        self.wake_at_ms = None
        for span in self.window.spans:
            if span.state is not RecordState.ACQUIRED or span.change is not None:
                continue  # what is being kept needs no lock, unless keeping it fails
            if span.deadline_ms <= now_ms:
                self.expired_records += len(span)
                span.become(_target(AcknowledgeType.RELEASE, span, limits))
                self._expired.append(SavedBatch(span.first, span.last, span.state, span.count))
                expired = True
            elif self.wake_at_ms is None or span.deadline_ms < self.wake_at_ms:
                self.wake_at_ms = span.deadline_ms
        if expired:
            self.window.advance()
        return expired

    def on_log_start(self, log_start_offset: int) -> None:
        """Records before this offset are deleted, whoever held them."""
        self._log_start = log_start_offset
        self.window.begin_at(log_start_offset)

    # -- keeping ----------------------------------------------------------------------------------

    def begin_write(self) -> StateWrite | None:
        """What is to be kept now; None if nothing is, or if a write is under way."""
        if self._writing is not None:
            return None
        if not self._waiting and not self._expired and self.start_offset == self._saved_start:
            return None
        self._writing, self._waiting = self._waiting, []
        batches, self._expired = self._expired, []
        for change in self._writing:
            batches += [
                SavedBatch(span.first, span.last, span.target, span.count)
                for span in self._spans_of(change)
            ]
        start, complete = self._done_afterwards()
        self._saved_start = start
        return StateWrite(start, complete, [each for each in batches if each.last_offset >= start])

    def _done_afterwards(self) -> tuple[int, int]:
        """The start offset when all changes are applied, and how many offsets after it are done.

        Batches before it are not kept: that they are done is what the start offset says.
        """
        start = self.start_offset
        complete = 0
        for span in self.window.spans:
            if span.target in TERMINAL:
                if span.first == start:
                    start = span.last + 1
                else:
                    complete += len(span)
        return start, complete

    def end_write(self, error: Error) -> list[tuple[Any, Error]]:
        """The write is over; returns who is to be told what."""
        assert self._writing is not None, "nothing is being written"
        changes, self._writing = self._writing, None
        for change in changes:
            for span in self._spans_of(change):
                if error:
                    span.change, span.target = None, span.state
                    if self.wake_at_ms is None or span.deadline_ms < self.wake_at_ms:
                        self.wake_at_ms = span.deadline_ms
                else:
                    span.become(span.target)
        if error:
            self._saved_start = self.start_offset  # the next write will say it, whenever it is
        self.window.advance()
        return [(change.ticket, error) for change in changes if change.ticket is not None]

    def abandon(self, error: Error) -> list[tuple[Any, Error]]:
        """This is not the share partition any more; tells who is to be told so."""
        changes = (self._writing or []) + self._waiting
        self._writing, self._waiting = None, []
        return [(change.ticket, error) for change in changes if change.ticket is not None]

    def _spans_of(self, change: _Change) -> Iterator[Span]:
        for first, last in change.ranges:
            for span in list(self.window.overlapping(first, last)):
                if span.change is change:
                    yield span


def _mark(span: Span, change: _Change, target: RecordState) -> None:
    span.change = change
    span.target = target
    change.ranges.append((span.first, span.last))


def _target(kind: AcknowledgeType, span: Span, limits: ShareLimits) -> RecordState:
    if kind is AcknowledgeType.ACCEPT:
        return RecordState.ACKNOWLEDGED
    if kind is AcknowledgeType.RELEASE and span.count < limits.delivery_count_limit:
        return RecordState.AVAILABLE
    return RecordState.ARCHIVED


def _runs(acknowledgement: Acknowledgement) -> Iterator[_Run]:
    """An acknowledgement as ranges of one type; the types were checked when it was read."""
    first, last, types = acknowledgement
    if len(types) == 1:
        yield _Run(first, last, AcknowledgeType(types[0]))
        return
    for kind, group in groupby(types):
        count = len(list(group))
        yield _Run(first, first + count - 1, AcknowledgeType(kind))
        first += count
