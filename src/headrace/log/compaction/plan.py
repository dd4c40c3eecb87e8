"""What one compaction of a log will do, as plain data.

A plan is made where the log lives and carried out wherever there is time for it, in another thread
or another process: it names files and offsets and holds no object of the log. Everything it names
is finished and immutable, so the log may go on growing meanwhile. If it is cut or loses one of the
segments, the plan is worth nothing any more, which is found out before a result takes its place.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.log.compaction.cleanable import Cleanable


@dataclass(frozen=True, slots=True)
class Source:
    """A segment to be compacted."""

    base_offset: int
    size: int
    has_txn_index: bool


@dataclass(frozen=True, slots=True)
class LastOfProducer:
    """What the log must still tell of an active producer after a restart: its last sequence, or
    where it has written none, its epoch.
    """

    last_offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class CleaningPlan:
    """See the module."""

    folder: str
    first_dirty_offset: int
    first_uncleanable_offset: int
    sources: list[Source]
    """All segments below the first uncleanable offset, ascending."""
    later_txn_indexes: list[int]
    """Base offsets of later segments that may name aborted transactions of these."""
    producers: dict[int, LastOfProducer]
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    truncations: int
    """How often the log had been cut when the plan was made."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> CleaningPlan:
        producers = fields["producers"].items()
        return cls(
            **{
                **fields,
                "sources": [Source(**source) for source in fields["sources"]],
                "producers": {int(each): LastOfProducer(**last) for each, last in producers},
            }
        )


def make_plan(cleanable: Cleanable, now_ms: int) -> CleaningPlan:
    """How to compact this log now."""
    log = cleanable.log
    end = cleanable.first_uncleanable_offset
    config = log.config
    return CleaningPlan(
        folder=log.folder,
        first_dirty_offset=cleanable.first_dirty_offset,
        first_uncleanable_offset=end,
        sources=[
            Source(segment.base_offset, segment.size, segment.txn_index.exists)
            for segment in log.segments
            if segment.base_offset < end
        ],
        later_txn_indexes=[
            segment.base_offset
            for segment in log.segments
            if segment.base_offset >= end and segment.txn_index.exists
        ],
        producers={
            entry.producer_id: LastOfProducer(entry.last_offset, entry.producer_epoch)
            for entry in log.producers.active_producers()
        },
        now_ms=now_ms,
        delete_retention_ms=config.delete_retention_ms,
        segment_bytes=config.segment_bytes,
        segment_index_bytes=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
        truncations=log.truncations,
    )
