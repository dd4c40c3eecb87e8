"""A power cut at every single write of a compaction: no key loses its newest flushed value.

The same story is told again and again, and the power fails one operation later each time, also
during the recovery from an earlier power cut. Of what was not synced the disk keeps nothing, or
something by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

import pytest

from headrace.log import LogConfig, Origin, PartitionLog
from headrace.log.compaction import make_plan, measure
from headrace.records.batch import split_batches
from headrace.records.record import Record
from headrace.testing import MemoryDisk, SimulatedCrash
from tests.log.compaction.compacting import COMPACT, Pair, carry_out, keyed, plan_for
from tests.log.logs import (
    EVERYTHING,
    FOLDER,
    NOW_MS,
    append,
    content,
    files,
    marker,
    new_disk,
    new_log,
    records_in,
    reopened,
)

CONFIG = replace(COMPACT, segment_bytes=500, index_interval_bytes=100, file_delete_delay_ms=0)


@dataclass
class Witness:
    """Everything ever written below the recovery point, which a reader must be able to rebuild."""

    written: dict[int, tuple[bytes | None, bytes | None]] = field(default_factory=dict)
    promised: int = 0
    recovery_point: int = 0
    clean_offset: int = 0

    def write(self, log: PartitionLog, *pairs: Pair) -> None:
        base = log.log_end_offset
        for index, pair in enumerate(pairs):
            self.written[base + index] = pair
        append(log, keyed(*pairs))

    def flushed(self, log: PartitionLog) -> None:
        self.promised = self.recovery_point = log.recovery_point

    def newest(self, up_to: int) -> dict[bytes | None, int]:
        """Of each key the last offset below `up_to`."""
        return {
            self.written[offset][0]: offset for offset in sorted(self.written) if offset < up_to
        }


def compact_often(disk: MemoryDisk, witness: Witness) -> None:
    """Segments are compacted one by one, then several into one, then once more at once."""
    log = new_log(disk, CONFIG)
    for turn in range(2):
        for number in range(8):
            key = b"%d" % (number * (turn + 3) % 5)
            witness.write(log, (key, b"%d-%d" % (turn, number) * 9), (b"same", b"%d" % number))
        log.roll()
        log.flush()
        witness.flushed(log)
        carry_out(log, plan_for(log))
        witness.clean_offset = log.clean_offset
        log.remove_doomed(NOW_MS)
        log.config = replace(CONFIG, segment_bytes=700)
    log.clean_offset = 0
    carry_out(log, make_plan(measure(log, NOW_MS), NOW_MS))
    log.close()


def count_operations() -> int:
    disk = new_disk()
    compact_often(disk, Witness())
    return disk.operations


def crash_during(operation: int) -> tuple[MemoryDisk, Witness]:
    disk, witness = new_disk(), Witness()
    disk.crash_at(operation)
    with pytest.raises(SimulatedCrash):
        compact_often(disk, witness)
    return disk, witness


def survivor(disk: MemoryDisk, seed: int | None) -> MemoryDisk:
    return disk.crash(None if seed is None else Random(seed))


def check(disk: MemoryDisk, witness: Witness, config: LogConfig = CONFIG) -> None:
    """Recover, and compare with what was promised."""
    if "orders-0" not in disk.list("/data"):
        assert witness.promised == 0
        return
    log = reopened(
        disk,
        config,
        clean=False,
        recovery_point=witness.recovery_point,
        clean_offset=witness.clean_offset,
    )
    assert log.log_end_offset >= witness.promised
    records = all_records(log)
    offsets = [record.offset for record in records]
    assert offsets == sorted(set(offsets)), "every offset once and in order"
    for record in records:
        assert (record.key, record.value) == witness.written[record.offset]
    newest = {record.key: record.offset for record in records}
    for key, offset in witness.newest(witness.promised).items():
        assert newest[key] >= offset
    check_segments_are_disjoint(log)
    assert not [name for name in disk.list(log.folder) if name.endswith((".cleaned", ".swap"))]


def check_segments_are_disjoint(log: PartitionLog) -> None:
    for index, segment in enumerate(log.segments):
        for _, header in segment.headers_from(segment.base_offset):
            assert header.last_offset < log.segments.end_of(index, log.log_end_offset)


def all_records(log: PartitionLog) -> list[Record]:
    """What a reader finds from the start on. The log may go on behind what was not flushed."""
    found: list[Record] = []
    offset = log.log_start_offset
    while data := content(log.read(offset, EVERYTHING, up_to=log.log_end_offset)):
        found += records_in(data)
        offset = [header for header, _ in split_batches(memoryview(data))][-1].next_offset
    return found


def test_a_power_cut_at_every_operation() -> None:
    """Every key has its newest flushed value afterwards, and every record its own offset."""
    for operation in range(1, count_operations() + 1):
        disk, witness = crash_during(operation)
        for seed in (None, *range(10 * operation, 10 * operation + 9)):
            check(survivor(disk, seed), witness)


def test_a_power_cut_during_recovery() -> None:
    """Finishing an interrupted exchange may itself be interrupted, at any operation."""
    for operation in range(1, count_operations() + 1):
        disk, witness = crash_during(operation)
        left = survivor(disk, None)
        if not left.exists(FOLDER) or not files(left, ".swap"):
            continue
        again = 1
        while True:
            second = survivor(disk, None)
            second.crash_at(again)
            try:
                check(second, witness)
            except SimulatedCrash:
                for seed in (None, again, operation):
                    check(survivor(second, seed), witness)
                again += 1
            else:
                break


def test_a_full_disk_stops_a_compaction_and_nothing_else() -> None:
    """Without room for the new segment the old ones stay; with room again it works."""
    disk, witness = new_disk(), Witness()
    log = new_log(disk, CONFIG)
    for number in range(12):
        witness.write(log, (b"%d" % number, b"x" * 60), (b"k", b"%d" % number))
    log.roll()
    plan = plan_for(log)
    before = all_records(log)
    disk.capacity_bytes = 200
    with pytest.raises(OSError, match="No space"):
        carry_out(log, plan)
    assert all_records(log) == before
    disk.capacity_bytes = None
    carry_out(log, plan)
    assert {record.key: record.offset for record in all_records(log)} == witness.newest(24)


def test_a_crash_leaves_transactions_readable() -> None:
    """The index of aborted transactions is exchanged with its segment, or not at all."""

    def story(disk: MemoryDisk) -> None:
        log = new_log(disk, CONFIG)
        for number in range(6):
            options = {"producer_id": number, "producer_epoch": 0, "base_sequence": 0}
            append(log, keyed((b"k", b"%d" % number), transactional=True, **options))
            append(log, marker(commit=False, producer_id=number), origin=Origin.COORDINATOR)
        log.roll()
        carry_out(log, plan_for(log))

    counting = new_disk()
    story(counting)
    for operation in range(30, counting.operations + 1):
        disk = new_disk()
        disk.crash_at(operation)
        with pytest.raises(SimulatedCrash):
            story(disk)
        for seed in (None, 1):
            log = reopened(survivor(disk, seed), CONFIG, clean=False)
            aborted = {each.producer_id for each in log.aborted_transactions(0, 100)}
            undecided = {
                entry.producer_id
                for entry in log.producers.active_producers()
                if entry.current_txn_first_offset >= 0
            }
            written = {int(each.value or b"") for each in all_records(log) if each.key == b"k"}
            assert written <= aborted | undecided


def test_a_power_cut_while_an_incomplete_exchange_is_dropped() -> None:
    """Kafka splits a segment in the same way. A half that comes back must not seem whole."""
    for operation in range(1, 20):
        for seed in range(6):
            disk = new_disk()
            log = new_log(disk, CONFIG)
            append(log, keyed(*[(b"%d" % i, b"v") for i in range(4)]))
            log.close()
            half = disk.open(f"{log.folder}/{2:020d}.log.swap", create=True)
            half.append([keyed((b"2", b"v"), (b"3", b"v"), base_offset=2)])
            other = disk.open(f"{log.folder}/{0:020d}.log.cleaned", create=True)
            for file in (half, other):
                file.sync()
            disk.sync_folder(log.folder)
            disk.crash_at(operation)
            try:
                reopened(disk, CONFIG, clean=False)
            except SimulatedCrash:
                disk = survivor(disk, seed)
            recovered = reopened(disk, CONFIG, clean=False, recovery_point=4)
            assert [record.offset for record in all_records(recovered)] == [0, 1, 2, 3]
            check_segments_are_disjoint(recovered)
