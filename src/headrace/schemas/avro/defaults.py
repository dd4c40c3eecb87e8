"""Whether a default value fits the type of its field, as Avro's Java library judges it.

A string fits bytes, fixed and any enum, a number fits float and double, a union takes a value that
fits any of its branches. Fields that a record's default leaves out are taken from their own
defaults, which were judged where they stand.
"""

from __future__ import annotations

from collections.abc import Set

from headrace.schemas.avro.schema import (
    NO_DEFAULT,
    Array,
    AvroType,
    Json,
    Map,
    Record,
    Union,
)

_BOUNDS = {"int": 2**31, "long": 2**63}


def is_valid_default(node: AvroType, value: Json, open_records: Set[str] = frozenset()) -> bool:
    """Whether `value` can be a default of the type; `open_records` have no fields to judge by."""
    if isinstance(node, Union):
        return any(is_valid_default(branch, value, open_records) for branch in node.branches)
    if isinstance(node, Record):
        return isinstance(value, dict) and (
            node.name.full in open_records or _fits_record(node, value, open_records)
        )
    if isinstance(node, Array):
        return isinstance(value, list) and all(
            is_valid_default(node.items, item, open_records) for item in value
        )
    if isinstance(node, Map):
        return isinstance(value, dict) and all(
            is_valid_default(node.values, item, open_records) for item in value.values()
        )
    return _fits_scalar(node.kind, value)


def _fits_record(node: Record, value: dict[str, Json], open_records: Set[str]) -> bool:
    return all(
        is_valid_default(field.type, value[field.name], open_records)
        if field.name in value
        else field.default is not NO_DEFAULT
        for field in node.fields
    )


def _fits_scalar(kind: str, value: Json) -> bool:
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in _BOUNDS:
        bound = _BOUNDS[kind]
        return type(value) is int and -bound <= value < bound
    if kind in ("float", "double"):
        return type(value) is int or isinstance(value, float)
    return isinstance(value, str)
