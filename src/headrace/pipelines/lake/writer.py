"""The writer: partitions, rotates, publishes, and knows where each partition stands.

Safe against what comes twice: rows before the offset that is expected are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.partitioners import Partitioner, Placed
from headrace.pipelines.lake.rotation import Rotation
from headrace.pipelines.lake.rows import Rows
from headrace.pipelines.lake.target import Cut, Place, Target
from headrace.runtime.clock import Clock


@dataclass(slots=True)
class _Partition:
    """Where a partition stands. `expected` is the next offset; `cut` has rows from `first` on."""

    expected: int | None = None
    is_known: bool = True
    cut: Cut | None = None
    first: int = 0
    last: int = 0
    rows: int = 0
    base_ms: int | None = None
    due_ms: int | None = None


class LakeWriter:
    """Writes rows of many partitions to one target."""

    def __init__(
        self, target: Target, partitioner: Partitioner, rotation: Rotation, clock: Clock
    ) -> None:
        self._target = target
        self._partitioner = partitioner
        self._rotation = rotation
        self._clock = clock
        self._partitions: dict[Place, _Partition] = {}

    def begin(self, places: Iterable[Place]) -> dict[Place, int]:
        """Take partitions over; the offsets from which they go on, of those that have any."""
        wanted = list(places)
        self.forget(wanted)
        found = self._target.positions(wanted)
        for place in wanted:
            self._partitions[place] = _Partition(found.get(place))
        return found

    def write(self, rows: Rows) -> Mapping[int, str]:
        """Write rows; the numbers of those that have no folder, with the reasons."""
        place = (rows.topic, rows.partition)
        partition = self._known(place)
        start = 0
        if partition.expected is not None and len(rows):
            start = int(np.searchsorted(np.asarray(rows.offsets), partition.expected))
        fresh = rows.slice(start, len(rows))
        if not len(fresh):
            return {}
        placed = self._partitioner.place(fresh, self._clock.now_ms())
        self._publish_if_due(place, partition)
        kept, placed_kept = _without_refused(fresh, placed)
        self._write(place, partition, kept, placed_kept)
        partition.expected = fresh.last + 1
        return {row + start: reason for row, reason in placed.refused.items()}

    def tick(self) -> None:
        """Publish what is due by the clock."""
        for place, partition in self._partitions.items():
            self._publish_if_due(place, partition)

    def publish(self, place: Place) -> None:
        """Publish what a partition has written."""
        partition = self._partitions.get(place)
        if partition is not None:
            self._publish(place, partition)

    def passed(self, place: Place, offset: int) -> None:
        """Rows before this offset that were not written were left out, and are not expected."""
        partition = self._partitions.get(place)
        if partition is not None and partition.is_known and partition.cut is None:
            partition.expected = max(offset, partition.expected or 0)

    def safe(self, place: Place) -> int | None:
        """The offset before which everything is published; None if the partition has none yet."""
        partition = self._partitions.get(place)
        if partition is None:
            return None
        return partition.expected if partition.cut is None else partition.first

    def forget(self, places: Iterable[Place]) -> None:
        """Let go of partitions; what they have not published is dropped."""
        for place in places:
            partition = self._partitions.pop(place, None)
            if partition is not None and partition.cut is not None:
                partition.cut.drop()

    def close(self) -> None:
        """Let go of everything."""
        self.forget(list(self._partitions))
        self._target.close()

    def _known(self, place: Place) -> _Partition:
        """The partition, once the target has said where it stands."""
        if place not in self._partitions:
            self.begin([place])
        partition = self._partitions[place]
        if not partition.is_known:
            found = self._target.positions([place]).get(place)
            if found is not None:
                partition.expected = max(found, partition.expected or 0)
            partition.is_known = True
        return partition

    def _write(self, place: Place, partition: _Partition, rows: Rows, placed: Placed) -> None:
        start = 0
        while start < len(rows):
            stop, ends = self._end_of_cut(partition, placed.times, start, len(rows))
            if stop > start:
                self._add(place, partition, rows.slice(start, stop), placed, start)
            size = 0 if partition.cut is None else partition.cut.size
            if ends or self._rotation.is_full(partition.rows, size):
                self._publish(place, partition)
            start = stop

    def _end_of_cut(
        self, partition: _Partition, times: pa.Int64Array | None, start: int, stop: int
    ) -> tuple[int, bool]:
        """Up to which row the open cut goes, and whether time ends it there."""
        room = self._rotation.room(partition.rows)
        if room is not None:
            stop = min(stop, start + room)
        if times is None or self._rotation.interval_ms is None:
            return stop, False
        base = partition.base_ms
        if base is None:
            base = int(times[start].as_py())
        late = self._rotation.late(times.slice(start, stop - start), base)
        return (stop, False) if late is None else (start + late, True)

    def _add(
        self, place: Place, partition: _Partition, rows: Rows, placed: Placed, start: int
    ) -> None:
        if partition.cut is None:
            now_ms = self._clock.now_ms()
            partition.cut = self._target.begin(place)
            partition.first = rows.first
            partition.base_ms = now_ms if placed.times is None else int(placed.times[start].as_py())
            partition.due_ms = self._due(partition.base_ms, now_ms, placed.times is None)
        codes = placed.codes[start : start + len(rows)]
        try:
            for code in np.unique(codes).tolist():
                chosen = np.flatnonzero(codes == code)
                part = rows if len(chosen) == len(rows) else rows.take(pa.array(chosen))
                partition.cut.write(placed.folders[code], part)
        except LakeFault:
            _drop(partition)
            raise
        partition.rows += len(rows)
        partition.last = rows.last

    def _due(self, base_ms: int, now_ms: int, by_clock: bool) -> int | None:
        """When the clock alone publishes a cut that begins now."""
        hands = [self._rotation.next_scheduled_ms(now_ms)]
        if by_clock and self._rotation.interval_ms is not None:
            hands.append(base_ms + self._rotation.interval_ms)
        return min((hand for hand in hands if hand is not None), default=None)

    def _publish_if_due(self, place: Place, partition: _Partition) -> None:
        if partition.due_ms is not None and self._clock.now_ms() >= partition.due_ms:
            self._publish(place, partition)

    def _publish(self, place: Place, partition: _Partition) -> None:
        if partition.cut is None:
            return
        try:
            partition.cut.commit(partition.first, partition.last + 1)
        except LakeFault:
            _drop(partition)
            raise
        _reset(partition)


def _drop(partition: _Partition) -> None:
    """Let go of a cut: its rows are expected again, unless the target says that it has them."""
    assert partition.cut is not None
    partition.cut.drop()
    partition.expected = partition.first
    partition.is_known = False
    _reset(partition)


def _reset(partition: _Partition) -> None:
    partition.cut, partition.rows = None, 0
    partition.base_ms = partition.due_ms = None


def _without_refused(rows: Rows, placed: Placed) -> tuple[Rows, Placed]:
    if not placed.refused:
        return rows, placed
    kept = np.setdiff1d(np.arange(len(rows)), np.fromiter(placed.refused, np.int64))
    numbers = pa.array(kept)
    times = None if placed.times is None else placed.times.take(numbers)
    return rows.take(numbers), Placed(placed.folders, placed.codes[kept], {}, times)
