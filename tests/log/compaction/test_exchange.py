"""A compacted segment takes its place: for readers, for other work on the log, for the files."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from headrace.log import PartitionLog
from headrace.log.compaction import discard, measure
from headrace.log.directory import LogDirectory
from headrace.log.swap import exchange
from headrace.testing import MemoryDisk
from headrace.types import TopicPartition
from tests.log.compaction.compacting import (
    COMPACT,
    begin,
    carry_out,
    compact,
    plan_for,
    what_is_there,
    write,
    write_at,
)
from tests.log.logs import (
    NOW_MS,
    content,
    files,
    new_disk,
    new_log,
    offsets,
    records_in,
    reopened,
)
from tests.settings import log_config


def log_with(segments: int) -> PartitionLog:
    """Segments of three records of one key, and an empty active one."""
    log = new_log(new_disk(), COMPACT)
    for number in range(segments):
        write(log, *[(b"k", b"%d-%d" % (number, i)) for i in range(3)])
        log.roll()
    return log


@pytest.mark.spec("slides:F17")
def test_who_holds_an_old_segment_reads_on() -> None:
    """A slice that was handed out before keeps its bytes until `file.delete.delay.ms` is over."""
    log = log_with(2)
    plan = plan_for(log)
    held = log.read(0, 10_000, up_to=6)
    before = content(held)
    carry_out(log, plan)
    assert what_is_there(log) == [(5, b"k", b"1-2")]
    assert content(held) == before
    assert [record.offset for record in records_in(before)] == [0, 1, 2]
    log.remove_doomed(NOW_MS + 60_000)
    assert files(log.disk, ".deleted") == []


def test_old_segments_of_several_compactions_do_not_meet() -> None:
    """Each of them has a name of its own, so that a reader can open its file again."""
    log = log_with(1)
    held = []
    for number in range(3):
        held.append(log.read(0, 10_000, up_to=log.log_end_offset))
        write(log, (b"k", b"%d" % number))
        compact(log)
    contents = [content(piece) for piece in held]
    for piece in held:
        assert piece.file is not None
        piece.file.close()
    assert [content(piece) for piece in held] == contents
    assert len(set(contents)) == 3
    log.remove_doomed(NOW_MS + 60_000)
    assert files(log.disk, ".deleted") == []


def test_a_name_is_free_only_when_its_file_is_gone() -> None:
    """Removing the first of two old segments does not give the second one's name to the next."""
    log = log_with(1)
    held = []
    for number, now_ms in enumerate((NOW_MS, NOW_MS + 30_000, NOW_MS + 70_000)):
        log.remove_doomed(now_ms)
        held.append(log.read(0, 10_000, up_to=log.log_end_offset))
        write(log, (b"k", b"%d" % number))
        compact(log, now_ms)
    before = content(held[1])
    assert held[1].file is not None
    held[1].file.close()
    assert content(held[1]) == before
    assert held[0].file is not None
    with pytest.raises(FileNotFoundError):
        held[0].data()


def test_appends_go_on_meanwhile() -> None:
    """What is written between the plan and the exchange is neither lost nor compacted."""
    log = log_with(2)
    plan = plan_for(log)
    cleaning = begin(log.disk, plan)
    write(log, (b"k", b"later"))
    cleaned = cleaning.write_next()
    assert cleaned is not None
    log.roll()
    write(log, (b"k", b"still later"))
    assert exchange(log, plan, cleaned, NOW_MS)
    assert offsets(log) == [5, 6, 7]


@pytest.mark.parametrize("refilled", [False, True])
def test_a_log_that_was_cut_is_not_exchanged(refilled: bool) -> None:
    """Truncation makes the plan worthless, even if the same offsets exist again."""
    log = log_with(3)
    plan = plan_for(log)
    cleaned = begin(log.disk, plan).write_next()
    assert cleaned is not None
    log.truncate_to(7)
    if refilled:
        write(log, *[(b"other", b"%d" % i) for i in range(5)])
        log.roll()
    before = what_is_there(log)
    assert not exchange(log, plan, cleaned, NOW_MS)
    assert what_is_there(log) == before
    discard(log.disk, log.folder, cleaned.base_offset)
    assert files(log.disk, ".cleaned") == []


def test_a_log_that_lost_segments_is_not_exchanged() -> None:
    """Retention may be faster; then there is nothing to take the place of."""
    log = log_with(3)
    plan = plan_for(log)
    cleaned = begin(log.disk, plan).write_next()
    assert cleaned is not None
    log.delete_records_before(4)
    log.apply_retention(NOW_MS)
    assert log.segments.base_offsets == [3, 6, 9]
    assert not exchange(log, plan, cleaned, NOW_MS)
    assert offsets(log) == [4, 5, 6, 7, 8]


def test_leftovers_of_an_interrupted_compaction_do_no_harm() -> None:
    """What is still called `.cleaned` is removed before it is written again."""
    log = log_with(2)
    plan = plan_for(log)
    assert begin(log.disk, plan).write_next() is not None
    log.disk.open(f"{log.folder}/{0:020d}.txnindex.cleaned", create=True).append([b"x" * 34])
    carry_out(log, plan)
    assert what_is_there(log) == [(5, b"k", b"1-2")]
    assert log.aborted_transactions(0, 10) == []


def test_snapshots_of_segments_that_are_gone_go_too() -> None:
    """A snapshot belongs to the beginning of a segment."""
    log = log_with(3)
    assert log.snapshots.offsets == [3, 6, 9]
    carry_out(log, plan_for(log))
    assert log.snapshots.offsets == [9]
    assert files(log.disk, ".snapshot") == [f"{9:020d}.snapshot"]


def test_deletion_and_compaction_together() -> None:
    """`delete,compact`: old segments go by age, what is left is compacted."""
    config = replace(COMPACT, cleanup_policy=("delete", "compact"), retention_ms=1000)
    log = new_log(new_disk(), config)
    write(log, (b"a", b"old"), now_ms=NOW_MS - 5000)
    log.roll()
    write(log, (b"b", b"1"), (b"b", b"2"), (b"c", b"3"))
    log.roll()
    plan_for(log)
    assert log.apply_retention(NOW_MS) > 0
    carry_out(log, plan_for(log))
    assert what_is_there(log) == [(2, b"b", b"2"), (3, b"c", b"3")]
    assert log.apply_retention(NOW_MS) == 0
    assert log.apply_retention(NOW_MS + 2000) > 0


def test_compaction_alone_deletes_nothing_by_age() -> None:
    """Without `delete` in the policy time and size do not count."""
    log = new_log(new_disk(), replace(COMPACT, retention_ms=1, retention_bytes=1))
    write(log, (b"a", b"old"), now_ms=NOW_MS - 5000)
    log.roll()
    plan_for(log)
    assert log.apply_retention(NOW_MS) == 0


# Restarts.


def directory(disk: MemoryDisk) -> LogDirectory:
    opened = LogDirectory.open(disk, "/data", cluster_id="c", node_id=1, uuid_factory=uuid4)
    opened.load(lambda topic: COMPACT, NOW_MS)
    return opened


def test_a_restart_knows_what_is_clean() -> None:
    """`cleaner-offset-checkpoint` keeps the offset up to which a log was compacted."""
    disk = new_disk()
    logs = directory(disk)
    log = logs.create(TopicPartition("orders", 0), UUID(int=7), COMPACT, NOW_MS)
    write(log, (b"k", b"1"), (b"k", b"2"))
    compact(log)
    logs.write_checkpoints()
    file = disk.open("/data/cleaner-offset-checkpoint")
    assert file.read(0, 100) == b"0\n1\norders 0 2\n"
    logs.close()
    again = directory(disk).logs[TopicPartition("orders", 0)]
    assert again.clean_offset == 2
    assert measure(again, NOW_MS).dirty_bytes == 0
    write(again, (b"k", b"3"))
    again.clean_offset = 3
    again.truncate_to(2)
    assert again.clean_offset == 2


def test_a_log_that_lost_its_end_is_dirty_again() -> None:
    """A clean offset beyond the end is about records that are gone."""
    log = log_with(1)
    log.close()
    assert reopened(log.disk, COMPACT, clean_offset=3).clean_offset == 3
    assert reopened(log.disk, COMPACT, clean_offset=4).clean_offset == 0


def test_gaps_survive_a_crash_after_the_policy_has_changed() -> None:
    """What compaction left is no damage, although the topic is not compacted any more."""
    log = log_with(2)
    write(log, (b"other", b"x"))
    log.roll()
    write(log, (b"k", b"end"))
    carry_out(log, plan_for(log))
    before = what_is_there(log)
    assert [offset for offset, _, _ in before] == [5, 6, 7]
    log.flush()
    changed = log_config()
    recovered = reopened(log.disk, changed, clean=False, clean_offset=log.clean_offset)
    assert what_is_there(recovered) == before
    recovered = reopened(
        log.disk, changed, clean=False, clean_offset=7, recovery_point=log.recovery_point
    )
    assert what_is_there(recovered) == before


def test_a_gap_behind_the_clean_part_is_a_loss() -> None:
    """On a topic that is not compacted nothing but a failure leaves holes."""
    disk = new_disk()
    log = new_log(disk)
    write_at(log, (0, b"k", b"v"), (1, b"k", b"v"), (4, b"k", b"v"))
    log.flush()
    assert offsets(reopened(disk.crash(), clean=False, clean_offset=4)) == [0, 1, 4]
    assert offsets(reopened(disk.crash(), clean=False, clean_offset=1)) == [0, 1]
