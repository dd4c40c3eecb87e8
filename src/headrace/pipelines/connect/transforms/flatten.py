"""Flatten: fields of fields become fields of the whole, their names joined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, NamedTuple

import pyarrow as pa

from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Schema, Struct, Type, check
from headrace.pipelines.connect.transforms.shapes import (
    SCHEMAS_KEPT,
    joined,
    require_map,
    require_struct,
    struct_array,
    struct_like,
)
from headrace.pipelines.connect.transforms.side import Side
from headrace.pipelines.connect.transforms.transform import Transform

_PURPOSE = "flattening"


class _Leaf(NamedTuple):
    """A field of the flat struct, and the path of places to it in the nested one."""

    name: str
    schema: Schema
    path: tuple[int, ...]


class Flatten(Transform):
    """A null value stays as it is."""

    definition: ClassVar = Definition(
        (Key("delimiter", Kind.STRING, ".", "What stands between the names that are joined."),)
    )

    def __init__(self, side: Side, given: Mapping[str, object]) -> None:
        self._side = side
        self._delimiter = str(self.definition.read(given)["delimiter"])
        self._flat = lru_cache(SCHEMAS_KEPT)(self._plan)

    def _plan(self, schema: Schema) -> tuple[Schema, list[_Leaf]]:
        leaves = list(
            self._leaves(schema, "", (), optional=schema.optional, default=schema.default)
        )
        return struct_like(schema, [(leaf.name, leaf.schema) for leaf in leaves]), leaves

    def _leaves(
        self, schema: Schema, prefix: str, path: tuple[int, ...], *, optional: bool, default: object
    ) -> Iterator[_Leaf]:
        """The leaves of a struct; it may be null if any struct around it may."""
        for place, field in enumerate(schema.fields):
            name = self._joined(prefix, field.name)
            inner = field.schema
            may_be_null = optional or inner.optional
            own = inner.default
            if own is None and isinstance(default, Struct):
                own = default[field.name]
            if inner.type is Type.STRUCT:
                yield from self._leaves(
                    inner, name, (*path, place), optional=may_be_null, default=own
                )
            elif inner.type is Type.MAP:
                raise DataException(
                    "Flatten transformation does not support MAP for record with schemas "
                    f"(for field {name})."
                )
            else:
                yield _Leaf(name, inner.but(optional=may_be_null, default=own), (*path, place))

    def _joined(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name

    def apply(self, record: Record) -> Record:
        value = self._side.held(record)
        if value is None:
            return record
        if self._side.schema(record) is None:
            flat: dict[str, object] = {}
            self._flatten(require_map(value, _PURPOSE), "", flat)
            return self._side.changed(record, None, flat)
        held = require_struct(value, _PURPOSE)
        made, leaves = self._flat(held.schema)
        values = [_leaf(held, leaf) for leaf in leaves]
        return self._side.changed(record, made, Struct(made, values))

    def _flatten(self, value: dict[str, object], prefix: str, flat: dict[str, object]) -> None:
        for key, item in value.items():
            name = self._joined(prefix, key)
            if isinstance(item, dict):
                self._flatten(item, name, flat)
            else:
                flat[name] = item

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        column = self._side.column(batch)
        rows = struct_array(column)
        if rows is None or rows.null_count or column.schema is None:
            return None
        made, leaves = self._flat(column.schema)
        arrays = [_leaf_array(rows, column.schema, leaf.path) for leaf in leaves]
        if any(array is None for array in arrays):
            return None
        return [self._side.with_column(batch, joined(made, arrays, len(batch)))]


def _leaf(value: Struct, leaf: _Leaf) -> object:
    """The value of a leaf; null if a struct around it is, whatever the leaf says of nulls."""
    held: object = value
    for place in leaf.path:
        if not isinstance(held, Struct):
            return None
        held = held[held.schema.fields[place].name]
    if held is None:
        check(leaf.schema, None, leaf.name)
    return held


def _leaf_array(rows: pa.StructArray, schema: Schema, path: tuple[int, ...]) -> pa.Array | None:
    """The array of a leaf; None if a null on the way to it is replaced or may not be."""
    array: pa.Array = rows
    for place in path:
        array = array.flatten()[place] if array.null_count else array.field(place)
        schema = schema.fields[place].schema
        if array.null_count and (schema.default is not None or not schema.optional):
            return None
    return array
