"""Logs that are compacted, from the measurement to the last exchange, as a broker does it."""

from __future__ import annotations

from headrace.log import PartitionLog
from headrace.log.compaction import (
    CleanerMemory,
    Cleaning,
    CleaningPlan,
    CleaningStats,
    make_plan,
    measure,
)
from headrace.log.swap import exchange
from headrace.records.batch import BatchHeader, split_batches
from headrace.records.builder import BatchBuilder, BatchOptions
from headrace.runtime.disk import Disk
from tests.log.logs import EVERYTHING, NOW_MS, append, content, read_everything, replicated
from tests.settings import log_config

COMPACT = log_config(cleanup_policy=("compact",))
MEMORY = CleanerMemory(key_map_bytes=1 << 20)
DAY_MS = 86_400_000

Pair = tuple[bytes | None, bytes | None]


def keyed(*pairs: Pair, timestamp: int = NOW_MS, **options: object) -> memoryview:
    """A batch of these keys and values."""
    chosen: BatchOptions = options  # type: ignore[assignment]
    builder = BatchBuilder(**chosen)
    for key, value in pairs:
        builder.append(key, value, timestamp)
    return memoryview(builder.build())


def write(log: PartitionLog, *pairs: Pair, now_ms: int = NOW_MS) -> None:
    """Each record in a batch of its own, as a patient producer sends them."""
    for pair in pairs:
        append(log, keyed(pair, timestamp=now_ms), now_ms=now_ms)


def write_at(log: PartitionLog, *placed: tuple[int, bytes, bytes]) -> None:
    """Records at given offsets, as a leader's compacted log has them."""
    for offset, key, value in placed:
        replicated(log, keyed((key, value), base_offset=offset))


def settle(log: PartitionLog) -> None:
    """Everything written is replicated and flushed, as it is some moments later."""
    log.high_watermark = log.log_end_offset
    log.flush()


def plan_for(log: PartitionLog, now_ms: int = NOW_MS) -> CleaningPlan:
    """The plan for all that may be compacted now, dirty enough or not."""
    settle(log)
    return make_plan(measure(log, now_ms), now_ms)


def begin(disk: Disk, plan: CleaningPlan, memory: CleanerMemory = MEMORY) -> Cleaning:
    cleaning = Cleaning(disk, plan, memory, lambda size: None)
    cleaning.build_map()
    return cleaning


def carry_out(
    log: PartitionLog, plan: CleaningPlan, memory: CleanerMemory = MEMORY
) -> CleaningStats:
    cleaning = begin(log.disk, plan, memory)
    while (cleaned := cleaning.write_next()) is not None:
        assert exchange(log, plan, cleaned, plan.now_ms)
    log.clean_offset = cleaning.end_offset
    return cleaning.stats


def compact(
    log: PartitionLog, now_ms: int = NOW_MS, memory: CleanerMemory = MEMORY
) -> CleaningStats:
    """Roll, so that everything can be compacted, and compact."""
    log.roll()
    return carry_out(log, plan_for(log, now_ms), memory)


def what_is_there(log: PartitionLog) -> list[tuple[int, bytes | None, bytes | None]]:
    """Offsets, keys and values, as a consumer that starts at the beginning gets them."""
    return [(record.offset, record.key, record.value) for record in read_everything(log)]


def headers(log: PartitionLog) -> list[BatchHeader]:
    """The headers of all batches of the log, those without records too."""
    found = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = content(log.read(offset, EVERYTHING, up_to=log.log_end_offset))
        if not data:
            break
        found += [header for header, _ in split_batches(memoryview(data))]
        offset = found[-1].next_offset
    return found
