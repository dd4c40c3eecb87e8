"""Arrow columns as JSON by polars, and which rows polars would not write as Jackson does.

Polars prints numbers of ordinary size, text, nulls, lists and structs as Jackson does. What it
prints otherwise is found here: such rows, or the whole column, are left to the record form.
"""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.logical import decimal_bytes
from headrace.pipelines.connect.model.schema import Schema, Type

_LEAST: Final = 1e-3  # Java prints smaller and larger doubles with an exponent
_MOST: Final = 1e7
_NUMBERS: Final = {
    schemas.DATE: pa.int32(),
    schemas.TIME: pa.int32(),
    schemas.TIMESTAMP: pa.int64(),
}
_AS_IT_IS: Final = frozenset(
    (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN, Type.STRING)
)


class Inexact(Exception):
    """The column holds what polars does not write as Jackson does."""


def encoded(
    schema: Schema, data: pa.Array, *, numeric: bool, head: str, tail: str
) -> tuple[pa.Array, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """The column's JSON as bytes, each row between `head` and `tail`, and the rows that the record
    form must write instead."""
    rough = np.zeros(len(data), np.bool_)
    if data.offset:
        data = data.take(pa.array(np.arange(len(data))))
    plain = _Plain(rough, numeric).of(schema, data, nested=False)
    if schema.type is Type.STRUCT:
        text = pl.Series(plain).struct.json_encode()
    else:
        whole = pl.Series(pa.StructArray.from_arrays([plain], ["p"])).struct.json_encode()
        text = whole.str.slice(len('{"p":')).str.head(-1)
    rough |= text.str.contains("\\u00", literal=True).to_numpy()
    if head or tail:
        text = pl.select(pl.concat_str(pl.lit(head), text, pl.lit(tail))).to_series()
    return text.to_arrow().cast(pa.binary()), rough


class _Plain:
    """Columns as polars can print them."""

    def __init__(self, rough: np.ndarray[tuple[int], np.dtype[np.bool_]], numeric: bool) -> None:
        self._rough = rough
        self._numeric = numeric

    def of(
        self, schema: Schema, data: pa.Array, *, nested: bool, whole: pa.Array | None = None
    ) -> pa.Array:
        """The column, part of `whole`. Rows that are not printed exactly are marked; below a list,
        where an item is no row, they make the column inexact."""
        if data.null_count and (not schema.optional or schema.default is not None):
            empty = data.is_null()
            if whole is not None:
                empty = pc.and_(empty, whole.is_valid())
            self._mark(empty.to_numpy(zero_copy_only=False), nested)
        if schema.name == schemas.DECIMAL:
            return self._decimals(schema, data)
        if schema.name in _NUMBERS:
            return data.cast(_NUMBERS[schema.name])
        if schema.type in _AS_IT_IS:
            return data
        if schema.type in (Type.FLOAT32, Type.FLOAT64):
            return self._floats(data, nested)
        if schema.type is Type.BYTES:
            return pl.Series(data).bin.encode("base64").to_arrow()
        if schema.type is Type.ARRAY:
            items = self.of(schema.item, data.values, nested=True)
            return pa.ListArray.from_arrays(data.offsets, items, mask=data.is_null())
        if schema.type is Type.STRUCT and schema.fields:
            return self._structs(schema, data, nested)
        raise Inexact

    def _mark(self, rows: np.ndarray[tuple[int], np.dtype[np.bool_]], nested: bool) -> None:
        if not nested:
            self._rough |= rows
        elif rows.any():
            raise Inexact

    def _floats(self, data: pa.Array, nested: bool) -> pa.Array:
        sizes = np.abs(data.fill_null(0).to_numpy(zero_copy_only=False))
        self._mark(~((sizes >= _LEAST) & (sizes < _MOST) | (sizes == 0)), nested)
        return data

    def _decimals(self, schema: Schema, data: pa.Array) -> pa.Array:
        if self._numeric:
            raise Inexact
        return pa.array([_base64(schema, value) for value in data.to_pylist()], pa.string())

    def _structs(self, schema: Schema, data: pa.Array, nested: bool) -> pa.Array:
        names = [field.name for field in schema.fields]
        if any(json.dumps(name, ensure_ascii=False) != f'"{name}"' for name in names):
            raise Inexact
        parts = [
            self.of(field.schema, pc.struct_field(data, [place]), nested=nested, whole=data)
            for place, field in enumerate(schema.fields)
        ]
        return pa.StructArray.from_arrays(parts, names, mask=data.is_null())


def _base64(schema: Schema, value: Decimal | None) -> str | None:
    return None if value is None else base64.b64encode(decimal_bytes(schema, value)).decode()
