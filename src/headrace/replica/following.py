"""What a follower does with its leader's answers: append, cut, start over, move its offsets.

A follower believes the leader of its present epoch. Where their histories differ it cuts its own
log to the last record that both have, found by leader epochs and never by the high watermark,
which is too old to decide that (KIP-101, KIP-279): a record above a follower's high watermark may
be committed, and a record of the same offset may be another one.

Every function changes one partition and tells what it did. Who asked the leader, and when, is
known by `fetcher`.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Final

from headrace.errors import CorruptData, InvariantViolated
from headrace.log import Appended, Origin
from headrace.records.batch import HEADER_SIZE, LENGTH_END, MIN_BATCH_LENGTH, read_header
from headrace.replica.leadership import EpochEnd
from headrace.replica.partition import Partition
from headrace.types import NO_EPOCH, LeaderEpoch, Offset

_PREFIX: Final = Struct(">qii")  # base offset, length, leader epoch


@dataclass(frozen=True, slots=True)
class Truncation:
    """A log was cut from one end to another. The recovery point's checkpoint must be written
    before the log grows again.
    """

    from_offset: Offset
    to_offset: Offset
    high_watermark: Offset
    """What the follower had believed to be committed."""

    @property
    def lost_committed(self) -> bool:
        """Only after an unclean election, or if every in-sync replica lost what it had not
        flushed. Somebody should hear of it.
        """
        return self.to_offset < self.high_watermark


def append_fetched(partition: Partition, records: memoryview, now_ms: int) -> Appended:
    """Append what the leader sent.

    CorruptData if it was damaged on its way or is nothing that the leader of our epoch wrote,
    OSError if the disk refuses it; nothing has changed.
    """
    records = _of_this_leader(partition, records)
    if len(records) < HEADER_SIZE:
        raise CorruptData(
            f"{partition.topic_partition}: the leader sent no batch of epoch "
            f"{partition.leader_epoch} or before"
        )
    log = partition.log
    first = read_header(records)
    if (
        log.log_start_offset == log.log_end_offset
        and first.base_offset < log.log_end_offset <= first.last_offset
    ):
        # Records were deleted up to the middle of this batch. It comes whole, and the start is
        # moved into it by `follow_offsets`.
        log.truncate_fully_and_start_at(first.base_offset)
        _stay_inside(partition)
    appended = log.append(
        records,
        leader_epoch=partition.leader_epoch,
        origin=Origin.REPLICATION,
        now_ms=now_ms,
    )
    partition.traffic.replication_bytes_in += appended.size
    if appended.flush_due:
        partition.flush_target = log.log_end_offset
    elif not partition.flush_pending:
        partition.durable_offset = log.log_end_offset
    return appended


def _of_this_leader(partition: Partition, records: memoryview) -> memoryview:
    """The batches before the first one of a later epoch than we follow.

    A leader sends ranges of its file. If it is deposed before they have left, its new leader's
    records may have taken the place of those that it meant.
    """
    at = 0
    end = len(records)
    while at + _PREFIX.size <= end:
        _, length, epoch = _PREFIX.unpack_from(records, at)
        if length < MIN_BATCH_LENGTH:
            raise CorruptData(f"{partition.topic_partition}: a batch of {length} bytes was fetched")
        if epoch > partition.leader_epoch:
            return records[:at]
        at += LENGTH_END + length
    return records


def follow_offsets(
    partition: Partition, *, high_watermark: Offset, log_start_offset: Offset
) -> None:
    """Take over the leader's high watermark, as far as our log goes, and its log's start."""
    log = partition.log
    partition.leader_high_watermark = high_watermark
    committed = min(high_watermark, log.log_end_offset)
    if committed > log.high_watermark:
        partition.advance_high_watermark(committed, log.size_bytes)
    if log.log_start_offset < log_start_offset <= log.high_watermark:
        log.delete_records_before(log_start_offset)


def truncate_to_agree(partition: Partition, leader: EpochEnd) -> Truncation:
    """Cut what the leader does not have: it knows `leader.epoch` up to `leader.end_offset`, and
    nothing of our last epoch beyond.

    If we do not have that epoch ourselves, we cut to the end of the one before it and ask again
    (KIP-279). CorruptData if the answer would cut nothing: it answers another question.
    """
    log = partition.log
    epochs = log.leader_epochs
    own = EpochEnd(*epochs.end_offset_for(leader.epoch, log.log_end_offset))
    if own.epoch == NO_EPOCH or leader.end_offset < 0:
        raise CorruptData(
            f"{partition.topic_partition}: the leader compares epoch {leader.epoch} "
            f"with ours, the last of which is {epochs.latest_epoch}"
        )
    target = own.end_offset
    if own.epoch == leader.epoch:
        target = min(target, leader.end_offset)
    before = Truncation(log.log_end_offset, target, log.high_watermark)
    if target >= log.log_end_offset and not _ends_with_empty_epoch(partition):
        raise CorruptData(
            f"{partition.topic_partition}: the leader's epoch {leader.epoch} ends with "
            f"{leader.end_offset}, which does not contradict ours"
        )
    if leader.epoch == partition.leader_epoch and target < log.log_end_offset:
        raise InvariantViolated(
            f"{partition.topic_partition}: broker {partition.leadership.leader} leads epoch "
            f"{leader.epoch} and has it up to {leader.end_offset}; we copied it up to "
            f"{log.log_end_offset}: a leader never cuts its own epoch"
        )
    try:
        log.truncate_to(target)
        # Also where nothing was cut: an epoch without records may stand at the log's end.
        epochs.truncate_from_end(log.log_end_offset)
    finally:
        _stay_inside(partition)
    return Truncation(before.from_offset, log.log_end_offset, before.high_watermark)


def _ends_with_empty_epoch(partition: Partition) -> bool:
    """Whether our last epoch has no record: we led it and wrote nothing."""
    entries = partition.log.leader_epochs.entries
    return bool(entries) and entries[-1].start_offset >= partition.log.log_end_offset


def start_over(partition: Partition, log_start_offset: Offset) -> Truncation:
    """Drop everything and begin where the leader's log begins: it has nothing of what we could
    go on with.
    """
    log = partition.log
    before = (log.log_end_offset, log.high_watermark)
    try:
        log.truncate_fully_and_start_at(log_start_offset)
    finally:
        _stay_inside(partition)
    return Truncation(before[0], log_start_offset, before[1])


def _stay_inside(partition: Partition) -> None:
    end = partition.log.log_end_offset
    partition.durable_offset = min(partition.durable_offset, end)
    partition.flush_target = min(partition.flush_target, end)


def position(partition: Partition) -> tuple[Offset, LeaderEpoch]:
    """Where a follower goes on: its log's end, and the epoch of what comes before."""
    return partition.log.log_end_offset, partition.log.leader_epochs.latest_epoch
