"""Schemas as users give them, and types as messages name them.

The trees are those of `headrace.schemas.avro`, which also knows how one schema reads another's
values.
"""

from __future__ import annotations

from headrace.errors import ConfigError
from headrace.schemas import avro
from headrace.schemas.avro.logical import logical_type
from headrace.schemas.avro.schema import PRIMITIVES, Array, AvroType, Fixed, Map, Primitive, Union
from headrace.schemas.model import InvalidSchema


def parse(text: str) -> AvroType:
    """The schema in `text`, in Avro's JSON form."""
    try:
        return avro.parse(text).root
    except InvalidSchema as fault:
        quotes = '; a primitive type is written in quotes, as in "string"'
        hint = quotes if text.strip() in PRIMITIVES else ""
        raise ConfigError(f"the Avro schema is not valid: {fault}{hint}") from None


def describe(node: AvroType) -> str:
    """A type in a few words."""
    match node:
        case Primitive():
            logical = logical_type(node)
            return node.kind if logical is None else f"{node.kind} ({logical})"
        case Fixed():
            return f"fixed {node.name.full} of {node.size} bytes"
        case Array():
            return f"array of {describe(node.items)}"
        case Map():
            return f"map of {describe(node.values)}"
        case Union():
            return "union of " + ", ".join(describe(branch) for branch in node.branches)
        case _:
            return f"{node.kind} {node.name.full}"
