"""From Avro's binary encoding to values in Avro's JSON encoding.

The counterpart of `writing`. The bytes come from anybody, and a few of them can announce a billion
items or a million nested records; so all counts are held against the bytes that are there. (That
is why this is not fastavro, which trusts them and nests on the machine's stack.)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Final, TypeAlias

from headrace.schemas.avro.faults import Misfit
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
from headrace.schemas.model import MAX_DEPTH

_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")
_FREE_PARTS: Final = 100_000
_PARTS_PER_BYTE: Final = 16
"""Items and records may take no bytes at all; this bounds how many a payload can stand for."""
_MAX_VARINT_BITS: Final = 70


class Cursor:
    """Bytes, and how far they were read."""

    __slots__ = ("data", "depth", "parts_left", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.depth = 0
        self.parts_left = _FREE_PARTS + _PARTS_PER_BYTE * len(data)

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        start = self.position
        end = start + size
        if end > len(self.data):
            left = len(self.data) - start
            raise Misfit(f"The data ends early: {size} bytes are announced, {left} are left")
        self.position = end
        return self.data[start:end]

    def count(self, parts: int) -> None:
        """Account for some items or a record."""
        self.parts_left -= parts
        if self.parts_left < 0:
            raise Misfit("The data stands for far more values than it has bytes")


Read: TypeAlias = Callable[[Cursor], object]


def compile_reader(root: AvroType) -> Callable[[bytes], object]:
    """A function that decodes values of a schema; it raises InvalidValue."""
    read = _compile(root, {})

    def decode(data: bytes) -> object:
        cursor = Cursor(bytes(data))
        try:
            value = read(cursor)
            left = len(cursor.data) - cursor.position
            if left:
                raise Misfit(f"{left} bytes are left over: the data has another schema")
        except Misfit as misfit:
            raise misfit.as_invalid_value() from None
        return value

    return decode


def _compile(node: AvroType, records: dict[int, Read]) -> Read:
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


def _record(node: Record, records: dict[int, Read]) -> Read:
    fields: list[tuple[str, Read]] = []

    def read(cursor: Cursor) -> object:
        if cursor.depth >= MAX_DEPTH:
            raise Misfit(f"Records are nested more than {MAX_DEPTH} deep")
        cursor.depth += 1
        cursor.count(1)
        value: dict[str, object] = {}
        name = ""
        try:
            for name, read_field in fields:
                value[name] = read_field(cursor)
        except Misfit as misfit:
            misfit.path.append(name)
            raise
        cursor.depth -= 1
        return value

    # The function is known before its fields are, because they may contain the record again.
    records[id(node)] = read
    fields.extend((field.name, _compile(field.type, records)) for field in node.fields)
    return read


def _union(node: Union, records: dict[int, Read]) -> Read:
    branches = [
        (None if tag == "null" else tag, _compile(branch, records))
        for tag, branch in zip(node.tags, node.branches, strict=True)
    ]

    def read(cursor: Cursor) -> object:
        index = _long(cursor)
        if not 0 <= index < len(branches):
            raise Misfit(f"The data names type {index} of a union that has {len(branches)}")
        tag, read_branch = branches[index]
        if tag is None:
            return None
        try:
            return {tag: read_branch(cursor)}
        except Misfit as misfit:
            misfit.path.append(tag)
            raise

    return read


def _array(read_item: Read) -> Read:
    def read(cursor: Cursor) -> object:
        items: list[object] = []
        try:
            while count := _block(cursor):
                for _ in range(count):
                    items.append(read_item(cursor))  # noqa: PERF401  (the length is the path)
        except Misfit as misfit:
            misfit.path.append(len(items))
            raise
        return items

    return read


def _map(read_value: Read) -> Read:
    def read(cursor: Cursor) -> object:
        entries: dict[str, object] = {}
        key = ""
        try:
            while count := _block(cursor):
                for _ in range(count):
                    key = _string(cursor)
                    entries[key] = read_value(cursor)
        except Misfit as misfit:
            misfit.path.append(key)
            raise
        return entries

    return read


def _block(cursor: Cursor) -> int:
    """How many items the next block has; none end the array or map."""
    count = _long(cursor)
    if count < 0:
        # A writer may say how long the block is, for readers that skip it.
        count = -count
        _long(cursor)
    cursor.count(count)
    return count


def _enum(node: Enum) -> Read:
    symbols, full = node.symbols, node.name.full

    def read(cursor: Cursor) -> object:
        index = _long(cursor)
        if not 0 <= index < len(symbols):
            raise Misfit(f"The data names symbol {index} of {full}, which has {len(symbols)}")
        return symbols[index]

    return read


def _fixed(node: Fixed) -> Read:
    size = node.size

    def read(cursor: Cursor) -> object:
        return cursor.take(size).decode("latin-1")

    return read


def _null(cursor: Cursor) -> object:
    return None


def _boolean(cursor: Cursor) -> object:
    byte = cursor.take(1)[0]
    if byte > 1:
        raise Misfit(f"A boolean is the byte 0 or 1, not {byte}")
    return byte == 1


def _int(cursor: Cursor) -> object:
    value = _long(cursor)
    if not -(2**31) <= value < 2**31:
        raise Misfit(f"{value} is not an int of 32 bits")
    return value


def _long(cursor: Cursor) -> int:
    data, position = cursor.data, cursor.position
    result = shift = 0
    try:
        while True:
            byte = data[position]
            position += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift >= _MAX_VARINT_BITS:
                raise Misfit("A number is longer than 10 bytes")
    except IndexError:
        raise Misfit("The data ends early, inside a number") from None
    if result >= 2**64:
        raise Misfit("A number does not fit into 64 bits")
    cursor.position = position
    return (result >> 1) ^ -(result & 1)


def _float(cursor: Cursor) -> object:
    value: float = _FLOAT.unpack(cursor.take(4))[0]
    return _shortest(value) if math.isfinite(value) else _not_a_number(value)


def _double(cursor: Cursor) -> object:
    value: float = _DOUBLE.unpack(cursor.take(8))[0]
    return value if math.isfinite(value) else _not_a_number(value)


def _shortest(value: float) -> float:
    """The number with the fewest digits that is the same float: 0.1, not 0.10000000149."""
    for digits in (6, 7, 8):
        short = float(f"{value:.{digits}g}")
        try:
            if _FLOAT.unpack(_FLOAT.pack(short))[0] == value:
                return short
        except OverflowError:
            # Rounded up beyond the largest float, which needs all of its digits.
            continue
    return float(f"{value:.9g}")


def _not_a_number(value: float) -> str:
    """JSON has no spelling for these numbers, so they are strings."""
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _bytes(cursor: Cursor) -> object:
    return cursor.take(_length(cursor)).decode("latin-1")


def _string(cursor: Cursor) -> str:
    data = cursor.take(_length(cursor))
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Misfit("A string is not UTF-8") from None


def _length(cursor: Cursor) -> int:
    length = _long(cursor)
    if length < 0:
        raise Misfit(f"A length is {length}")
    return length


_PRIMITIVES: Final[dict[str, Read]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _int,
    "long": _long,
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": _string,
}
