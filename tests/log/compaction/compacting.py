"""Logs that are compacted, from the measurement to the last exchange, as a broker does it."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.log import LogConfig, Origin, PartitionLog
from headrace.log.compaction import (
    CleanerMemory,
    Cleaning,
    CleaningPlan,
    CleaningStats,
    make_plan,
    measure,
)
from headrace.log.swap import exchange
from headrace.records.builder import BatchBuilder
from headrace.records.record import Record
from headrace.runtime.disk import Disk
from tests.log.logs import NOW_MS, read_everything

COMPACT = LogConfig(cleanup_policy=("compact",))
MEMORY = CleanerMemory(key_map_bytes=1 << 20)

Pairs = Iterable[tuple[bytes | None, bytes | None]]


def keyed(
    *pairs: tuple[bytes | None, bytes | None], timestamp: int = NOW_MS, **options: object
) -> memoryview:
    """A batch of these keys and values."""
    builder = BatchBuilder(**options)  # type: ignore[arg-type]
    for key, value in pairs:
        builder.append(key, value, timestamp)
    return memoryview(builder.build())


def plan_for(log: PartitionLog, now_ms: int = NOW_MS) -> CleaningPlan:
    """The plan for all that may be compacted now, dirty enough or not."""
    settle(log)
    return make_plan(measure(log, now_ms), now_ms)


def settle(log: PartitionLog) -> None:
    """Everything written is replicated and flushed, as it is some moments later."""
    log.high_watermark = log.log_end_offset
    log.flush()


def begin(disk: Disk, plan: CleaningPlan, memory: CleanerMemory = MEMORY) -> Cleaning:
    cleaning = Cleaning(disk, plan, memory, lambda _: None)
    cleaning.build_map()
    return cleaning


def carry_out(
    log: PartitionLog, plan: CleaningPlan, memory: CleanerMemory = MEMORY, now_ms: int = NOW_MS
) -> CleaningStats:
    cleaning = begin(log.disk, plan, memory)
    while (cleaned := cleaning.write_next()) is not None:
        assert exchange(log, plan, cleaned, now_ms)
    log.clean_offset = cleaning.end_offset
    return cleaning.stats


def compact(
    log: PartitionLog, now_ms: int = NOW_MS, memory: CleanerMemory = MEMORY
) -> CleaningStats:
    """Roll, so that everything can be compacted, and compact."""
    log.roll()
    return carry_out(log, plan_for(log, now_ms), memory, now_ms)
