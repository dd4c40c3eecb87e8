"""The offsets of a share partition that are in flight, as spans of the same fate.

The spans are adjacent and cover everything from the start offset to the end of the window, so each
offset is in exactly one state. A span is split where an acknowledgement, a lock or the start offset
cuts it, and joined with its neighbour when they have become alike. Behind the window everything is
available and was never delivered.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from headrace.errors import InvariantViolated
from headrace.replica.sharing.states import TERMINAL, TRANSITIONS, RecordState

_first = attrgetter("first")


class Span:
    """Offsets, both ends included. `change` is on its way to the disk and will make it `target`.

    Only what is acquired can be about to change, and it stays acquired until then.
    """

    __slots__ = ("change", "count", "deadline_ms", "first", "last", "member", "state", "target")

    def __init__(
        self, first: int, last: int, state: RecordState = RecordState.AVAILABLE, count: int = 0
    ) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.count = count  # how often it was delivered
        self.member = ""  # who holds it
        self.deadline_ms = 0  # until when
        self.change: Any = None
        self.target = state

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def is_free(self) -> bool:
        return self.state is RecordState.AVAILABLE

    @property
    def is_done(self) -> bool:
        return self.state in TERMINAL

    def become(self, state: RecordState) -> None:
        """Change the state; whoever held it does not any more."""
        if state not in TRANSITIONS[self.state]:
            raise InvariantViolated(
                f"offsets {self.first}-{self.last} are {self.state.name}, not to be {state.name}"
            )
        self.state = self.target = state
        self.change = None
        self.member = ""
        self.deadline_ms = 0

    def tail_from(self, offset: int) -> Span:
        """Split: this span ends before `offset`, the one that comes back begins there."""
        tail = Span(offset, self.last, self.state, self.count)
        tail.member, tail.deadline_ms = self.member, self.deadline_ms
        tail.change, tail.target = self.change, self.target
        self.last = offset - 1
        return tail

    def is_like(self, other: Span) -> bool:
        return (
            self.state is other.state
            and self.count == other.count
            and self.member == other.member
            and self.deadline_ms == other.deadline_ms
            and self.change is other.change
            and self.target is other.target
        )


class Window:
    """Adjacent spans from `start_offset` to `end_offset`, which is behind the last of them."""

    __slots__ = ("spans", "start_offset")

    def __init__(self, start_offset: int) -> None:
        self.start_offset = start_offset
        self.spans: list[Span] = []

    def __len__(self) -> int:
        return self.end_offset - self.start_offset

    @property
    def end_offset(self) -> int:
        return self.spans[-1].last + 1 if self.spans else self.start_offset

    @property
    def first_free(self) -> int | None:
        """The first offset of the window that somebody may have."""
        for span in self.spans:
            if span.is_free:
                return span.first
        return None

    def append(self, span: Span) -> None:
        assert span.first == self.end_offset, "spans are adjacent"
        self.spans.append(span)

    def extend_to(self, last: int) -> None:
        """Let the window reach `last`, with what was never delivered."""
        if last >= self.end_offset:
            self.append(Span(self.end_offset, last))

    def overlapping(self, first: int, last: int) -> Iterator[Span]:
        """The spans that have offsets of a range, as they are."""
        spans = self.spans
        for index in range(max(bisect_right(spans, first, key=_first) - 1, 0), len(spans)):
            span = spans[index]
            if span.first > last:
                return
            if span.last >= first:
                yield span

    def cut(self, first: int, last: int) -> list[Span]:
        """The spans of exactly this range, which must lie in the window."""
        low = self._begin_at(first)
        high = self._begin_at(last + 1)
        return self.spans[low:high]

    def _begin_at(self, offset: int) -> int:
        """The index of the span that begins at `offset`, after a split if need be."""
        spans = self.spans
        if offset == self.end_offset:
            return len(spans)
        index = bisect_right(spans, offset, key=_first) - 1
        assert index >= 0, "the offset lies before the window"
        if spans[index].first == offset:
            return index
        spans.insert(index + 1, spans[index].tail_from(offset))
        return index + 1

    def begin_at(self, offset: int) -> None:
        """Forget everything before `offset`."""
        if offset <= self.start_offset:
            return
        if offset >= self.end_offset:
            self.spans.clear()
        else:
            del self.spans[: self._begin_at(offset)]
        self.start_offset = offset

    def advance(self) -> None:
        """Move the start offset over what is done, and join what has become alike."""
        kept: list[Span] = []
        for span in self.spans:
            if not kept and span.is_done:
                self.start_offset = span.last + 1
            elif kept and kept[-1].is_like(span):
                kept[-1].last = span.last
            else:
                kept.append(span)
        self.spans = kept
