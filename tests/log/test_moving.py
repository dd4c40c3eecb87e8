"""A partition moves to another directory: nothing is lost, whenever the power fails."""

from __future__ import annotations

from pathlib import Path
from random import Random
from uuid import uuid4

import pytest

from headrace.errors import ClientFault, CorruptData, Error
from headrace.log import Origin, PartitionLog
from headrace.log.directory import LogDirectory
from headrace.log.moving import MOVED_FROM, Move, settle_moves
from headrace.records.record import Record
from headrace.runtime.disk import Disk
from headrace.runtime.os_disk import OsDisk
from headrace.testing import MemoryDisk, SimulatedCrash
from headrace.types import TopicPartition
from tests.log.logs import (
    NOW_MS,
    TOPIC_ID,
    append,
    batch,
    marker,
    offsets,
    read_everything,
    remove_doomed,
    replicated,
)
from tests.settings import log_config

ORDERS = TopicPartition("orders", 0)
CONFIG = log_config(segment_bytes=700, index_interval_bytes=150, file_delete_delay_ms=0)
SLICE_BYTES = 300
SEEDS: list[int | None] = [None, 1, 2]


def opened(disk: Disk, parent: str = "") -> tuple[LogDirectory, LogDirectory]:
    """Both directories as a start finds them."""
    pair = [
        LogDirectory.open(disk, f"{parent}/{name}", cluster_id="lab", node_id=1, uuid_factory=uuid4)
        for name in "ab"
    ]
    settle_moves(disk, pair, uuid4)
    for directory in pair:
        directory.load(lambda topic: CONFIG, NOW_MS)
    return pair[0], pair[1]


def new_pair() -> tuple[MemoryDisk, LogDirectory, LogDirectory]:
    disk = MemoryDisk(folders=["/a", "/b"])
    return disk, *opened(disk)


def filled(home: LogDirectory) -> PartitionLog:
    """A log of 24 records with several segments and epochs, flushed but for its end."""
    log = home.create(ORDERS, TOPIC_ID, CONFIG, NOW_MS)
    for number in range(12):
        append(log, count=2, timestamp=NOW_MS + number, leader_epoch=number // 5)
        if number == 6:
            log.flush()
    log.high_watermark = log.log_end_offset
    return log


def copy_all(move: Move) -> None:
    while not move.is_last(part := move.next_slice(SLICE_BYTES)):
        move.take(part, NOW_MS)
    move.flush()


def finish(move: Move) -> PartitionLog:
    move.prepare(NOW_MS)
    moved = move.commit(NOW_MS)
    move.tidy(moved, NOW_MS)
    return moved


def moved_to(log: PartitionLog, home: LogDirectory, target: LogDirectory) -> PartitionLog:
    move = Move(log, home, target, NOW_MS)
    copy_all(move)
    return finish(move)


def test_everything_is_there_afterwards() -> None:
    """Records, offsets, epochs, topic id and high watermark; the old directory has nothing."""
    disk, a, b = new_pair()
    log = filled(a)
    before = read_everything(log)
    moved = moved_to(log, a, b)
    assert b.logs == {ORDERS: moved}
    assert a.logs == {}
    assert moved.folder == "/b/orders-0"
    assert read_everything(moved) == before
    assert moved.leader_epochs.entries == log.leader_epochs.entries
    assert moved.topic_id == TOPIC_ID
    assert moved.high_watermark == log.high_watermark
    assert moved.recovery_point == moved.log_end_offset
    assert append(moved).base_offset == len(before)
    assert [name for name in disk.list("/b") if "orders" in name] == ["orders-0"]
    assert MOVED_FROM not in disk.list("/b/orders-0")
    remove_doomed(a, NOW_MS)
    assert not [name for name in disk.list("/a") if "orders" in name]


def test_what_is_written_meanwhile_comes_along() -> None:
    """The copy follows the log, slice by slice, and the last ones are taken by `prepare`."""
    _, a, b = new_pair()
    log = filled(a)
    move = Move(log, a, b, NOW_MS)
    for _ in range(4):
        move.take(move.next_slice(SLICE_BYTES), NOW_MS)
        append(log, count=3)
    assert move.lag > 0
    copy_all(move)
    append(log, count=1)
    moved = finish(move)
    assert read_everything(moved) == read_everything(moved, 0)
    assert len(offsets(moved)) == 24 + 12 + 1


def test_readers_of_the_old_files_can_finish(tmp_path: Path) -> None:
    """A slice that was found before the move can be read after it, even if its file was closed."""
    disk = OsDisk(max_open_files=1)
    a, b = opened(disk, str(tmp_path))
    log = filled(a)
    found = [log.read(offset, SLICE_BYTES, up_to=24) for offset in (0, 10, 22)]
    expected = [piece.data() for piece in found]
    moved_to(log, a, b)
    assert [piece.data() for piece in found] == expected
    a.close()
    b.close()


def test_a_log_that_does_not_begin_at_zero_keeps_its_start() -> None:
    """Retention has removed segments, DeleteRecords a part of one; both survive a restart."""
    disk, a, b = new_pair()
    log = filled(a)
    log.delete_records_before(17)
    log.apply_retention(NOW_MS)
    assert log.segments[0].base_offset > 0
    moved = moved_to(log, a, b)
    assert moved.segments[0].base_offset == log.segments[0].base_offset
    assert (moved.log_start_offset, offsets(moved)) == (17, list(range(17, 24)))
    _, b = opened(disk.crash())
    assert (b.logs[ORDERS].log_start_offset, offsets(b.logs[ORDERS])) == (17, list(range(17, 24)))


def test_retention_may_be_faster_than_the_copy() -> None:
    """What was copied and is gone in the log is gone in the copy as well."""
    _, a, b = new_pair()
    log = filled(a)
    move = Move(log, a, b, NOW_MS)
    move.take(move.next_slice(SLICE_BYTES), NOW_MS)
    log.delete_records_before(20)
    log.apply_retention(NOW_MS)
    assert log.segments[0].base_offset > move.copy.log_end_offset
    copy_all(move)
    assert offsets(finish(move)) == [20, 21, 22, 23]


def test_an_empty_log_moves_with_its_offset() -> None:
    """A log whose records are all gone goes on where it was; one without any begins at 0."""
    disk, a, b = new_pair()
    log = filled(a)
    log.delete_records_before(24)
    log.roll()
    log.apply_retention(NOW_MS)
    moved = moved_to(log, a, b)
    assert (moved.log_start_offset, moved.log_end_offset) == (24, 24)
    _, b = opened(disk.crash())
    assert append(b.logs[ORDERS]).base_offset == 24
    other = TopicPartition("other", 0)
    fresh = a.create(other, TOPIC_ID, CONFIG, NOW_MS)
    assert append(moved_to(fresh, a, b)).base_offset == 0


def test_gaps_of_compaction_stay() -> None:
    """Offsets are never given out anew, neither inside the log nor at its emptied end."""
    disk, a, b = new_pair()
    log = a.create(ORDERS, TOPIC_ID, CONFIG, NOW_MS)
    for base in (0, 5, 40, 90):
        replicated(log, batch(1, base_offset=base))
    log.roll(100)
    log.clean_offset = 95
    moved = moved_to(log, a, b)
    assert (offsets_of_batches(moved), moved.log_end_offset) == ([0, 5, 40, 90], 100)
    assert moved.clean_offset == 95
    recovered = opened(disk.crash())[1].logs[ORDERS]
    assert (offsets_of_batches(recovered), recovered.log_end_offset) == ([0, 5, 40, 90], 100)


def offsets_of_batches(log: PartitionLog) -> list[int]:
    return [
        header.base_offset
        for segment in log.segments
        for _, header in segment.headers_from(segment.base_offset)
    ]


def test_producers_are_remembered_as_they_were() -> None:
    """A repeated batch is known, an open transaction stays open, after a crash too (KIP-98)."""
    disk, a, b = new_pair()
    log = a.create(ORDERS, TOPIC_ID, CONFIG, NOW_MS)
    first = batch(1, producer_id=7, producer_epoch=0, base_sequence=0)
    append(log, first)
    append(log, producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    append(log, marker(commit=False, producer_id=9), origin=Origin.COORDINATOR)
    append(log, producer_id=9, producer_epoch=0, base_sequence=1, transactional=True)
    log.high_watermark = 4
    moved = moved_to(log, a, b)
    for each in (moved, opened(disk.crash())[1].logs[ORDERS]):
        each.high_watermark = 4
        assert append(each, first).duplicate
        assert each.last_stable_offset == 3
        (aborted,) = each.aborted_transactions(0, 4)
        assert (aborted.producer_id, aborted.first_offset, aborted.last_offset) == (9, 1, 2)


def test_producers_are_remembered_longer_than_their_records() -> None:
    """Retention took the records, not the sequence; memory knows more batches than the file."""
    disk, a, b = new_pair()
    log = a.create(ORDERS, TOPIC_ID, CONFIG, NOW_MS)
    sent = [batch(8, producer_id=7, producer_epoch=0, base_sequence=8 * n) for n in range(4)]
    for each in sent:
        append(log, each)
    for _ in range(6):
        append(log, count=8)
    log.high_watermark = log.log_end_offset
    log.delete_records_before(50)
    log.apply_retention(NOW_MS)
    moved = moved_to(log, a, b)
    assert moved.segments[0].base_offset > 32
    assert append(moved, sent[1]).duplicate
    b.close()
    a.close()
    assert append(opened(disk)[1].logs[ORDERS], sent[3]).duplicate


def test_damage_is_not_copied() -> None:
    """A batch whose checksum is wrong ends the move; the partition stays where it was."""
    disk, a, b = new_pair()
    log = filled(a)
    log.segments[1].log.write_at(100, b"\xff\xff")
    move = Move(log, a, b, NOW_MS)
    with pytest.raises(CorruptData):
        copy_all(move)
    move.discard()
    assert not [name for name in disk.list("/b") if "orders" in name]
    assert a.logs[ORDERS] is log


def test_a_full_disk_ends_the_move() -> None:
    """An error before the commit leaves the partition with its old log, which can be written."""
    disk, a, b = new_pair()
    log = filled(a)
    move = Move(log, a, b, NOW_MS)
    copy_all(move)
    disk.make_read_only("/b")
    with pytest.raises(OSError, match="Read-only"):
        move.prepare(NOW_MS)
    disk.mend("/b")
    move.discard()
    assert b.logs == {}
    assert append(log).base_offset == 24
    assert len(offsets(opened(disk.crash(Random(1)))[0].logs[ORDERS])) >= 14


def test_a_move_that_lost_its_log_is_not_possible() -> None:
    """The topic was deleted, the log cut, or a disk failed."""
    _, a, b = new_pair()
    log = filled(a)
    move = Move(log, a, b, NOW_MS)
    assert move.is_possible
    log.truncate_to(20)
    assert not move.is_possible
    move = Move(log, a, b, NOW_MS)
    a.delete(ORDERS, NOW_MS)
    assert not move.is_possible


def test_a_move_whose_old_folder_is_left_is_not_followed_by_another() -> None:
    """Two folders that each replace the other would leave nobody able to tell."""
    _, a, b = new_pair()
    move = Move(filled(a), a, b, NOW_MS)
    copy_all(move)
    move.prepare(NOW_MS)
    moved = move.commit(NOW_MS)
    with pytest.raises(ClientFault, match="restart") as fault:
        Move(moved, b, a, NOW_MS)
    assert fault.value.error == Error.KAFKA_STORAGE_ERROR


def test_two_folders_without_a_word_are_left_alone() -> None:
    """Only `moved-from` tells which of two is stale; one that names a third directory does not."""
    disk, a, b = new_pair()
    filled(a)
    filled(b)
    stranger = disk.open(f"/b/orders-0/{MOVED_FROM}", create=True)
    stranger.append([b"AAAAAAAAAAAAAAAAAAAAAA"])
    settle_moves(disk, [a, b], uuid4)
    assert "orders-0" in disk.list("/a")
    assert disk.list("/b/orders-0").count(MOVED_FROM) == 0


class Story:
    """A move from /a to /b, and how much of the log must survive at each moment."""

    def __init__(self) -> None:
        self.disk, self.a, self.b = new_pair()
        self.log = filled(self.a)
        self.a.write_checkpoints()
        for path in ("/a", "/a/orders-0"):
            self.disk.sync_folder(path)
        self.expected: list[Record] = read_everything(self.log)
        self.promised = self.log.recovery_point

    def run(self) -> None:
        move = Move(self.log, self.a, self.b, NOW_MS)
        copy_all(move)
        move.prepare(NOW_MS)
        moved = move.commit(NOW_MS)
        self.promised = moved.log_end_offset
        move.tidy(moved, NOW_MS)
        remove_doomed(self.a, NOW_MS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_power_cut_at_any_moment_leaves_one_of_the_two(seed: int | None) -> None:
    """At every single disk operation: one folder, a prefix, everything that was promised."""
    operation = 1
    homes = []
    while True:
        story = Story()
        story.disk.crash_at(operation)
        try:
            story.run()
            ended = True
        except SimulatedCrash:
            ended = False
        disk = story.disk.crash(None if seed is None else Random(seed))
        a, b = opened(disk)
        found = [each for each in (a, b) if ORDERS in each.logs]
        assert len(found) == 1, f"operation {operation}: {len(found)} homes"
        assert not a.quarantined
        assert not b.quarantined
        assert not [name for name in disk.list("/b") if name.endswith("-future")]
        log = found[0].logs[ORDERS]
        records = read_everything(log)
        assert records == story.expected[: len(records)], f"operation {operation}"
        assert log.log_end_offset >= story.promised, f"operation {operation}"
        assert append(log).base_offset == len(records)
        assert moved_back(log, found[0], b if found[0] is a else a) == len(records) + 1
        homes.append(found[0].path)
        if ended:
            break
        operation += 1
    assert {homes[0], homes[-1]} == {"/a", "/b"}


def moved_back(log: PartitionLog, home: LogDirectory, target: LogDirectory) -> int:
    """Whatever a crash has left does not stand in the way of the next move."""
    return moved_to(log, home, target).log_end_offset
