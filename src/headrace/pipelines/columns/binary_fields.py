"""Arrow columns of bytes or text as three numbers a kernel can use: where they are, where each row
begins, how long it is.

A length of -1 stands for null, which is how the wire says it too. Arrow has many layouts for the
same content (32 or 64-bit offsets, views, dictionaries, slices of all of them); what comes out here
has one.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.errors import HeadraceError

Int64s: TypeAlias = NDArray[np.int64]

NULL = -1


class UnwritableRows(HeadraceError):
    """Rows that no record can hold; the text names the column and what would do."""


class BinaryFields(NamedTuple):
    """The rows of one column: `lengths[i]` bytes at `address + starts[i]`.

    The memory is the column's own, so the column must outlive this.
    """

    address: int
    starts: Int64s
    lengths: Int64s


def null_fields(rows: int) -> BinaryFields:
    """A column that is not there: every row is null."""
    return BinaryFields(0, np.zeros(rows, np.int64), np.full(rows, NULL, np.int64))


def plain_binary(column: pa.Array, name: str) -> pa.Array:
    """The column itself if it has offsets, else a copy that has; UnwritableRows if it has no bytes.

    The copy is the caller's to keep alive.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if _has_offsets(kind) or pa.types.is_null(kind):
        return column
    if (
        pa.types.is_binary_view(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    ):
        return column.cast(pa.large_binary())
    raise UnwritableRows(
        f"the column {name!r} has type {kind}, but a record holds bytes: "
        "make it binary or string (cast, to_json, to_avro)"
    )


def binary_fields(column: pa.Array) -> BinaryFields:
    """The rows of a column that `plain_binary` gave."""
    rows = len(column)
    if rows == 0 or pa.types.is_null(column.type):
        return null_fields(rows)
    _validity, offsets, data = column.buffers()
    width = np.int64 if _is_large(column.type) else np.int32
    first = column.offset
    bounds = np.frombuffer(offsets, width)[first : first + rows + 1].astype(np.int64)
    lengths = np.diff(bounds)
    if column.null_count:
        lengths[nulls(column)] = NULL
    return BinaryFields(data.address if data is not None else 0, bounds[:-1], lengths)


def nulls(column: pa.Array) -> NDArray[np.bool_]:
    mask: Any = column.is_null().to_numpy(zero_copy_only=False)
    return np.asarray(mask, np.bool_)


def _is_large(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_binary(kind) or pa.types.is_large_string(kind))


def _has_offsets(kind: pa.DataType) -> bool:
    return bool(_is_large(kind) or pa.types.is_binary(kind) or pa.types.is_string(kind))
