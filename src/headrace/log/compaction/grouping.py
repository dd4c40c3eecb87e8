"""Which segments are compacted into one.

Compaction leaves little of a segment, and thousands of tiny segments would be a burden of their
own. So neighbours go into one new segment, as long as everything they hold now would fit into one:
by `segment.bytes`, by `segment.index.bytes`, and by the 32 bits that indexes have for an offset.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.log.compaction.plan import CleaningPlan, Source
from headrace.log.offset_index import MAX_RELATIVE_OFFSET


@dataclass(frozen=True, slots=True)
class Measured:
    """A segment with all that counts against a limit."""

    source: Source
    offset_index_bytes: int
    time_index_bytes: int
    next_base_offset: int


def group(segments: Iterable[Measured], plan: CleaningPlan) -> list[list[Source]]:
    """The segments in their order, cut into groups of which each becomes one segment."""
    groups: list[list[Source]] = []
    log_bytes = offset_bytes = time_bytes = 0
    for each in segments:
        log_bytes += each.source.size
        offset_bytes += each.offset_index_bytes
        time_bytes += each.time_index_bytes
        if (
            not groups
            or log_bytes > plan.segment_bytes
            or max(offset_bytes, time_bytes) > plan.segment_index_bytes
            or not _fits(each, groups[-1][0].base_offset)
        ):
            groups.append([])
            log_bytes = each.source.size
            offset_bytes = each.offset_index_bytes
            time_bytes = each.time_index_bytes
        groups[-1].append(each.source)
    return groups


def _fits(segment: Measured, base_offset: int) -> bool:
    """Whether the segment's last offset can be said from this base; without records it has none."""
    last_offset = segment.next_base_offset - 1
    return segment.source.size == 0 or last_offset - base_offset <= MAX_RELATIVE_OFFSET
