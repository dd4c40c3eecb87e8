"""Columns of JSON as Arrow columns, for rows that all have one schema.

pyarrow reads lines of JSON into given types and is stricter than Connect. What it rejects, and the
few things that it reads otherwise, are left to the record form: `decoded` then gives None.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from headrace.pipelines.connect.converters.json.reading import base64_of
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.arrow_types import arrow_field, arrow_type
from headrace.pipelines.connect.model.logical import MILLISECONDS_PER_DAY, decimal_of
from headrace.pipelines.connect.model.schema import Schema, Type

_OPENING: Final = '{"p":'
_NUMBERS: Final = {
    schemas.DATE: pa.int32(),
    schemas.TIME: pa.int32(),
    schemas.TIMESTAMP: pa.int64(),
}
_NUMBER_TYPES: Final = {
    schemas.DATE: Type.INT32,
    schemas.TIME: Type.INT32,
    schemas.TIMESTAMP: Type.INT64,
}
_BOUNDS: Final = {
    schemas.DATE: (-719162, 2932896),  # of the years 1 to 9999
    schemas.TIME: (0, MILLISECONDS_PER_DAY - 1),
    schemas.TIMESTAMP: (-62135596800000, 253402300799999),
}
_BLOCK: Final = 1 << 20
# Whole numbers beyond 64 bits, which wrap, and zeros below zero, which have no sign.
_ODD_NUMBER: Final = r"\d{19}|(^|[\[:,\s])-0(\.0*)?([eE]|[,\]}\s]|$)"
_MAX_LENGTH: Final = 2_000  # a longer row may be nested more deeply than Connect allows


class Inexact(Exception):
    """pyarrow does not read the rows as Connect does."""


def decoded(
    schema: Schema, rows: pa.Array, *, head: bytes, tail: str, defaults: bool
) -> pa.Array | None:
    """Rows that are a payload and a closing brace behind their head, as a column of the schema's
    Arrow type. `tail` closes rows that have no brace."""
    try:
        twin = pa.schema([pa.field("p", _twin(schema))])
        lines = _lines(pl.Series(rows.cast(pa.string())), head.decode(), f"{tail}\n")
        options = pj.ParseOptions(explicit_schema=twin, unexpected_field_behavior="error")
        longest = pc.max(pc.binary_length(rows)).as_py()
        block = pj.ReadOptions(use_threads=False, block_size=max(_BLOCK, 2 * longest))
        if lines.to_pybytes().count(b"\n") != len(rows):
            return None
        table = pj.read_json(pa.BufferReader(lines), read_options=block, parse_options=options)
        if table.num_rows != len(rows):
            return None
        column = table.column(0).combine_chunks()
        _check_nulls(schema, column, defaults)
        return _made(schema, column)
    except (Inexact, pa.ArrowException, UnicodeDecodeError):
        return None


def _lines(rows: pl.Series, head: str, tail: str) -> pa.Buffer:
    """One object in a line for each row."""
    bodies = rows.str.strip_prefix(head) if head else rows
    parts = pl.concat_str(pl.lit(_OPENING), bodies, pl.lit(tail))
    lines = pl.select(parts).to_series().to_arrow()
    return lines.buffers()[2].slice(0, pc.sum(pc.binary_length(lines)).as_py())


def _twin(schema: Schema) -> pa.DataType:
    """The Arrow type in which JSON says values of the schema."""
    if schema.name in _NUMBERS:
        if schema.type is not _NUMBER_TYPES[schema.name]:
            raise Inexact
        return _NUMBERS[schema.name]
    if schema.type is Type.BYTES:
        return pa.string()
    if schema.type is Type.ARRAY:
        return pa.list_(_twin(schema.item))
    if schema.type is Type.STRUCT and schema.fields:
        return pa.struct([(field.name, _twin(field.schema)) for field in schema.fields])
    if schema.type in (Type.MAP, Type.STRUCT) or schema.name == schemas.DECIMAL:
        raise Inexact
    return arrow_type(schema)


def _check_nulls(schema: Schema, data: pa.Array, defaults: bool) -> None:
    """Inexact if a null stands where it is a fault, or stands for a default."""
    if data.null_count and (not schema.optional or (schema.default is not None and defaults)):
        raise Inexact
    if schema.type is Type.ARRAY:
        _check_nulls(schema.item, data.values, defaults)
    elif schema.type is Type.STRUCT:
        held = data.filter(data.is_valid()) if data.null_count else data
        for place, field in enumerate(schema.fields):
            _check_nulls(field.schema, pc.struct_field(held, [place]), defaults)


def _made(schema: Schema, data: pa.Array) -> pa.Array:
    """The twin's values as the schema's."""
    if schema.name in _NUMBERS:
        least, most = _BOUNDS[schema.name or ""]
        found = pc.min_max(data)
        if found["min"].is_valid and (found["min"].as_py() < least or found["max"].as_py() > most):
            raise Inexact
        return data.cast(arrow_type(schema))
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        return _floats(data)
    if schema.type is Type.BYTES:
        return _bytes(schema, data)
    if schema.type is Type.ARRAY:
        items = _made(schema.item, data.values)
        return pa.ListArray.from_arrays(
            data.offsets, items, arrow_type(schema), mask=data.is_null()
        )
    if schema.type is Type.STRUCT:
        fields = [arrow_field(field.name, field.schema) for field in schema.fields]
        parts = [
            _made(field.schema, pc.struct_field(data, [place]))
            for place, field in enumerate(schema.fields)
        ]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=data.is_null())
    return data


def _floats(data: pa.Array) -> pa.Array:
    numbers = data.fill_null(1).to_numpy(zero_copy_only=False)
    if not np.isfinite(numbers).all() or (np.signbit(numbers) & (numbers == 0)).any():
        raise Inexact
    return data


def _bytes(schema: Schema, data: pa.Array) -> pa.Array:
    try:
        plain = [None if text is None else base64_of(text) for text in data.to_pylist()]
        if schema.name != schemas.DECIMAL:
            return pa.array(plain, pa.binary())
        numbers: list[Decimal | None] = [
            None if each is None else decimal_of(schema, each) for each in plain
        ]
        return pa.array(numbers, arrow_type(schema))
    except (ValueError, DataException) as error:
        raise Inexact from error


def plain_values(data: pa.Array, by_record: Callable[[bytes], object]) -> list[object]:
    """Rows without a schema, by orjson where it reads them as Connect does."""
    odd = pc.match_substring_regex(data, _ODD_NUMBER)
    odd = pc.or_(odd, pc.greater(pc.binary_length(data), _MAX_LENGTH)).to_pylist()
    made: list[object] = []
    for row, is_odd in zip(data.to_pylist(), odd, strict=True):
        try:
            made.append(None if row is None else by_record(row) if is_odd else orjson.loads(row))
        except orjson.JSONDecodeError:
            made.append(by_record(row))
    return made
