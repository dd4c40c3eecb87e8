"""Which partition of which topic each row goes to.

A row's own partition comes first, then the hash of its key as every Kafka producer computes it, so
that equal keys meet whoever wrote them. Rows without either stick to one partition for a while and
then move on to the next (KIP-480, KIP-794): batches stay large, and partitions get equal shares.

Rows of any number of topics are sorted in one pass: the partitions of all topics are numbered
through, and this number, the slot, is what rows are grouped by.

The module refuses to know brokers; whoever calls says how many partitions a topic has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headrace.pipelines.columns.partitioner import murmur2_partitions, rows_by_partition
from headrace.pipelines.sink.faults import WrongRow

STICKY_BYTES: Final = 16_384
"""How much of the rows without a key goes to a partition before the next one's turn, at least."""

Indexes: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int32]
PartitionCounts: TypeAlias = Callable[[Collection[str]], Mapping[str, int]]


class Destination(NamedTuple):
    """A partition, and the rows for it by their index, in their order."""

    topic: str
    partition: int
    order: Indexes


class Router:
    """Routes the rows of one write. `turn` is where rows without a key begin: chance, usually."""

    def __init__(
        self,
        topic: str | None,
        partition_counts: PartitionCounts,
        *,
        ignore_keys: bool = False,
        turn: int = 0,
    ) -> None:
        self._topic = topic
        self._partition_counts = partition_counts
        self._ignore_keys = ignore_keys
        self._first_turn = turn
        self._turns: dict[str, int] = {}
        self._rows_seen = 0

    def route(self, rows: pa.RecordBatch) -> list[Destination]:
        """Every row in exactly one destination, the order of rows kept within each."""
        names, topics = self._topics(rows)
        counts_by_name = self._partition_counts(names)
        counts = np.array([counts_by_name[name] for name in names], dtype=np.int32)
        partitions = self._chosen(rows, names, topics, counts)
        self._by_key(rows, topics, counts, partitions)
        self._by_turn(rows, names, topics, counts, partitions)
        self._rows_seen += rows.num_rows

        first_slots = np.concatenate(([0], np.cumsum(counts)))
        slots = (partitions + first_slots[topics]).astype(np.int32)
        destinations = []
        for slot, order in rows_by_partition(slots, int(first_slots[-1])):
            topic = int(np.searchsorted(first_slots, slot, side="right")) - 1
            destinations.append(Destination(names[topic], slot - int(first_slots[topic]), order))
        return destinations

    def _topics(self, rows: pa.RecordBatch) -> tuple[list[str], Numbers]:
        """The topics of these rows, and for each row the number of its topic among them."""
        if self._topic is not None:
            return [self._topic], np.zeros(rows.num_rows, dtype=np.int32)
        column = rows.column("topic")
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise WrongRow(
                f"row {self._rows_seen + row} of this task has no topic (its column 'topic' is "
                "null); filter such rows out, or give the option 'topic'"
            )
        encoded = column.dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()

    def _chosen(
        self, rows: pa.RecordBatch, names: list[str], topics: Numbers, counts: Numbers
    ) -> Numbers:
        """What the column `partition` says; -1 where it says nothing."""
        if "partition" not in rows.schema.names:
            return np.full(rows.num_rows, -1, dtype=np.int32)
        column = rows.column("partition")
        said = column.is_valid().to_numpy(zero_copy_only=False)
        partitions = np.array(pc.fill_null(column, -1).to_numpy(), dtype=np.int32)
        wrong = np.flatnonzero(said & ((partitions < 0) | (partitions >= counts[topics])))
        if wrong.size:
            row = int(wrong[0])
            topic = int(topics[row])
            raise WrongRow(
                f"row {self._rows_seen + row} of this task asks for partition {partitions[row]} of "
                f"topic {names[topic]!r}, which has {counts[topic]} (0 to {counts[topic] - 1}); "
                "correct the column 'partition', leave it null, or add partitions to the topic"
            )
        return partitions

    def _by_key(
        self, rows: pa.RecordBatch, topics: Numbers, counts: Numbers, partitions: Numbers
    ) -> None:
        """Fill in what the key decides. Keys are hashed once for each number of partitions."""
        if "key" not in rows.schema.names or self._ignore_keys:
            return
        open_rows = partitions < 0
        if not open_rows.any():
            return
        for count in np.unique(counts):
            hashed = murmur2_partitions(rows.column("key"), int(count))
            mine = open_rows if len(counts) == 1 else open_rows & (counts[topics] == count)
            partitions[mine] = hashed[mine]

    def _by_turn(
        self,
        rows: pa.RecordBatch,
        names: list[str],
        topics: Numbers,
        counts: Numbers,
        partitions: Numbers,
    ) -> None:
        """Fill in what is left: runs of rows, each run for the partition whose turn it is."""
        left = np.flatnonzero(partitions < 0)
        if not left.size:
            return
        row_bytes = max(1, rows.nbytes // rows.num_rows)
        for number in np.unique(topics[left]):
            mine = left[topics[left] == number]
            count = int(counts[number])
            name = names[number]
            turn = self._turns.get(name, self._first_turn)
            runs = min(count, max(1, mine.size * row_bytes // STICKY_BYTES))
            partitions[mine] = (turn + np.arange(mine.size) * runs // mine.size) % count
            self._turns[name] = (turn + runs) % count
