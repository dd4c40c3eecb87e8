"""Columns of timestamps as columns of milliseconds, and back; None where a value needs a look.

Text is read and written value by value, each distinct one once.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model.logical import MILLISECONDS_PER_DAY as DAY_MS
from headrace.pipelines.connect.transforms.moments import FIRST_MS, LAST_MS, LEAST, MOST


def epochs_of(
    array: pa.Array, kind: str, per_second: int, parsed: Callable[[str], int]
) -> pa.Int64Array | None:
    """Milliseconds of timestamps: of text, Unix time, or Arrow's own types."""
    if kind == "string":
        return _distinct(array, parsed, pa.int64())
    if kind == "unix":
        return _rescaled(array, per_second, 1000)
    if kind == "Date":
        return pc.multiply(array.cast(pa.int32()).cast(pa.int64()), DAY_MS)
    if kind == "Time":
        return array.cast(pa.int32()).cast(pa.int64())
    return array.cast(pa.int64())


def array_of(
    epochs: pa.Int64Array, kind: str, per_second: int, written: Callable[[int], object]
) -> pa.Array | None:
    """Milliseconds as what is asked for."""
    if kind == "string":
        return _distinct(epochs, written, pa.string())
    if kind == "unix":
        return _rescaled(epochs, 1000, per_second)
    if not within(epochs, FIRST_MS, LAST_MS):
        return None
    days = pc.floor(pc.divide(epochs.cast(pa.float64(), safe=False), float(DAY_MS)))
    whole = days.cast(pa.int64())
    if kind == "Date":
        return whole.cast(pa.int32()).cast(pa.date32())
    if kind == "Time":
        rest = pc.subtract(epochs, pc.multiply(whole, DAY_MS))
        return rest.cast(pa.int32()).cast(pa.time32("ms"))
    return epochs.cast(pa.timestamp("ms", tz="UTC"))


def _distinct(
    array: pa.Array, step: Callable[[str], int] | Callable[[int], object], kind: pa.DataType
) -> pa.Array | None:
    coded = array.dictionary_encode()
    try:
        made = [step(value) for value in coded.dictionary.to_pylist()]
        return pa.array(made, kind).take(coded.indices)
    except (ConnectException, OverflowError):
        return None


def _rescaled(array: pa.Int64Array, per_second: int, wanted: int) -> pa.Int64Array | None:
    if wanted < per_second:
        return pc.divide(array, per_second // wanted)
    factor = wanted // per_second
    if not within(array, LEAST // factor + 1, MOST // factor):
        return None
    return pc.multiply(array, factor)


def within(array: pa.Int64Array, least: int, most: int) -> bool:
    """Whether all values are between two bounds."""
    bounds = pc.min_max(array).as_py()
    return bounds["min"] is None or (bounds["min"] >= least and bounds["max"] <= most)
