"""Default values: whether one fits the type of its field, and the bytes that stand for it.

Whether it fits is judged as Avro's Java library judges it: a string fits bytes, fixed and any enum,
a number fits float and double, a union takes a value that fits any of its branches. Fields that a
record's default leaves out are taken from their own defaults, which were judged where they stand.
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
from headrace.schemas.avro.writing import compile_writer
from headrace.schemas.model import InvalidValue

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


def encode_default(node: AvroType, default: Json) -> bytes:
    """The bytes that a writer would have written; InvalidValue if the default has none."""
    try:
        return compile_writer(node)(_as_value(node, default))
    except RecursionError:
        raise InvalidValue("The default contains itself") from None


def _as_value(node: AvroType, default: Json) -> object:
    """The default in Avro's JSON encoding: unions with tags, records with all of their fields."""
    if isinstance(node, Union):
        return _in_branch(node, default)
    if isinstance(node, Record) and isinstance(default, dict):
        given = {each.name: default.get(each.name, each.default) for each in node.fields}
        return {
            name: _as_value(node.by_name[name].type, value)
            for name, value in given.items()
            if value is not NO_DEFAULT
        }
    if isinstance(node, Array) and isinstance(default, list):
        return [_as_value(node.items, item) for item in default]
    if isinstance(node, Map) and isinstance(default, dict):
        return {key: _as_value(node.values, item) for key, item in default.items()}
    return default


def _in_branch(node: Union, default: Json) -> object:
    """Before Avro 1.12 a default had to fit the first branch; since then, any."""
    for tag, branch in zip(node.tags, node.branches, strict=True):
        try:
            value = _as_value(branch, default)
            compile_writer(branch)(value)
        except InvalidValue:
            continue
        return None if tag == "null" else {tag: value}
    raise InvalidValue(f"{default!r} fits no branch of the union [{', '.join(node.tags)}]")
