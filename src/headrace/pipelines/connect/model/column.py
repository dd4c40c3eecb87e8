"""A column of values with one schema: Arrow where Arrow can hold them, Python values where not.

Values without a schema (JSON without an envelope) are Python values. `Column.values` and `arrow_of`
are each other's inverse for every value that `check` accepts and Arrow can hold.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import pyarrow as pa

from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.arrow_types import arrow_type, schema_of
from headrace.pipelines.connect.model.schema import Schema, Struct, Type


@dataclass(frozen=True, slots=True)
class Column:
    """The keys or the values of a batch. `data` is an Arrow array or a list of Python values."""

    schema: Schema | None
    data: pa.Array | list[object]

    def __len__(self) -> int:
        return len(self.data)

    @property
    def arrow(self) -> pa.Array | None:
        """The values as Arrow, if that is how they are held."""
        return None if isinstance(self.data, list) else self.data

    def to_arrow(self) -> pa.Array:
        """The values as Arrow, converted if need be; DataException if Arrow cannot hold them."""
        if not isinstance(self.data, list):
            return self.data
        if self.schema is not None:
            return arrow_of(self.schema, self.data)
        try:
            return pa.array(self.data)
        except (pa.ArrowException, OverflowError) as error:
            raise DataException(
                f"values without a schema do not fit one Arrow column: {error}"
            ) from error

    def to_values(self) -> list[object]:
        """The values in record form."""
        if isinstance(self.data, list):
            return self.data
        if self.schema is None:
            return list(self.data.to_pylist())
        return values_of(self.schema, self.data)

    def take(self, rows: pa.Array) -> Column:
        """The rows of these numbers (an Arrow array of integers), in their order."""
        if isinstance(self.data, list):
            return Column(self.schema, [self.data[row] for row in rows.to_pylist()])
        return Column(self.schema, self.data.take(rows))

    def slice(self, start: int, stop: int) -> Column:
        """Rows `start` to `stop`."""
        if isinstance(self.data, list):
            return Column(self.schema, self.data[start:stop])
        return Column(self.schema, self.data.slice(start, stop - start))


def of_values(schema: Schema | None, values: Sequence[object]) -> Column:
    """A column of record-form values: Arrow if they fit it."""
    if schema is None:
        return (
            Column(None, list(values))
            if any(v is not None for v in values)
            else nothing(len(values))
        )
    try:
        return Column(schema, arrow_of(schema, values))
    except DataException:
        return Column(schema, list(values))


def of_arrow(data: pa.Array | pa.ChunkedArray) -> Column:
    """A column of Arrow's values, under the plainest schema of their type."""
    array = data.combine_chunks() if isinstance(data, pa.ChunkedArray) else data
    schema = schema_of(array.type, optional=True)
    wanted = arrow_type(schema)
    try:
        return Column(schema, array if array.type == wanted else array.cast(wanted))
    except pa.ArrowException as error:
        raise DataException(f"a column of {array.type} does not fit {wanted}: {error}") from error


def nothing(rows: int) -> Column:
    """A column of nulls, which have no schema."""
    return Column(None, pa.nulls(rows))


def arrow_of(schema: Schema, values: Sequence[object]) -> pa.Array:
    """Record-form values as Arrow; DataException if Arrow cannot hold them."""
    plain = _to_plain(schema)
    try:
        return pa.array(
            values if plain is None else map(plain, values), arrow_type(schema), size=len(values)
        )
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError, ValueError) as error:
        raise DataException(f"Arrow cannot hold values of {schema.type.name}: {error}") from error


def values_of(schema: Schema, data: pa.Array) -> list[object]:
    """Arrow's values in record form."""
    made = _from_plain(schema)
    plain = data.to_pylist()
    return plain if made is None else [made(value) for value in plain]


_Step: TypeAlias = Callable[[object], object]


def _to_plain(schema: Schema) -> _Step | None:
    """How a value becomes what `pa.array` takes; None if it already is."""
    if schema.type is Type.STRUCT:
        names = [field.name for field in schema.fields]
        steps = [_to_plain(field.schema) for field in schema.fields]
        return lambda value: None if value is None else _struct_to_plain(value, names, steps)
    if schema.type is Type.ARRAY:
        item = _to_plain(schema.item)
        return None if item is None else partial(_each, item)
    if schema.type is Type.MAP:
        key, item = _to_plain(schema.key) or _same, _to_plain(schema.item) or _same
        return lambda value: _pairs(value, key, item)
    return None


def _struct_to_plain(
    value: object, names: list[str], steps: list[_Step | None]
) -> dict[str, object]:
    if not isinstance(value, Struct):
        raise TypeError(f"{value!r} is not a struct")
    held = zip(names, steps, value.values, strict=True)
    return {name: item if step is None else step(item) for name, step, item in held}


def _each(step: _Step, value: object) -> list[object] | None:
    return [step(item) for item in value] if isinstance(value, list) else None


def _pairs(value: object, key: _Step, item: _Step) -> list[tuple[object, object]] | None:
    return [(key(k), item(v)) for k, v in value.items()] if isinstance(value, dict) else None


def _same(value: object) -> object:
    return value


def _from_plain(schema: Schema) -> _Step | None:
    """How what `to_pylist` gives becomes a value; None if it already is one."""
    if schema.type is Type.STRUCT:
        steps = [(field.name, _from_plain(field.schema) or _same) for field in schema.fields]
        return lambda value: _struct_from_plain(schema, value, steps)
    if schema.type is Type.ARRAY:
        item = _from_plain(schema.item)
        return None if item is None else partial(_each, item)
    if schema.type is Type.MAP:
        key, item = _from_plain(schema.key) or _same, _from_plain(schema.item) or _same
        return lambda value: None if value is None else {key(k): item(v) for k, v in value}  # type: ignore[attr-defined]
    if schema.name == schemas.TIMESTAMP:
        return _in_utc
    return None


def _struct_from_plain(
    schema: Schema, value: object, steps: list[tuple[str, _Step]]
) -> Struct | None:
    if not isinstance(value, dict):
        return None
    return Struct(schema, [step(value[name]) for name, step in steps])


def _in_utc(value: object) -> object:
    return value.astimezone(datetime.UTC) if isinstance(value, datetime.datetime) else value
