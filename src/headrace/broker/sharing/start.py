"""Where a share group begins to read a partition of which it has read nothing yet."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from headrace.broker.storage.time_lookups import Work, with_reading
from headrace.cluster.offset_reset import BY_DURATION, duration_ms
from headrace.coordinator.share.state import NO_START
from headrace.runtime.steps import finish

if TYPE_CHECKING:
    from headrace.log import Look, PartitionLog, TimestampOffset


async def resolve_start(
    log: PartitionLog, start_offset: int, reset: str, *, committed_only: bool, now_ms: int
) -> int:
    """The start offset, or what `share.auto.offset.reset` says in its place."""
    if start_offset != NO_START:
        return start_offset
    if reset == "earliest":
        return log.log_start_offset
    end = log.last_stable_offset if committed_only else log.high_watermark
    if reset.startswith(BY_DURATION):
        span_ms = duration_ms(reset.removeprefix(BY_DURATION)) or 0
        found = await _first_since(log, now_ms - span_ms, end)
        return end if found is None else found.offset
    return end


async def _first_since(log: PartitionLog, timestamp: int, end: int) -> TimestampOffset | None:
    def search(look: Look) -> TimestampOffset | None:
        return log.offset_for_time(timestamp, up_to=end, look=look)

    async def run(work: Work) -> TimestampOffset | None:
        return await asyncio.to_thread(finish, work)

    return await with_reading(search, run)
