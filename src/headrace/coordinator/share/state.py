"""What the coordinator knows of one share partition, as a value, and how a record changes it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.share.records import (
    RecordedBatch,
    ShareRecord,
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)
from headrace.types import SharePartitionKey

NO_START: Final = -1
"""The start offset of a share partition of which nothing was read yet."""


class StateBatch(NamedTuple):
    """Offsets, both ends included, in the same state."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


class AnyBatch(Protocol):
    """A batch of a request or of a record."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


class ShareState(NamedTuple):
    """One share partition. Offsets that are in no batch are available and were never delivered."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    create_ms: int
    write_ms: int
    batches: tuple[StateBatch, ...] = ()


_first = attrgetter("first_offset")
_last = attrgetter("last_offset")


def combine(
    known: Sequence[StateBatch], changed: Iterable[StateBatch], start_offset: int
) -> tuple[StateBatch, ...]:
    """The batches that are known with those that changed laid over them, from a start offset on."""
    batches = list(known)
    for batch in changed:
        low = bisect_left(batches, batch.first_offset, key=_last)
        high = bisect_right(batches, batch.last_offset, key=_first)
        pieces = [batch]
        if low < high:
            if batches[low].first_offset < batch.first_offset:
                pieces.insert(0, batches[low]._replace(last_offset=batch.first_offset - 1))
            if batches[high - 1].last_offset > batch.last_offset:
                pieces.append(batches[high - 1]._replace(first_offset=batch.last_offset + 1))
        batches[low:high] = pieces
    return tuple(_joined(batches, start_offset))


def _joined(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    joined: list[StateBatch] = []
    for batch in batches:
        if batch.last_offset < start_offset:
            continue
        if batch.first_offset < start_offset:
            batch = batch._replace(first_offset=start_offset)
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.last_offset + 1 == batch.first_offset
            and last[2:] == batch[2:]  # state and count
        ):
            joined[-1] = last._replace(last_offset=batch.last_offset)
        else:
            joined.append(batch)
    return joined


def taken(batches: Iterable[AnyBatch]) -> tuple[StateBatch, ...]:
    """Batches of a message as values."""
    return tuple(
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in batches
    )


def _recorded(batches: Iterable[StateBatch]) -> list[RecordedBatch]:
    return [
        RecordedBatch(
            first_offset=each.first_offset,
            last_offset=each.last_offset,
            delivery_state=each.delivery_state,
            delivery_count=each.delivery_count,
        )
        for each in batches
    ]


def snapshot_record(key: SharePartitionKey, state: ShareState) -> ShareRecord:
    """All of a state as a record."""
    return StateRecord(
        ShareSnapshotKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition),
        ShareSnapshotValue(
            snapshot_epoch=state.snapshot_epoch,
            state_epoch=state.state_epoch,
            leader_epoch=state.leader_epoch,
            start_offset=state.start_offset,
            delivery_complete_count=state.delivery_complete_count,
            create_timestamp=state.create_ms,
            write_timestamp=state.write_ms,
            state_batches=_recorded(state.batches),
        ),
    )


def update_record(key: SharePartitionKey, change: ShareState) -> ShareRecord:
    """What changed since the last record; epochs of the state stay as they are."""
    return StateRecord(
        ShareUpdateKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition),
        ShareUpdateValue(
            snapshot_epoch=change.snapshot_epoch,
            leader_epoch=change.leader_epoch,
            start_offset=change.start_offset,
            delivery_complete_count=change.delivery_complete_count,
            state_batches=_recorded(change.batches),
        ),
    )


def tombstone(key: SharePartitionKey) -> ShareRecord:
    """The record after which a share partition is unknown."""
    return StateRecord(
        ShareSnapshotKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition),
        None,
    )


def from_snapshot(value: ShareSnapshotValue) -> ShareState:
    return ShareState(
        snapshot_epoch=value.snapshot_epoch,
        state_epoch=value.state_epoch,
        leader_epoch=value.leader_epoch,
        start_offset=value.start_offset,
        delivery_complete_count=value.delivery_complete_count,
        create_ms=value.create_timestamp,
        write_ms=value.write_timestamp,
        batches=taken(value.state_batches),
    )


def updated(state: ShareState, value: ShareUpdateValue) -> ShareState:
    """The state after an update."""
    start = state.start_offset if value.start_offset == NO_START else value.start_offset
    return state._replace(
        leader_epoch=max(state.leader_epoch, value.leader_epoch),
        start_offset=start,
        delivery_complete_count=value.delivery_complete_count,
        batches=combine(state.batches, taken(value.state_batches), start),
    )
