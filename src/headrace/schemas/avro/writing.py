"""From values in Avro's JSON encoding to Avro's binary encoding.

A schema is compiled once to a function for each of its types. Values of logical types are written
as what underlies them: a date is a number of days. A field that a record leaves out is a fault
even if it has a default, because defaults are for readers. (fastavro takes other values: unions
without tags, bytes that are bytes; and it does not say where a value is wrong.)
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, TypeAlias

from headrace.schemas.avro.faults import Misfit, expected
from headrace.schemas.avro.schema import (
    Array,
    AvroType,
    Enum,
    Fixed,
    Map,
    Primitive,
    Record,
    Union,
)
from headrace.schemas.model import MAX_DEPTH, InvalidValue

Write: TypeAlias = Callable[[bytearray, object, int], None]
"""Appends a value; the number is how many records it stands in."""

_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")
_NOT_NUMBERS: Final = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
"""JSON has no spelling for these numbers, so they are strings."""


def compile_writer(root: AvroType) -> Callable[[object], bytes]:
    """A function that encodes values of a schema; it raises InvalidValue."""
    write = _compile(root, {})

    def encode(value: object) -> bytes:
        out = bytearray()
        try:
            write(out, value, 0)
        except Misfit as misfit:
            raise misfit.as_invalid_value() from None
        except RecursionError:
            raise InvalidValue("The value is nested too deeply") from None
        return bytes(out)

    return encode


def append_long(out: bytearray, value: int) -> None:
    """Append a number as a zig-zag varint."""
    rest = value << 1 if value >= 0 else ~(value << 1)
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)


def _compile(node: AvroType, records: dict[int, Write]) -> Write:
    if isinstance(node, Primitive):
        return _PRIMITIVES[node.kind]
    if isinstance(node, Record):
        return records.get(id(node)) or _record(node, records)
    if isinstance(node, Union):
        return _union(node, records)
    if isinstance(node, Array):
        return _array(_compile(node.items, records))
    if isinstance(node, Map):
        return _map(_compile(node.values, records))
    return _enum(node) if isinstance(node, Enum) else _fixed(node)


def _record(node: Record, records: dict[int, Write]) -> Write:
    fields: list[tuple[str, Write]] = []
    names = node.by_name.keys()
    full = node.name.full

    def write(out: bytearray, value: object, depth: int) -> None:
        if not isinstance(value, dict):
            raise expected(f"an object for the record {full}", value)
        if depth >= MAX_DEPTH:
            raise Misfit(f"Records are nested more than {MAX_DEPTH} deep")
        depth += 1
        name = ""
        try:
            for name, write_field in fields:
                write_field(out, value[name], depth)
        except KeyError:
            raise Misfit(f"The field {name!r} of the record {full} is missing") from None
        except Misfit as misfit:
            misfit.path.append(name)
            raise
        if len(value) != len(fields):
            unknown = next(key for key in value if key not in names)
            raise Misfit(f"The record {full} has no field {unknown!r}")

    # The function is known before its fields are, because they may contain the record again.
    records[id(node)] = write
    fields.extend((field.name, _compile(field.type, records)) for field in node.fields)
    return write


def _union(node: Union, records: dict[int, Write]) -> Write:
    branches: dict[str, tuple[bytes, Write]] = {}
    null: bytes | None = None
    for index, (tag, branch) in enumerate(zip(node.tags, node.branches, strict=True)):
        prefix = bytearray()
        append_long(prefix, index)
        if tag == "null":
            null = bytes(prefix)
        else:
            branches[tag] = bytes(prefix), _compile(branch, records)
    known = ", ".join(node.tags)

    def write(out: bytearray, value: object, depth: int) -> None:
        if value is None and null is not None:
            out += null
            return
        if not isinstance(value, dict) or len(value) != 1:
            raise expected(f'one of the union [{known}] as {{"type": value}}', value)
        ((tag, inner),) = value.items()
        branch = branches.get(tag)
        if branch is None:
            raise Misfit(f"The union [{known}] has no type {tag!r}")
        out += branch[0]
        try:
            branch[1](out, inner, depth)
        except Misfit as misfit:
            misfit.path.append(tag)
            raise

    return write


def _array(write_item: Write) -> Write:
    def write(out: bytearray, value: object, depth: int) -> None:
        if not isinstance(value, list):
            raise expected("an array", value)
        index = 0
        if value:
            append_long(out, len(value))
            try:
                for index, item in enumerate(value):  # noqa: B007  (named when it goes wrong)
                    write_item(out, item, depth)
            except Misfit as misfit:
                misfit.path.append(index)
                raise
        out.append(0)

    return write


def _map(write_value: Write) -> Write:
    def write(out: bytearray, value: object, depth: int) -> None:
        if not isinstance(value, dict):
            raise expected("an object for the map", value)
        key: object = ""
        if value:
            append_long(out, len(value))
            try:
                for key, item in value.items():
                    _string(out, key, depth)
                    write_value(out, item, depth)
            except Misfit as misfit:
                misfit.path.append(str(key))
                raise
        out.append(0)

    return write


def _enum(node: Enum) -> Write:
    encoded: dict[object, bytes] = {}
    for index, symbol in enumerate(node.symbols):
        number = bytearray()
        append_long(number, index)
        encoded[symbol] = bytes(number)
    full = node.name.full

    def write(out: bytearray, value: object, depth: int) -> None:
        number = encoded.get(value) if isinstance(value, str) else None
        if number is None:
            raise expected(f"a symbol of the enum {full}", value)
        out += number

    return write


def _fixed(node: Fixed) -> Write:
    size, full = node.size, node.name.full

    def write(out: bytearray, value: object, depth: int) -> None:
        data = _latin1(value)
        if len(data) != size:
            raise Misfit(f"The fixed {full} has {size} bytes, the value has {len(data)}")
        out += data

    return write


def _null(out: bytearray, value: object, depth: int) -> None:
    if value is not None:
        raise expected("null", value)


def _boolean(out: bytearray, value: object, depth: int) -> None:
    if not isinstance(value, bool):
        raise expected("true or false", value)
    out.append(value)


def _int(out: bytearray, value: object, depth: int) -> None:
    number = _whole(value, "an int")
    if not -(2**31) <= number < 2**31:
        raise expected("an int of 32 bits", value)
    append_long(out, number)


def _long(out: bytearray, value: object, depth: int) -> None:
    number = _whole(value, "a long")
    if not -(2**63) <= number < 2**63:
        raise expected("a long of 64 bits", value)
    append_long(out, number)


def _float(out: bytearray, value: object, depth: int) -> None:
    try:
        out += _FLOAT.pack(_number(value, "a float"))
    except OverflowError:
        raise expected("a float of 32 bits", value) from None


def _double(out: bytearray, value: object, depth: int) -> None:
    try:
        out += _DOUBLE.pack(_number(value, "a double"))
    except OverflowError:
        raise expected("a double", value) from None


def _bytes(out: bytearray, value: object, depth: int) -> None:
    data = _latin1(value)
    append_long(out, len(data))
    out += data


def _string(out: bytearray, value: object, depth: int) -> None:
    if not isinstance(value, str):
        raise expected("a string", value)
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise expected("a string without lone surrogates", value) from None
    append_long(out, len(data))
    out += data


def _whole(value: object, what: str) -> int:
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise expected(what, value)


def _number(value: object, what: str) -> float:
    if type(value) is float or type(value) is int:
        return float(value)
    if isinstance(value, str) and value in _NOT_NUMBERS:
        return float(_NOT_NUMBERS[value])
    raise expected(what, value)


def _latin1(value: object) -> bytes:
    """Bytes are strings in JSON, a character for each byte."""
    if not isinstance(value, str):
        raise expected("a string with a character up to U+00FF for each byte", value)
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        raise expected("a string with characters up to U+00FF only", value) from None


_PRIMITIVES: Final[dict[str, Write]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _int,
    "long": _long,
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": _string,
}
