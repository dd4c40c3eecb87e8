"""Logs of batches for share partitions to choose from, without bytes."""

from __future__ import annotations

from headrace.replica.sharing.choosing import Choice, LogBatch, Wish
from headrace.replica.sharing.partition import SharePartition
from headrace.replica.sharing.states import Acknowledgement, Acquired, ShareLimits

LIMITS = ShareLimits(lock_duration_ms=1000, delivery_count_limit=5, max_record_locks=100)
BATCH_BYTES = 1000


def log(*sizes: int, first: int = 0, hidden: tuple[int, ...] = ()) -> list[LogBatch]:
    """Adjacent batches with so many records each; a negative size is a hole."""
    batches = []
    position = 0
    for number, size in enumerate(sizes):
        if size > 0:
            last = first + size - 1
            batches.append(LogBatch(first, last, position, BATCH_BYTES, number in hidden))
            position += BATCH_BYTES
        first += abs(size)
    return batches


def look(
    share: SharePartition,
    batches: list[LogBatch],
    *,
    records: int = 500,
    batch_size: int = 500,
    strict: bool = False,
    limits: ShareLimits = LIMITS,
) -> Choice:
    offset = share.next_offset(limits)
    if offset is None:
        return Choice()
    readable = [batch for batch in batches if batch.last >= offset]
    return share.choose(offset, readable, Wish(records, batch_size, strict), limits)


def acquire(
    share: SharePartition,
    member: str,
    batches: list[LogBatch],
    *,
    now_ms: int = 0,
    records: int = 500,
    batch_size: int = 500,
    strict: bool = False,
    limits: ShareLimits = LIMITS,
) -> list[Acquired]:
    choice = look(
        share, batches, records=records, batch_size=batch_size, strict=strict, limits=limits
    )
    return share.acquire(choice, member, now_ms, limits)


def say(first: int, last: int, *types: int) -> list[Acknowledgement]:
    return [Acknowledgement(first, last, types)]
