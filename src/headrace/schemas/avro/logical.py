"""Which logical types are right where they stand.

Java ignores one that does not fit its type, and so do we: it stays a property like any other. The
normal form must know, because it writes a logical type that is right in front of the other
properties; and whoever makes columns of values.
"""

from __future__ import annotations

from typing import Final

from headrace.schemas.avro.schema import AvroType, Fixed, Primitive

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


def logical_type(node: AvroType) -> str | None:
    """The logical type of a type, if it has one that Avro knows and that fits."""
    if not isinstance(node, Primitive | Fixed):
        return None
    name = node.props.get("logicalType")
    if not isinstance(name, str):
        return None
    if name == "decimal":
        fits = decimal_digits(node) is not None
    elif isinstance(node, Fixed):
        fits = _ON_FIXED_BYTES.get(name) == node.size
    else:
        fits = _ON_PRIMITIVE.get(name) == node.kind
    return name if fits else None


def decimal_digits(node: AvroType) -> tuple[int, int] | None:
    """Precision and scale of a decimal; None for any other type."""
    if not isinstance(node, Primitive | Fixed) or node.props.get("logicalType") != "decimal":
        return None
    precision, scale = node.props.get("precision"), node.props.get("scale", 0)
    if type(precision) is not int or type(scale) is not int:
        return None
    if precision <= 0 or not 0 <= scale <= precision:
        return None
    if isinstance(node, Fixed):
        fits = node.size > 0 and precision <= _digits_of(node.size)
    else:
        fits = node.kind == "bytes"
    return (precision, scale) if fits else None


def leading_properties(node: Primitive | Fixed) -> list[str]:
    """The properties that make up a valid logical type, in the order of the normal form."""
    if logical_type(node) is None:
        return []
    digits = decimal_digits(node)
    if digits is None:
        return ["logicalType"]
    return ["logicalType", "precision", *(["scale"] if digits[1] else [])]


def _digits_of(size: int) -> int:
    """How many decimal digits always fit into a signed number of `size` bytes."""
    # Beyond some thousands of digits the exact number is no longer worth its computation.
    return 2**31 if size > _EXACT_BYTES else len(str(2 ** (8 * size - 1) - 1)) - 1
