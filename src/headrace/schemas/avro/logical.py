"""Which logical types are right where they stand.

Java ignores one that does not fit its type, and so do we: it stays a property like any other. The
normal form alone must know, because it writes a logical type that is right in front of the other
properties.
"""

from __future__ import annotations

from typing import Final

from headrace.schemas.avro.schema import Fixed, Primitive

_ON_PRIMITIVE: Final = {
    "big-decimal": "bytes",
    "uuid": "string",
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "timestamp-nanos": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
    "local-timestamp-nanos": "long",
}
_ON_FIXED_BYTES: Final = {"uuid": 16, "duration": 12}
_EXACT_BYTES: Final = 1_700


def leading_properties(node: Primitive | Fixed) -> list[str]:
    """The properties that make up a valid logical type, in the order of the normal form."""
    name = node.props.get("logicalType")
    if name == "decimal":
        return _decimal(node)
    if not isinstance(name, str):
        return []
    if isinstance(node, Fixed):
        fits = _ON_FIXED_BYTES.get(name) == node.size
    else:
        fits = _ON_PRIMITIVE.get(name) == node.kind
    return ["logicalType"] if fits else []


def _decimal(node: Primitive | Fixed) -> list[str]:
    precision, scale = node.props.get("precision"), node.props.get("scale", 0)
    if type(precision) is not int or type(scale) is not int:
        return []
    if precision <= 0 or not 0 <= scale <= precision:
        return []
    if isinstance(node, Fixed):
        if node.size == 0 or precision > _digits_of(node.size):
            return []
    elif node.kind != "bytes":
        return []
    return ["logicalType", "precision", *(["scale"] if scale else [])]


def _digits_of(size: int) -> int:
    """How many decimal digits always fit into a signed number of `size` bytes."""
    # Beyond some thousands of digits the exact number is no longer worth its computation.
    return 2**31 if size > _EXACT_BYTES else len(str(2 ** (8 * size - 1) - 1)) - 1
