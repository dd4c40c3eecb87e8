"""A leader's view of its partition: high watermark, waiters, epochs, disks that fail."""

from __future__ import annotations

from uuid import UUID

import pytest

from headrace.errors import ClientFault, Error
from headrace.log import PartitionLog
from headrace.records.builder import BatchBuilder
from headrace.replica.following import append_fetched, truncate_to_agree
from headrace.replica.leadership import EpochEnd, Leadership
from headrace.replica.partition import Partition
from headrace.replica.waiters import CommitWaiter, FetchWaiter
from headrace.testing import MemoryDisk
from headrace.types import TopicPartition
from tests.settings import log_config

NOW_MS = 1_700_000_000_000
ORDERS = TopicPartition("orders", 0)


def partition(*, flush_messages: int = 1 << 62, min_insync_replicas: int = 1) -> Partition:
    config = log_config(flush_messages=flush_messages, min_insync_replicas=min_insync_replicas)
    disk = MemoryDisk(folders=["/data"])
    log = PartitionLog.create(disk, "/data/orders-0", ORDERS, UUID(int=7), config, NOW_MS)
    orders = Partition(ORDERS, UUID(int=7), log, broker_id=1)
    orders.lead(Leadership(1, 3, 0, (1,), (1,)), NOW_MS)
    return orders


def batch(value: bytes = b"x") -> memoryview:
    builder = BatchBuilder()
    builder.append(None, value, NOW_MS)
    return memoryview(builder.build())


class Count:
    """Counts how often it was woken."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1


@pytest.mark.spec("admin:RQ-06", "book1:F-06")
def test_the_high_watermark_of_a_single_replica_follows_the_log_end() -> None:
    """Who is the only in-sync replica commits by appending."""
    orders = partition()
    orders.append(batch(), acks=-1, now_ms=NOW_MS)
    assert orders.high_watermark == 1
    assert len(orders.read(0, 1000, committed_only=False, at_least_one=True)) > 0


@pytest.mark.spec("slides:A43", "book1:B-01")
def test_nothing_is_committed_before_the_flush_that_the_policy_demands() -> None:
    """With flush.messages=1 a record is neither acknowledged nor readable until it is synced."""
    orders = partition(flush_messages=1)
    woken = Count()
    appended = orders.append(batch(), acks=1, now_ms=NOW_MS)
    orders.await_commit(appended.last_offset + 1, CommitWaiter(woken))
    assert appended.flush_due
    assert orders.high_watermark == 0
    assert len(orders.read(0, 1000, committed_only=False, at_least_one=True)) == 0
    flush = orders.log.begin_flush()
    assert flush is not None
    flush.run()
    orders.log.complete_flush(flush)
    orders.on_flushed(flush.up_to)
    assert orders.high_watermark == 1
    assert woken.calls == 1


def test_one_flush_commits_every_append_before_it_and_none_after() -> None:
    """Appends that came while a flush was running wait for the next one."""
    orders = partition(flush_messages=1)
    first, second = Count(), Count()
    orders.await_commit(
        orders.append(batch(), acks=1, now_ms=NOW_MS).last_offset + 1, CommitWaiter(first)
    )
    flush = orders.log.begin_flush()
    assert flush is not None
    orders.await_commit(
        orders.append(batch(), acks=1, now_ms=NOW_MS).last_offset + 1, CommitWaiter(second)
    )
    flush.run()
    orders.log.complete_flush(flush)
    orders.on_flushed(flush.up_to)
    assert (first.calls, second.calls) == (1, 0)
    assert orders.high_watermark == 1


@pytest.mark.spec("admin:RQ-08", "book1:B-30")
def test_a_fetch_is_woken_once_when_enough_bytes_have_come() -> None:
    """fetch.min.bytes counts over several appends; the waiter fires once."""
    orders = partition()
    woken = Count()
    size = len(batch())
    orders.fetch_waiters.append(FetchWaiter(2 * size, woken))
    orders.append(batch(), acks=1, now_ms=NOW_MS)
    assert woken.calls == 0
    orders.append(batch(), acks=1, now_ms=NOW_MS)
    orders.append(batch(), acks=1, now_ms=NOW_MS)
    assert woken.calls == 1


@pytest.mark.spec("slides:A53", "book2:J-24")
def test_too_few_in_sync_replicas_refuse_acks_all_only() -> None:
    """min.insync.replicas is checked before the append, and only for acks=all."""
    orders = partition(min_insync_replicas=2)
    with pytest.raises(ClientFault) as refused:
        orders.append(batch(), acks=-1, now_ms=NOW_MS)
    assert refused.value.error == Error.NOT_ENOUGH_REPLICAS
    assert orders.log.log_end_offset == 0
    orders.append(batch(), acks=1, now_ms=NOW_MS)
    assert orders.log.log_end_offset == 1


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(2, Error.FENCED_LEADER_EPOCH), (4, Error.UNKNOWN_LEADER_EPOCH)],
)
def test_clients_with_another_view_of_the_leadership_are_fenced(epoch: int, error: Error) -> None:
    """KIP-320: an older epoch is fenced, a newer one is not known yet; -1 asks nothing."""
    orders = partition()
    orders.check_leader_epoch(3)
    orders.check_leader_epoch(-1)
    with pytest.raises(ClientFault) as refused:
        orders.check_leader_epoch(epoch)
    assert refused.value.error == error


@pytest.mark.spec("admin:LS-10")
def test_a_failed_directory_answers_everyone_who_waits() -> None:
    """Nobody waits for ever on a partition whose disk is gone, and nothing more is accepted."""
    orders = partition(flush_messages=1)
    fetch, commit = Count(), Count()
    orders.fetch_waiters.append(FetchWaiter(1, fetch))
    orders.await_commit(
        orders.append(batch(), acks=1, now_ms=NOW_MS).last_offset + 1, CommitWaiter(commit)
    )
    orders.take_offline("the disk is gone")
    assert (fetch.calls, commit.calls) == (1, 1)
    for attempt in (
        lambda: orders.append(batch(), acks=1, now_ms=NOW_MS),
        lambda: orders.read(0, 1, committed_only=False, at_least_one=True),
    ):
        with pytest.raises(ClientFault) as refused:
            attempt()
        assert refused.value.error == Error.KAFKA_STORAGE_ERROR


def test_a_flush_that_was_overtaken_by_a_cut_counts_for_nothing() -> None:
    """The offsets that it flushed belong to other records now, which no disk has yet."""
    orders = partition(flush_messages=1)
    orders.append(batch(b"old"), acks=1, now_ms=NOW_MS)
    flush = orders.log.begin_flush()
    assert flush is not None
    orders.follow(Leadership(2, 4, 1, (1, 2), (2,)))
    orders.log.leader_epochs.assign(4, 1)
    cut = truncate_to_agree(orders, EpochEnd(3, 0))
    assert (cut.from_offset, cut.to_offset) == (1, 0)
    builder = BatchBuilder(leader_epoch=4)
    builder.append(None, b"new", NOW_MS)
    append_fetched(orders, memoryview(builder.build()), NOW_MS)
    assert orders.flush_pending
    flush.run()
    orders.log.complete_flush(flush)
    orders.on_flushed(flush.up_to)
    assert orders.flush_pending
    orders.log.flush()
    orders.on_flushed(1)
    assert not orders.flush_pending
