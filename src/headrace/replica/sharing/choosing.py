"""What a member may have of the batches that were found in the log.

Members are given whole batches where possible, because a batch that several members hold travels
several times: `max_records` is then passed to reach the end of a batch. A member that wants no more
than it asked for gets batches that are cut (KIP-1206).

A record that was delivered in vain again and again may be what makes its readers fail. From half of
the delivery limit on it travels with fewer and fewer others, and for the last time alone, so that
it takes nobody along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from headrace.replica.sharing.states import Acquired, ShareLimits
from headrace.replica.sharing.window import Window

# Batches that nobody may have travel along with those around them, unless they are more than this
# and more than what is wanted of the answer.
_WASTE_BYTES: Final = 16 * 1024


class LogBatch(NamedTuple):
    """A batch of the log. A hidden one is nobody's: a marker, or of an aborted transaction."""

    first: int
    last: int
    position: int
    size: int
    hidden: bool


class Wish(NamedTuple):
    """What a member asks for."""

    max_records: int
    batch_size: int  # roughly how many records one entry of the answer should have
    is_strict: bool = False  # never more than max_records


@dataclass(slots=True)
class Choice:
    """What would be acquired, and the part of the log file that has it."""

    acquired: list[Acquired] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)  # offsets that nobody will ever have
    position: int = -1
    end_position: int = -1
    base_offset: int = -1
    records: int = 0

    @property
    def size(self) -> int:
        """Bytes to be sent."""
        return self.end_position - self.position


def choose(
    window: Window, offset: int, batches: Iterable[LogBatch], wish: Wish, limits: ShareLimits
) -> Choice:
    """Go through adjacent batches from the one that has `offset`, until there is enough."""
    choice = Choice()
    expected = offset
    for batch in batches:
        if batch.first > expected:
            choice.gaps.append((expected, batch.first - 1))
        first = max(batch.first, expected)
        expected = batch.last + 1
        if batch.hidden:
            choice.gaps.append((first, batch.last))
            continue
        if choice.records and batch.position - choice.end_position > choice.size + _WASTE_BYTES:
            break
        goes_on = _take(window, first, batch, choice, wish, limits)
        if not goes_on or choice.records >= wish.max_records:
            break
    return choice


def _take(
    window: Window, first: int, batch: LogBatch, choice: Choice, wish: Wish, limits: ShareLimits
) -> bool:
    """Take what is free of one batch; False if nothing behind it may be taken."""
    is_new_entry = not choice.acquired or len_of(choice.acquired[-1]) >= wish.batch_size
    for low, high, count in _free(window, first, batch.last):
        whole = high
        if low >= window.end_offset:
            room = limits.max_record_locks - (low - window.start_offset)
            if room <= 0:
                return False
            if wish.is_strict:
                high = min(high, low + room - 1)
        allowed = _allowed(count, choice.records, wish, limits)
        if allowed <= 0:
            return False
        high = min(high, low + allowed - 1)
        _add(choice, Acquired(low, high, count + 1), joins=not is_new_entry)
        is_new_entry = False
        if choice.position < 0:
            choice.position, choice.base_offset = batch.position, batch.first
        choice.end_position = batch.position + batch.size
        if high < whole:
            return False
    return True


def _free(window: Window, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Ranges of the window that somebody may have, then what lies behind it."""
    for span in window.overlapping(first, last):
        if span.is_free:
            yield max(span.first, first), min(span.last, last), span.count
    end = window.end_offset
    if last >= end:
        yield max(first, end), last, 0


def _allowed(count: int, taken: int, wish: Wish, limits: ShareLimits) -> int:
    """How many records that were delivered `count` times may still be taken."""
    limit = limits.delivery_count_limit
    if limit > 2 and count == limit - 1:
        return 0 if taken else 1
    suspicious = max(2, (limit + 1) // 2)
    if count >= suspicious:
        return max(wish.max_records >> (count - suspicious + 1), 1) - taken
    return wish.max_records - taken if wish.is_strict else 0x7FFFFFFF


def _add(choice: Choice, got: Acquired, *, joins: bool) -> None:
    choice.records += len_of(got)
    last = choice.acquired[-1] if choice.acquired else None
    if (
        joins
        and last is not None
        and last.last_offset + 1 == got.first_offset
        and last.delivery_count == got.delivery_count
    ):
        choice.acquired[-1] = last._replace(last_offset=got.last_offset)
    else:
        choice.acquired.append(got)


def len_of(acquired: Acquired) -> int:
    return acquired.last_offset - acquired.first_offset + 1
