"""The marker of a written batch: an offset of a group, committed in the transaction of its rows.

Each task of a query has a group of its own, named as its transactional id. The group's offset is
the number of the last batch that the task has written, plus one; the metadata says how many rows
that batch had:

    OFFSET    batch + 1
    METADATA  {"batch": 41, "rows": 1800}

The marker stands under partition 0 of one of the topics that were written. Brokers take offsets of
existing partitions only, and a stage may have more tasks than any topic has partitions, so the
partition cannot stand for the task. When later batches go to other topics, older markers stay
behind under the earlier ones: the newest counts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import NamedTuple

from headrace.types import TopicPartition


class Marker(NamedTuple):
    """The last batch that a task has written, and its rows; None: the metadata is not ours."""

    batch_id: int
    rows: int | None


def newest_marker(offsets: Mapping[TopicPartition, tuple[int, str]]) -> Marker | None:
    """The last batch among the offsets of a task's group."""
    if not offsets:
        return None
    offset, metadata = max(offsets.values(), key=lambda entry: entry[0])
    return Marker(offset - 1, _rows(metadata))


def marker_offsets(
    marker: Marker, topics: Collection[str]
) -> dict[TopicPartition, tuple[int, str]]:
    """The offsets that set this marker, for the rows just written to these topics."""
    metadata = json.dumps({"batch": marker.batch_id, "rows": marker.rows})
    return {TopicPartition(min(topics), 0): (marker.batch_id + 1, metadata)}


def _rows(metadata: str) -> int | None:
    """Someone may have set the offset with a tool of theirs: then nothing is known of the rows."""
    try:
        rows = json.loads(metadata)["rows"]
    except (ValueError, TypeError, KeyError):
        return None
    return rows if isinstance(rows, int) else None
