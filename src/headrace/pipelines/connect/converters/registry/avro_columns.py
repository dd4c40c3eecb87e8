"""Avro by columns: the kernels of `pipelines.serdes`, where they say what records would.

That is for structs and arrays of numbers, booleans, texts and bytes, each of them optional or not.
Whatever else a schema has (maps, logical types, unions of several types, defaults, names) goes by
records, as does a column with a value that a kernel refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import ConfigError, CorruptData
from headrace.pipelines.connect.model.arrow_types import arrow_type
from headrace.pipelines.connect.model.schema import Schema, Type
from headrace.pipelines.serdes.avro.decoder import Decoder
from headrace.pipelines.serdes.avro.program import compile_program
from headrace.pipelines.serdes.registry_frames import read_frames
from headrace.pipelines.serdes.spans import BadValue, Spans
from headrace.schemas.avro.logical import logical_type
from headrace.schemas.avro.schema import Array, AvroType, Primitive, Record, Union
from headrace.schemas.framing import frame
from headrace.schemas.model import InvalidValue

_KINDS: Final = {
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "boolean": Type.BOOLEAN,
    "string": Type.STRING,
    "bytes": Type.BYTES,
}
NO_VALUE: Final = -1
"""In the place of an id: a tombstone."""


def alike(node: AvroType, schema: Schema) -> bool:
    """Whether values of an Avro type and of a Connect schema are the same columns."""
    if schema.default is not None:
        return False
    if isinstance(node, Union):
        others = [branch for branch in node.branches if branch.kind != "null"]
        return schema.optional and len(others) == 1 and _alike(others[0], schema)
    return not schema.optional and _alike(node, schema)


def _alike(node: AvroType, schema: Schema) -> bool:
    if isinstance(node, Record):
        names = [field.name for field in schema.fields]
        return (
            schema.type is Type.STRUCT
            and bool(names)
            and names == [field.name for field in node.fields]
            and all(
                alike(part.type, field.schema)
                for part, field in zip(node.fields, schema.fields, strict=True)
            )
        )
    if isinstance(node, Array):
        return schema.type is Type.ARRAY and alike(node.items, schema.item)
    return (
        isinstance(node, Primitive)
        and logical_type(node) is None
        and schema.name is None
        and _KINDS.get(node.kind) is schema.type
    )


def runs(data: pa.Array) -> list[tuple[int, pa.Array]] | None:
    """Rows that follow each other and name one schema, with its id; None if a row names none."""
    frames = read_frames(data, None)
    if frames.bad or any(not isinstance(group.key, int) for group in frames.groups):
        return None
    ids = np.full(len(data), NO_VALUE, np.int64)
    for group in frames.groups:
        ids[group.rows] = group.key
    return list(_cut(ids, data))


def _cut(
    ids: np.ndarray[tuple[int], np.dtype[np.int64]], data: pa.Array
) -> Iterator[tuple[int, pa.Array]]:
    ends = [*(np.flatnonzero(np.diff(ids)) + 1).tolist(), len(ids)]
    start = 0
    for end in ends if len(ids) else ():
        yield int(ids[start]), data.slice(start, end - start)
        start = end


class AvroColumns:
    """Values of one Avro schema of the registry, as columns of the Connect schema of it."""

    def __init__(self, node: AvroType, schema: Schema) -> None:
        assert alike(node, schema)
        self._type = arrow_type(schema)
        self._decoder = Decoder(compile_program(node, node))

    def decode(self, framed: pa.Array) -> pa.Array | None:
        """Framed values; None if one of them cannot be read."""
        frames = read_frames(framed, None)
        (group,) = frames.groups
        rows = np.stack([group.starts, frames.spans.rows[group.rows, 1]], axis=1)
        bad: list[BadValue] = []
        made = self._decoder.decode(Spans(frames.spans.data, rows), bad.append)
        return None if bad else _retyped(made, self._type)


def encode(node: AvroType, schema_id: int, values: pa.Array) -> pa.Array | None:
    """Values in frames; None if one of them does not fit the schema."""
    # numba takes most of a second to import, and a worker without such records never needs it.
    from headrace.pipelines.serdes.avro.encoder import encode as payloads_of

    try:
        payloads = payloads_of(values, node)
    except (ConfigError, CorruptData, InvalidValue):
        return None
    head, nothing = pa.scalar(frame(schema_id, b""), pa.binary()), pa.scalar(b"", pa.binary())
    return pc.binary_join_element_wise(head, payloads, nothing)


def _retyped(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same values under a type that says which of them can be null."""
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        parts = [_retyped(array.field(place), each.type) for place, each in enumerate(fields)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
    if pa.types.is_list(kind):
        items = _retyped(array.values, kind.value_type)
        return pa.ListArray.from_arrays(array.offsets, items, type=kind, mask=array.is_null())
    return array
