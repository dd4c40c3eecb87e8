"""Compaction: a log that keeps the newest record of each key, and forgets the others.

    cleanable     how dirty a log is, and which one is next
    plan          what is to be done with it, as plain data
    cleaning      doing it, in another thread or process: reads old segments, writes new ones
    key_map       the newest record of each key, in bounded memory
    record_keys   the keys inside a batch, fast
    retained      what is left of a batch
    transactions  aborted records and spent markers
    grouping      which segments become one

The life of a compaction: `dirtiest` finds the next log, `make_plan` describes the work, a
`Cleaning` carries it out, and after each new segment `headrace.log.swap.exchange` puts it in the
place of the old ones, where the log lives. Offsets never change, order never changes.
"""

from __future__ import annotations

from headrace.log.compaction.cleanable import Cleanable, dirtiest, measure
from headrace.log.compaction.cleaning import (
    CleanedSegment,
    CleanerMemory,
    Cleaning,
    CleaningStats,
    discard,
)
from headrace.log.compaction.plan import CleaningPlan, make_plan

__all__ = [
    "Cleanable",
    "CleanedSegment",
    "CleanerMemory",
    "Cleaning",
    "CleaningPlan",
    "CleaningStats",
    "dirtiest",
    "discard",
    "make_plan",
    "measure",
]
