"""Casts of whole arrays, where Arrow's kernels do what Java does; None where they might not.

Integers wrap around in both. Floats become integers only if all are within bounds, text becomes
numbers only if it is spelt so plainly that both read it alike.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.arrow_types import arrow_type
from headrace.pipelines.connect.model.schema import INTEGER_BITS, Schema, Type

_FLOATS: Final = (Type.FLOAT32, Type.FLOAT64)
_STORED: Final = {
    schemas.DATE: pa.int32(),
    schemas.TIME: pa.int32(),
    schemas.TIMESTAMP: pa.int64(),
}
_PLAIN_INTEGER: Final = "^-?[0-9]{1,18}$"
_PLAIN_FLOAT: Final = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"


def cast_array(array: pa.Array, schema: Schema, target: Type) -> pa.Array | None:
    """The array as `target`, if this is one of the casts that are done in columns."""
    if schema.name is not None:
        stored = _STORED.get(schema.name)
        if stored is None or target is Type.STRING:
            return None
        array = array.cast(stored)
    try:
        return _cast(array, schema.type, target)
    except pa.ArrowException:
        return None


def _cast(array: pa.Array, held: Type, target: Type) -> pa.Array | None:
    kind = arrow_type(Schema(target))
    if held is target:
        return array
    if held in INTEGER_BITS:
        return array.cast(kind, safe=False)
    if held is Type.BOOLEAN:
        return array.cast(kind) if target is Type.STRING else array.cast(pa.int8()).cast(kind)
    if held in _FLOATS and target in _FLOATS:
        return array.cast(kind, safe=False)
    if held in _FLOATS and target in INTEGER_BITS:
        return _cut_off(array, kind, INTEGER_BITS[target])
    if held is Type.STRING:
        return _parsed(array, kind, target)
    return None


def _cut_off(array: pa.Array, kind: pa.DataType, bits: int) -> pa.Array | None:
    bound = float(1 << bits - 1)
    inside = pc.and_(pc.greater(array, -bound), pc.less(array, bound))
    if not pc.all(inside, min_count=0).as_py():  # NaN is not inside
        return None
    return pc.trunc(array).cast(kind, safe=False)


def _parsed(array: pa.Array, kind: pa.DataType, target: Type) -> pa.Array | None:
    if target is Type.BOOLEAN:
        return pc.equal(pc.ascii_lower(array), "true")
    plain = _PLAIN_INTEGER if target in INTEGER_BITS else _PLAIN_FLOAT
    if not pc.all(pc.match_substring_regex(array, plain), min_count=0).as_py():
        return None
    return array.cast(kind)
