"""A power cut at every single write: what survives is a prefix that holds all that was flushed.

The same story is told again and again, and the power fails one operation later each time. Of what
was not synced the disk keeps nothing, or something by chance, torn and with garbage in its pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import pytest

from headrace.log import Origin, PartitionLog
from headrace.records.record import Record
from headrace.testing import MemoryDisk, SimulatedCrash
from tests.log.logs import (
    FOLDER,
    NOW_MS,
    append,
    batch,
    marker,
    new_disk,
    new_log,
    read_everything,
    reopened,
    replicated,
)
from tests.settings import log_config

CONFIG = log_config(segment_bytes=700, index_interval_bytes=150, file_delete_delay_ms=0)
SEEDS: list[int | None] = [None, 1, 2, 3]


@dataclass
class Witness:
    """What the log held after each step, and what it has promised."""

    steps: list[list[Record]] = field(default_factory=lambda: [[]])
    recovery_point: int = 0
    log_start_offset: int = 0
    promised: int = 0

    def step(self, log: PartitionLog) -> None:
        self.steps.append(read_everything(log))

    def checkpoint(self, log: PartitionLog) -> None:
        """What the recovery point covers is promised from now on."""
        self.step(log)
        self.recovery_point = self.promised = log.recovery_point
        self.log_start_offset = log.log_start_offset


Story = Callable[[MemoryDisk, Witness], None]


def grow(disk: MemoryDisk, witness: Witness) -> None:
    """Appends, rolls and flushes."""
    log = new_log(disk, CONFIG)
    for number in range(14):
        append(log, count=1 + number % 3, timestamp=NOW_MS + number, leader_epoch=number // 6)
        witness.step(log)
        if number % 5 == 4:
            log.flush()
            witness.checkpoint(log)
    log.close()
    witness.checkpoint(log)


def copy(disk: MemoryDisk, witness: Witness) -> None:
    """A follower that is cut back to an earlier offset and goes on differently."""
    log = new_log(disk, CONFIG)
    for base in range(0, 54, 3):
        replicated(log, batch(3, base_offset=base, leader_epoch=base // 9, timestamp=NOW_MS + base))
        witness.step(log)
    log.flush()
    witness.checkpoint(log)
    witness.promised = 9
    log.truncate_to(9)
    witness.checkpoint(log)
    for base in range(9, 24, 3):
        replicated(log, batch(3, size=11, base_offset=base, leader_epoch=7))
        witness.step(log)
    log.flush()
    witness.checkpoint(log)


def start_over(disk: MemoryDisk, witness: Witness) -> None:
    """A follower so far behind that it begins anew, once above its log and once inside it."""
    log = new_log(disk, CONFIG)
    for base in range(0, 24, 3):
        replicated(log, batch(3, base_offset=base, leader_epoch=0))
        witness.step(log)
    log.flush()
    witness.checkpoint(log)
    for offset in (500, 503):
        witness.promised = 0
        log.truncate_fully_and_start_at(offset)
        witness.checkpoint(log)
        for base in range(offset, offset + 21, 3):
            replicated(log, batch(3, base_offset=base, leader_epoch=1))
            witness.step(log)
        log.flush()
        witness.checkpoint(log)


def forget(disk: MemoryDisk, witness: Witness) -> None:
    """Retention and DeleteRecords while the log grows."""
    log = new_log(disk, CONFIG)
    for number in range(24):
        append(log, timestamp=NOW_MS + number)
        witness.step(log)
        log.high_watermark = log.log_end_offset
        if number == 11:
            log.flush()
            witness.checkpoint(log)
        if number in (9, 16):
            log.config = log_config(
                segment_bytes=700, index_interval_bytes=150, retention_bytes=700
            )
            log.apply_retention(NOW_MS)
            log.remove_doomed(NOW_MS + 60_000)
            witness.checkpoint(log)
        if number == 20:
            log.delete_records_before(19)
            witness.log_start_offset = 19
    log.flush()
    witness.checkpoint(log)


def transact(disk: MemoryDisk, witness: Witness) -> None:
    """Idempotent producers and transactions over several segments."""
    log = new_log(disk, CONFIG)
    for sequence in range(8):
        for producer_id in (1, 2):
            append(
                log,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=sequence,
                transactional=True,
            )
            witness.step(log)
        if sequence % 3 == 2:
            append(log, marker(commit=False, producer_id=1), origin=Origin.COORDINATOR)
            append(log, marker(commit=True, producer_id=2), origin=Origin.COORDINATOR)
            witness.step(log)
            log.flush()
            witness.checkpoint(log)
    log.close()
    witness.checkpoint(log)


def recovered(disk: MemoryDisk, witness: Witness) -> PartitionLog:
    return reopened(
        disk,
        CONFIG,
        clean=False,
        recovery_point=witness.recovery_point,
        log_start_offset=witness.log_start_offset,
    )


def check(disk: MemoryDisk, witness: Witness, possible: list[list[Record]]) -> None:
    """The promises of recovery, on a disk that a power cut has left."""
    log = recovered(disk, witness)
    start = log.log_start_offset
    records = read_everything(log)
    shown = [record for record in records if record.offset >= witness.log_start_offset]
    assert any(_is_prefix(shown, each) for each in possible), "not a prefix of what was written"
    assert log.log_end_offset >= witness.promised, "something flushed is missing"
    # Each offset is found from a cold start, by offset and by time.
    for record in records:
        assert record in read_everything(log, record.offset)[:1]
    for record in records[::5]:
        found = log.offset_for_time(record.timestamp, up_to=log.log_end_offset)
        first = next(each for each in records if each.timestamp >= record.timestamp)
        assert found == (first.timestamp, first.offset)
    # A second recovery finds nothing more to mend, and both know the same.
    again = recovered(disk, witness)
    assert read_everything(again) == records
    assert again.producers.to_snapshot() == log.producers.to_snapshot()
    assert again.leader_epochs.entries == log.leader_epochs.entries
    end = log.log_end_offset
    assert again.aborted_transactions(start, end) == log.aborted_transactions(start, end)
    assert append(again, leader_epoch=9).base_offset == end


def _is_prefix(shown: list[Record], written: list[Record]) -> bool:
    if shown and written and shown[0].offset != written[0].offset:
        written = [record for record in written if record.offset >= shown[0].offset]
    return shown == written[: len(shown)]


@pytest.mark.spec("admin:LS-21")
@pytest.mark.parametrize("story", [grow, copy, start_over, forget, transact])
def test_a_power_cut_at_any_operation(story: Story) -> None:
    """Whatever operation the power fails in, recovery keeps its promises."""
    calm, undisturbed = new_disk(), Witness()
    story(calm, undisturbed)
    assert calm.operations > 40
    for operation in range(1, calm.operations + 1):
        disk, witness = new_disk(), Witness()
        disk.crash_at(operation)
        with pytest.raises(SimulatedCrash):
            story(disk, witness)
        # The step in which the power failed may have happened or not, or in part.
        done = len(witness.steps)
        possible = undisturbed.steps[done - 1 : done + 1]
        for seed in SEEDS:
            rng = None if seed is None else Random(seed)
            left = disk.crash(rng, torn_pages=True)
            if left.exists(FOLDER):
                check(left, witness, possible)


def test_transactions_are_recovered_as_they_were() -> None:
    """The producers and the aborts after a crash are those of a log that never crashed."""
    for operation in range(1, 500):
        disk, witness = new_disk(), Witness()
        disk.crash_at(operation)
        try:
            transact(disk, witness)
        except SimulatedCrash:
            pass
        else:
            break
        left = disk.crash(Random(operation), torn_pages=True)
        if not left.exists(FOLDER):
            continue
        log = recovered(left, witness)
        plain_disk = new_disk()
        plain = new_log(plain_disk, CONFIG)
        for segment in log.segments:
            data = segment.log.read(0, segment.size)
            replicated(plain, memoryview(data))
        assert log.producers.to_snapshot() == plain.producers.to_snapshot()
        end = log.log_end_offset
        assert log.aborted_transactions(0, end) == plain.aborted_transactions(0, end)
        assert log.producers.first_undecided_offset == plain.producers.first_undecided_offset
    else:
        pytest.fail("the story never ended")
