"""Rows of batches brought apart and together again, in their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import Column


def runs(items: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Where equal neighbours begin and end."""
    start = 0
    for place in range(1, len(items) + 1):
        if place == len(items) or items[place] != items[start]:
            yield start, place
            start = place


def split(batch: Batch, mask: npt.NDArray[np.bool_]) -> tuple[Batch, Batch]:
    """The rows that are meant, and the others."""
    return batch.filter(pa.array(mask)), batch.filter(pa.array(~mask))


def merged(batches: Iterable[Batch]) -> list[Batch]:
    """The rows of all batches in the order of their positions, in as few batches as may be."""
    alike = _joined([batch for batch in batches if len(batch)])
    if len(alike) < 2:
        return [_sorted(batch) for batch in alike]
    owner = np.concatenate([np.full(len(batch), n) for n, batch in enumerate(alike)])
    row = np.concatenate([np.arange(len(batch)) for batch in alike])
    order = np.argsort(np.concatenate([_positions(batch) for batch in alike]), kind="stable")
    owner, row = owner[order], row[order]
    return [
        alike[owner[start]].take(pa.array(row[start:stop])) for start, stop in runs(owner.tolist())
    ]


def _positions(batch: Batch) -> npt.NDArray[np.int64]:
    return np.asarray(batch.positions.to_numpy(zero_copy_only=False))


def _sorted(batch: Batch) -> Batch:
    positions = _positions(batch)
    if (positions[:-1] <= positions[1:]).all():
        return batch
    return batch.take(pa.array(np.argsort(positions, kind="stable")))


def _joined(batches: list[Batch]) -> list[Batch]:
    """Batches of the same topic and schemas as one."""
    kinds: list[list[Batch]] = []
    for batch in batches:
        for kind in kinds:
            if _alike(kind[0], batch):
                kind.append(batch)
                break
        else:
            kinds.append([batch])
    return [kind[0] if len(kind) == 1 else _concatenated(kind) for kind in kinds]


def _alike(one: Batch, other: Batch) -> bool:
    return (
        one.topic == other.topic
        and one.partition == other.partition
        and one.key.schema == other.key.schema
        and one.value.schema == other.value.schema
        and (one.timestamps is None) == (other.timestamps is None)
    )


def _concatenated(batches: list[Batch]) -> Batch:
    timed = batches[0].timestamps is not None
    headed = any(batch.headers is not None for batch in batches)
    return batches[0].but(
        key=_column([batch.key for batch in batches]),
        value=_column([batch.value for batch in batches]),
        positions=pa.concat_arrays([batch.positions for batch in batches]),
        timestamps=pa.concat_arrays([b.timestamps for b in batches]) if timed else None,
        headers=[row for batch in batches for row in batch.headers or [()] * len(batch)]
        if headed
        else None,
    )


def _column(columns: list[Column]) -> Column:
    arrays = [column.arrow for column in columns]
    if all(array is not None for array in arrays):
        return Column(columns[0].schema, pa.concat_arrays(arrays))
    return Column(columns[0].schema, [v for column in columns for v in column.to_values()])
