"""A writer's and a reader's schema, resolved to a program for the decoding kernel.

The rules are those of the Avro specification, "Schema Resolution": fields meet by name or by the
reader's alias, in any order; the reader's new fields take their defaults; int, long, float and
double widen, string and bytes stand for each other; unions are resolved branch by branch, an enum's
new symbols fall back to the reader's default. What can never be read is refused here; a union's
branch that the reader has no place for fails only when a value takes it.

Two things go beyond the specification, for the sake of what was meant: a timestamp in milliseconds
that is read as one in microseconds is converted, and decimals of different scale are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.errors import ConfigError
from headrace.pipelines.serdes import layout
from headrace.pipelines.serdes.avro import opcodes as op
from headrace.pipelines.serdes.avro.columns import ColumnBuilder, is_null, value_branches, widest
from headrace.pipelines.serdes.avro.matching import (
    Unresolvable,
    check_meeting,
    choose_branch,
    least_bytes,
    matching_fields,
)
from headrace.pipelines.serdes.avro.schema import (
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    Union,
    describe,
    encode_default,
)
from headrace.pipelines.serdes.layout import Column

MAX_INSTRUCTIONS: Final = 200_000

Place = tuple[str, str]
"""The path of a field, and what is expected there."""

_NUMBERS: Final = {
    ("int", layout.INT32): op.INT_TO_INT32,
    ("int", layout.INT64): op.INT_TO_INT64,
    ("int", layout.FLOAT32): op.INT_TO_FLOAT32,
    ("int", layout.FLOAT64): op.INT_TO_FLOAT64,
    ("long", layout.INT64): op.LONG_TO_INT64,
    ("long", layout.FLOAT32): op.LONG_TO_FLOAT32,
    ("long", layout.FLOAT64): op.LONG_TO_FLOAT64,
    ("float", layout.FLOAT32): op.FLOAT_TO_FLOAT32,
    ("float", layout.FLOAT64): op.FLOAT_TO_FLOAT64,
    ("double", layout.FLOAT64): op.DOUBLE_TO_FLOAT64,
    ("boolean", layout.BOOLEAN): op.BOOLEAN,
}
_SKIPS: Final = {
    "boolean": op.SKIP_BOOLEAN,
    "int": op.SKIP_INT,
    "long": op.SKIP_LONG,
    "bytes": op.SKIP_BYTES,
    "string": op.SKIP_BYTES,
}
_SIZES: Final = {"float": 4, "double": 8}
_COUNTED: Final = -1
_UNITS: Final[dict[str | None, int]] = {
    "timestamp-millis": 1000,
    "timestamp-micros": 1,
    "local-timestamp-millis": 1000,
    "local-timestamp-micros": 1,
}


@dataclass(frozen=True, slots=True)
class Program:
    """Everything that the kernel needs to know of two schemas; pickled to Spark's workers."""

    columns: tuple[Column, ...]
    instructions: NDArray[np.int64]
    jumps: NDArray[np.int64]
    symbols: NDArray[np.int64]
    limits: NDArray[np.uint64]
    pool: NDArray[np.uint8]
    places: tuple[Place, ...]


def compile_program(
    writer: Node, reader: Node, *, recursion: int = -1, union_prefix: str | None = None
) -> Program:
    """The program that reads values of `writer` into the columns of `reader`."""
    builder = ColumnBuilder(recursion=recursion, union_prefix=union_prefix)
    root = builder.build(reader, "")
    assert root is not None, "only what is below a record can be dropped"
    root.nullable = root.kind != layout.NOTHING
    columns = layout.number(root)
    compiler = _Compiler(builder.below)
    try:
        compiler.value(writer, reader, root)
    except Unresolvable as error:
        raise ConfigError(
            f"values of the writer's schema cannot be read by the reader's: {error}"
        ) from None
    return compiler.finish(tuple(columns))


@dataclass(slots=True)
class _Compiler:
    below: dict[tuple[Column, int], Column]
    instructions: list[list[int]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    jumps: list[int] = field(default_factory=list)
    symbols: list[tuple[int, int]] = field(default_factory=list)
    limits: list[tuple[int, int]] = field(default_factory=list)
    pool: bytearray = field(default_factory=bytearray)
    skipped: dict[Record, list[int]] = field(default_factory=dict)
    """Records that are skipped, and the calls that wait for their routine."""

    def emit(self, code: int, place: Place, column: int = 0, a: int = 0, b: int = 0) -> int:
        if len(self.instructions) >= MAX_INSTRUCTIONS:
            raise ConfigError(
                f"the schemas need more than {MAX_INSTRUCTIONS} instructions: read fewer fields, "
                "with a reader schema that names only those that are needed"
            )
        self.instructions.append([code, column, a, b])
        self.places.append(place)
        return len(self.instructions) - 1

    def finish(self, columns: tuple[Column, ...]) -> Program:
        self.emit(op.END, ("", "the end of the value"))
        routines: dict[Record, int] = {}
        while len(routines) < len(self.skipped):
            record = next(each for each in self.skipped if each not in routines)
            routines[record] = len(self.instructions)
            for each in record.fields:
                self.skip(each.type, each.name)
            self.emit(op.RETURN, (record.name, ""))
        for record, calls in self.skipped.items():
            for call in calls:
                self.instructions[call][op.A] = routines[record]
        return Program(
            columns,
            np.array(self.instructions, dtype=np.int64),
            np.array(self.jumps, dtype=np.int64),
            np.array(self.symbols, dtype=np.int64).reshape(-1, 2),
            np.array(self.limits, dtype=np.uint64).reshape(-1, 2),
            np.frombuffer(bytearray(self.pool), dtype=np.uint8),
            tuple(self.places),
        )

    def value(self, writer: Node, reader: Node, column: Column) -> None:
        if isinstance(writer, Union):
            place = (column.path, describe(writer))
            self._branches(writer, place, lambda each: self.value(each, reader, column))
        elif isinstance(reader, Union):
            self._into_union(writer, reader, column)
        else:
            check_meeting(writer, reader, column.path)
            self._same_kind(writer, reader, column)

    def _same_kind(self, writer: Node, reader: Node, column: Column) -> None:
        place = (column.path, describe(writer))
        match writer, reader:
            case Record(), Record():
                self._record(writer, reader, column)
            case Array(), Array():
                items = column.children[0]
                self._loop(
                    (op.LIST, op.NEXT),
                    place,
                    least_bytes(writer.items),
                    lambda: self.value(writer.items, reader.items, items),
                    column.index,
                )
            case Map(), Map():
                self._map(writer, reader, column)
            case Enum(), Enum():
                self._enum(writer, reader, column)
            case Fixed(), Fixed():
                self._bytes(column, place, writer.size)
            case Primitive(), Primitive():
                self._primitive(writer, reader, column)

    def _record(self, writer: Record, reader: Record, column: Column) -> None:
        if column.nullable:
            self.emit(op.STRUCT, (column.path, describe(writer)), column.index)
        wanted = matching_fields(writer, reader)
        for index, each in enumerate(writer.fields):
            target = self.below.get((column, wanted.get(index, -1)))
            if target is None:
                self.skip(each.type, _below(column.path, each))
            else:
                self.value(each.type, reader.fields[wanted[index]].type, target)
        for index in sorted(set(range(len(reader.fields))) - set(wanted.values())):
            target = self.below.get((column, index))
            if target is not None:
                self._default(reader.fields[index], target)

    def _default(self, reader: Field, column: Column) -> None:
        if not reader.has_default:
            raise Unresolvable(
                f"{column.path} is not in the writer's schema and has no default in the reader's"
            )
        try:
            raw = encode_default(reader.type, reader.default)
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise ConfigError(f"the default of {column.path} is not of its type: {error}") from None
        start = len(self.pool)
        self.pool += raw
        place = (column.path, "the default")
        self.emit(op.DEFAULT, place, a=start, b=start + len(raw))
        self.value(reader.type, reader.type, column)
        self.emit(op.RESUME, place)

    def _map(self, writer: Map, reader: Map, column: Column) -> None:
        keys, values = column.children[0].children

        def entry() -> None:
            self.emit(op.TEXT, (keys.path, "string"), keys.index)
            self.value(writer.values, reader.values, values)

        place = (column.path, describe(writer))
        self._loop((op.LIST, op.NEXT), place, 1 + least_bytes(writer.values), entry, column.index)

    def _loop(
        self,
        codes: tuple[int, int],
        place: Place,
        least: int,
        body: Callable[[], None],
        column: int = 0,
    ) -> None:
        start = self.emit(codes[0], place, column)
        body()
        end = self.emit(codes[1], place, column, start + 1, least)
        self.instructions[start][op.A] = end

    def _enum(self, writer: Enum, reader: Enum, column: Column) -> None:
        first = len(self.symbols)
        for symbol in writer.symbols:
            known = symbol if symbol in reader.symbols else reader.default
            if known is None:
                self.symbols.append((-1, 0))
                continue
            raw = known.encode()
            self.symbols.append((len(self.pool), len(raw)))
            self.pool += raw
        place = (column.path, describe(writer))
        self.emit(op.ENUM, place, column.index, first, len(writer.symbols))

    def _bytes(self, column: Column, place: Place, size: int) -> None:
        if column.kind == layout.DECIMAL:
            bound = 10**column.type.precision
            self.limits.append((bound >> 64, bound & (1 << 64) - 1))
            self.emit(op.DECIMAL, place, column.index, size, len(self.limits) - 1)
        elif size != _COUNTED:
            self.emit(op.FIXED, place, column.index, size)
        else:
            text = column.type == pa.string()
            self.emit(op.TEXT if text else op.OPAQUE, place, column.index)

    def _primitive(self, writer: Primitive, reader: Primitive, column: Column) -> None:
        place = (column.path, describe(writer))
        if writer.type == "null":
            self.emit(op.NULLS, place, column.index)
        elif writer.type in ("bytes", "string"):
            self._bytes(column, place, _COUNTED)
        elif pa.types.is_time(column.type):
            self.emit(op.LONG_TO_TIME, place, column.index)
        else:
            self.emit(
                _NUMBERS[writer.type, column.kind], place, column.index, _scale(writer, reader)
            )

    # Unions

    def _branches(self, writer: Union, place: Place, body: Callable[[Node], None]) -> None:
        """One piece of program per branch of the writer's union, of which a value takes one."""
        first = len(self.jumps)
        self.jumps += [0] * len(writer.branches)
        self.emit(op.UNION, place, a=first, b=len(writer.branches))
        leaving = []
        for index, branch in enumerate(writer.branches):
            self.jumps[first + index] = start = len(self.instructions)
            try:
                body(branch)
            except Unresolvable as error:
                self._forget(start)
                self.emit(op.FAIL, (place[0], str(error)))
            leaving.append(self.emit(op.JUMP, place))
        for jump in leaving:
            self.instructions[jump][op.A] = len(self.instructions)

    def _forget(self, start: int) -> None:
        del self.instructions[start:], self.places[start:]
        for calls in self.skipped.values():
            calls[:] = [call for call in calls if call < start]

    def _into_union(self, writer: Node, reader: Union, column: Column) -> None:
        branch = choose_branch(writer, reader, column.path)
        values = value_branches(reader)
        if is_null(branch):
            self.emit(op.NULLS, (column.path, "null"), column.index)
        elif len(values) == 1:
            self.value(writer, branch, column)
        elif (wide := widest(reader)) is not None:
            self.value(writer, Primitive(wide), column)
        else:
            self._into_member(writer, branch, values.index(branch), column)

    def _into_member(self, writer: Node, branch: Node, position: int, column: Column) -> None:
        place = (column.path, describe(writer))
        chosen = self.below.get((column, position))
        if column.nullable:
            self.emit(op.STRUCT, place, column.index)
        for member in column.children:
            if member is not chosen:
                self.emit(op.NULLS, place, member.index)
        if chosen is None:
            self.skip(writer, column.path)
        else:
            self.value(writer, branch, chosen)

    # What the reader does not want

    def skip(self, writer: Node, path: str) -> None:
        place = (path, describe(writer))
        match writer:
            case Primitive(type="null"):
                pass
            case Primitive(type=name) if name in _SKIPS:
                self.emit(_SKIPS[name], place)
            case Primitive(type=name):
                self.emit(op.SKIP_FIXED, place, a=_SIZES[name])
            case Fixed():
                self.emit(op.SKIP_FIXED, place, a=writer.size)
            case Enum():
                self.emit(op.SKIP_INT, place)
            case Array():
                least, codes = least_bytes(writer.items), (op.SKIP_LIST, op.SKIP_NEXT)
                self._loop(codes, place, least, lambda: self.skip(writer.items, f"{path}[]"))
            case Map():
                least, codes = 1 + least_bytes(writer.values), (op.SKIP_LIST, op.SKIP_NEXT)
                self._loop(codes, place, least, lambda: self._skip_entry(writer, path))
            case Union():
                self._branches(writer, place, lambda each: self.skip(each, path))
            case Record():
                call = self.emit(op.CALL, place)
                self.skipped.setdefault(writer, []).append(call)

    def _skip_entry(self, writer: Map, path: str) -> None:
        self.emit(op.SKIP_BYTES, (f"{path}{{key}}", "string"))
        self.skip(writer.values, f"{path}{{}}")


def _below(path: str, field: Field) -> str:
    return f"{path}.{field.name}" if path else field.name


def _scale(writer: Primitive, reader: Primitive) -> int:
    """Columns of timestamps are in microseconds; who names the writer's unit is believed."""
    if reader.logical not in _UNITS:
        return 1
    return _UNITS.get(writer.logical, _UNITS[reader.logical])
