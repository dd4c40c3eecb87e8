"""A log against a list: any sequence of appends, cuts, deletions, restarts and power cuts."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headrace.log import Origin, PartitionLog
from headrace.records.record import Record
from headrace.testing import MemoryDisk
from tests.generated import examples
from tests.log.logs import NOW_MS, batch, new_disk, new_log, read_everything, reopened
from tests.settings import log_config

fractions = st.integers(0, 100)


class LogAndList(RuleBasedStateMachine):
    """`records` is what the log must hold; `history` is what was ever written at an offset."""

    disk: MemoryDisk
    log: PartitionLog

    @initialize(segment_bytes=st.integers(450, 2000), interval=st.integers(1, 400))
    def create(self, segment_bytes: int, interval: int) -> None:
        self.config = log_config(
            segment_bytes=segment_bytes, index_interval_bytes=interval, file_delete_delay_ms=0
        )
        self.disk = new_disk()
        self.log = new_log(self.disk, self.config)
        self.records: list[Record] = []
        self.history: dict[int, Record] = {}
        self.epoch = 0
        self.sequence = 0
        self.recovery_point = 0
        self.log_start_offset = 0

    @rule(
        count=st.integers(1, 4),
        size=st.integers(0, 80),
        time=st.integers(0, 50),
        idempotent=st.booleans(),
    )
    def append(self, count: int, size: int, time: int, idempotent: bool) -> None:
        producer: dict[str, Any] = (
            {"producer_id": 7, "producer_epoch": self.epoch, "base_sequence": self.sequence}
            if idempotent
            else {}
        )
        data = batch(count, size=size, timestamp=NOW_MS + time, **producer)
        end = self.end
        result = self.log.append(data, leader_epoch=0, origin=Origin.CLIENT, now_ms=NOW_MS)
        assert result.base_offset == end
        if idempotent:
            self.sequence += count
        for record in read_everything(self.log, result.base_offset):
            self.records.append(record)
            self.history[record.offset] = record
        self.log.high_watermark = self.log.log_end_offset

    @property
    def end(self) -> int:
        return self.records[-1].offset + 1 if self.records else self.log.log_end_offset

    def chosen(self, percent: int) -> int:
        """An offset between the log's start and its end."""
        start, end = self.log.log_start_offset, self.log.log_end_offset
        return start + (end - start) * percent // 100

    def new_producer_epoch(self) -> None:
        """A producer that no longer knows where it stands begins an epoch, as InitProducerId
        makes it."""
        self.epoch += 1
        self.sequence = 0

    def write_checkpoints(self) -> None:
        self.recovery_point = self.log.recovery_point
        first = self.log.segments[0].base_offset
        start = self.log.log_start_offset
        self.log_start_offset = start if start > first else 0

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.write_checkpoints()

    @rule(percent=fractions)
    def truncate(self, percent: int) -> None:
        self.log.truncate_to(self.chosen(percent))
        self.records = [r for r in self.records if r.offset < self.log.log_end_offset]
        assert self.end == self.log.log_end_offset
        self.write_checkpoints()
        self.new_producer_epoch()

    @rule(percent=fractions)
    def delete_records(self, percent: int) -> None:
        start = self.log.delete_records_before(self.chosen(percent))
        self.records = [r for r in self.records if r.offset >= start]
        self.write_checkpoints()

    @rule(keep_bytes=st.integers(0, 3000), remove=st.booleans())
    def retain(self, keep_bytes: int, remove: bool) -> None:
        self.log.config = log_config(
            segment_bytes=self.config.segment_bytes,
            index_interval_bytes=self.config.index_interval_bytes,
            retention_ms=-1,
            retention_bytes=keep_bytes,
            file_delete_delay_ms=0,
        )
        self.log.apply_retention(NOW_MS)
        if remove:
            self.log.remove_doomed(NOW_MS)
        self.log.config = self.config
        self.records = [r for r in self.records if r.offset >= self.log.log_start_offset]

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.write_checkpoints()
        self.log = reopened(self.disk, self.config, log_start_offset=self.log_start_offset)
        self.log.high_watermark = self.log.log_end_offset

    @rule(seed=st.none() | st.integers(0, 1000), torn_pages=st.booleans())
    def crash(self, seed: int | None, torn_pages: bool) -> None:
        """Of what was not flushed, a prefix survives; what retention removed may come back."""
        rng = None if seed is None else Random(seed)
        self.disk = self.disk.crash(rng, torn_pages=torn_pages)
        self.log = reopened(
            self.disk,
            self.config,
            clean=False,
            recovery_point=self.recovery_point,
            log_start_offset=self.log_start_offset,
        )
        self.log.high_watermark = self.log.log_end_offset
        assert self.log.log_end_offset >= self.recovery_point
        found = read_everything(self.log)
        assert found == [self.history[record.offset] for record in found]
        kept = [r for r in self.records if r.offset < self.log.log_end_offset]
        assert [r for r in found if not kept or r.offset >= kept[0].offset][: len(kept)] == kept
        self.records = found
        self.write_checkpoints()
        self.new_producer_epoch()

    @invariant()
    def the_log_is_the_list(self) -> None:
        assert read_everything(self.log) == self.records
        assert self.log.log_end_offset == self.end

    @invariant()
    def offsets_are_in_order(self) -> None:
        log = self.log
        assert 0 <= log.log_start_offset <= log.high_watermark <= log.log_end_offset
        assert log.recovery_point <= log.log_end_offset

    @rule(time=st.integers(0, 55))
    def find_time(self, time: int) -> None:
        found = self.log.offset_for_time(NOW_MS + time, up_to=self.log.log_end_offset)
        first = next((r for r in self.records if r.timestamp >= NOW_MS + time), None)
        assert found == (None if first is None else (first.timestamp, first.offset))


LogAndList.TestCase.settings = settings(
    max_examples=examples(60), stateful_step_count=40, deadline=None
)
TestLogAndList = LogAndList.TestCase
