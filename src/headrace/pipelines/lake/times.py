"""The time of a row: its record's, a field's of its value, or the clock's."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.lake.rows import Rows

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Times:
    """Epoch milliseconds; rows without a time are null and refused."""

    times: pa.Int64Array
    refused: Mapping[int, str] = field(default_factory=dict)


class Extractor(Protocol):
    """Where times come from."""

    def times(self, rows: Rows) -> Times:
        """The times of rows."""


class Wallclock:
    """The moment at which a row is written: another one when it is written again."""

    def times(self, rows: Rows) -> Times:
        raise AssertionError("partitioners ask their clock")


class RecordTime:
    """The record's timestamp."""

    def times(self, rows: Rows) -> Times:
        found = pa.nulls(len(rows), pa.int64()) if rows.times is None else rows.times
        return _without_nulls(found, "the record has no timestamp")


class FieldTime:
    """A field of the value: milliseconds, a timestamp, a date, or a text of ISO 8601."""

    def __init__(self, name: str) -> None:
        self._name = name

    def times(self, rows: Rows) -> Times:
        values = rows.column(self._name)
        missing = f"the value has no time in its field {self._name}"
        if values is None:
            return _without_nulls(pa.nulls(len(rows), pa.int64()), missing)
        kind = values.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return self._of_texts(values)
        if pa.types.is_timestamp(kind):
            unit = pa.timestamp("ms", tz=kind.tz)
            return _without_nulls(values.cast(unit, safe=False).cast(pa.int64()), missing)
        if pa.types.is_date(kind):
            return _without_nulls(values.cast(pa.timestamp("ms")).cast(pa.int64()), missing)
        if pa.types.is_integer(kind):
            return _without_nulls(values.cast(pa.int64()), missing)
        return _without_nulls(
            pa.nulls(len(rows), pa.int64()), f"field {self._name} is a {kind}, which is not a time"
        )

    def _of_texts(self, texts: pa.Array) -> Times:
        made: list[int | None] = []
        refused: dict[int, str] = {}
        for row, text in enumerate(texts.to_pylist()):
            try:
                moment = datetime.datetime.fromisoformat(text or "")
            except ValueError:
                made.append(None)
                refused[row] = f"field {self._name} is not a time of ISO 8601: {text!r}"
                continue
            moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
            made.append((moment - _EPOCH) // _MILLISECOND)
        return Times(pa.array(made, pa.int64()), refused)


def _without_nulls(times: pa.Int64Array, reason: str) -> Times:
    if not times.null_count:
        return Times(times)
    rows = pc.indices_nonzero(times.is_null()).to_pylist()
    return Times(times, dict.fromkeys(rows, reason))
