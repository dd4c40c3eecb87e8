"""The program by which the decoding kernel reads a writer's values into a reader's columns.

Which types meet, and how, is found by `headrace.schemas.avro.resolution`, as for the registry. What
can never be read is rejected here, in the registry's words; a branch of the writer's union that the
reader cannot read fails only when a value takes it.

Two things go beyond the types, for the sake of what was meant: a timestamp in milliseconds that is
read as one in microseconds is converted, and so is a decimal that is read with another scale.
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
from headrace.pipelines.serdes.avro.schema import describe
from headrace.pipelines.serdes.layout import Column
from headrace.schemas import incompatible
from headrace.schemas.avro.defaults import encode_default
from headrace.schemas.avro.logical import decimal_digits, logical_type
from headrace.schemas.avro.resolution import Resolution, resolve, resolve_own
from headrace.schemas.avro.schema import (
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Missing,
    Primitive,
    Record,
    Union,
)
from headrace.schemas.incompatible import Incompatibility
from headrace.schemas.model import InvalidSchema, InvalidValue

MAX_INSTRUCTIONS: Final = 200_000
_SHOWN_FAULTS: Final = 3

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
    decimals: NDArray[np.int64]
    pool: NDArray[np.uint8]
    places: tuple[Place, ...]


def compile_program(
    writer: AvroType, reader: AvroType, *, recursion: int = -1, union_prefix: str | None = None
) -> Program:
    """The program that reads values of `writer` into the columns of `reader`."""
    builder = ColumnBuilder(recursion=recursion, union_prefix=union_prefix)
    root = builder.build(reader, "")
    assert root is not None, "only what is below a record can be dropped"
    root.nullable = root.kind != layout.NOTHING
    columns = layout.number(root)
    try:
        found = resolve_own(reader) if writer is reader else resolve(writer, reader)
    except InvalidSchema as fault:
        raise ConfigError(str(fault)) from None
    if found.is_refused:
        raise ConfigError(
            "values of the writer's schema cannot be read by the reader's: "
            f"{_in_words(found.faults)}"
        )
    compiler = _Compiler(builder.below)
    compiler.value(found, root)
    return compiler.finish(tuple(columns))


def _in_words(faults: list[Incompatibility]) -> str:
    shown = []
    for each in faults[:_SHOWN_FAULTS]:
        description = incompatible.describe(each, reader="reader's", writer="writer's")
        shown.append(f"{each.kind} {description}")
    if len(faults) > _SHOWN_FAULTS:
        shown.append(f"and {len(faults) - _SHOWN_FAULTS} more")
    return "; ".join(shown)


@dataclass(slots=True)
class _Compiler:
    below: dict[tuple[Column, int], Column]
    instructions: list[list[int]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    jumps: list[int] = field(default_factory=list)
    symbols: list[tuple[int, int]] = field(default_factory=list)
    decimals: list[tuple[int, int, int]] = field(default_factory=list)
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
            self.emit(op.RETURN, (record.name.full, ""))
        for record, calls in self.skipped.items():
            for call in calls:
                self.instructions[call][op.A] = routines[record]
        return Program(
            columns,
            np.array(self.instructions, dtype=np.int64),
            np.array(self.jumps, dtype=np.int64),
            np.array(self.symbols, dtype=np.int64).reshape(-1, 2),
            np.array(self.decimals, dtype=np.int64).reshape(-1, op.DECIMAL_FIELDS),
            np.frombuffer(bytearray(self.pool), dtype=np.uint8),
            tuple(self.places),
        )

    def value(self, step: Resolution, column: Column) -> None:
        place = (column.path, describe(step.writer))
        match step.writer, step.reader:
            case Union() as writer, _:
                self._branches(writer, place, lambda index: self._branch(step.parts[index], column))
            case _, Union() as reader:
                self._into_union(step.parts[0], reader, column)
            case Record() as writer, Record() as reader:
                self._record(step, writer, reader, column)
            case Array() as writer, _:
                self._loop(
                    (op.LIST, op.NEXT),
                    place,
                    _least_bytes(writer.items),
                    lambda: self.value(step.parts[0], column.children[0]),
                    column.index,
                )
            case Map() as writer, _:
                self._map(step, writer, column)
            case Enum() as writer, Enum() as reader:
                self._enum(writer, reader, column)
            case Fixed() as writer, reader:
                self._bytes(writer, reader, column, writer.size)
            case Primitive() as writer, reader:
                self._primitive(writer, reader, column)

    def _record(self, step: Resolution, writer: Record, reader: Record, column: Column) -> None:
        if column.nullable:
            self.emit(op.STRUCT, (column.path, describe(writer)), column.index)
        takers: dict[str, list[tuple[Resolution, Column]]] = {}
        for index, (source, part) in step.fields.items():
            target = self.below.get((column, index))
            if target is not None:
                takers.setdefault(source.name, []).append((part, target))
        for each in writer.fields:
            path = f"{column.path}.{each.name}" if column.path else each.name
            self._field(each, takers.get(each.name, []), path)
        for index, each in enumerate(reader.fields):
            target = self.below.get((column, index))
            if index not in step.fields and target is not None:
                self._default(each, target)

    def _field(self, writer: Field, takers: list[tuple[Resolution, Column]], path: str) -> None:
        """A field goes to all of the reader's that its name and their aliases match, or to none."""
        place = (path, describe(writer.type))
        if not takers:
            self.skip(writer.type, path)
        if len(takers) > 1:
            self.emit(op.MARK, place)
        for number, (part, target) in enumerate(takers, 1):
            if number > 1:
                self.emit(op.AGAIN, place, a=number == len(takers))
            self.value(part, target)

    def _default(self, reader: Field, column: Column) -> None:
        assert not isinstance(reader.default, Missing), "the resolution has seen to it"
        try:
            raw = encode_default(reader.type, reader.default)
        except InvalidValue as fault:
            raise ConfigError(f"the default of {column.path} is not of its type: {fault}") from None
        start = len(self.pool)
        self.pool += raw
        place = (column.path, "the default")
        self.emit(op.DEFAULT, place, a=start, b=start + len(raw))
        self.value(resolve_own(reader.type), column)
        self.emit(op.RESUME, place)

    def _map(self, step: Resolution, writer: Map, column: Column) -> None:
        keys, values = column.children[0].children

        def entry() -> None:
            self.emit(op.TEXT, (keys.path, "string"), keys.index)
            self.value(step.parts[0], values)

        place = (column.path, describe(writer))
        self._loop((op.LIST, op.NEXT), place, 1 + _least_bytes(writer.values), entry, column.index)

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

    def _bytes(self, writer: AvroType, reader: AvroType, column: Column, size: int) -> None:
        place = (column.path, describe(writer))
        if column.kind == layout.DECIMAL:
            self.decimals.append(_decimal(writer, reader))
            self.emit(op.DECIMAL, place, column.index, size, len(self.decimals) - 1)
        elif size != _COUNTED:
            self.emit(op.FIXED, place, column.index, size)
        else:
            text = column.type == pa.string()
            self.emit(op.TEXT if text else op.OPAQUE, place, column.index)

    def _primitive(self, writer: Primitive, reader: AvroType, column: Column) -> None:
        place = (column.path, describe(writer))
        if writer.kind == "null":
            self.emit(op.NULLS, place, column.index)
        elif writer.kind in ("bytes", "string"):
            self._bytes(writer, reader, column, _COUNTED)
        elif pa.types.is_time(column.type):
            self.emit(op.LONG_TO_TIME, place, column.index)
        else:
            unit = _unit(writer, reader) if pa.types.is_timestamp(column.type) else 1
            self.emit(_NUMBERS[writer.kind, column.kind], place, column.index, unit)

    # Unions

    def _branches(self, writer: Union, place: Place, body: Callable[[int], None]) -> None:
        """One piece of program per branch of the writer's union, of which a value takes one."""
        first = len(self.jumps)
        self.jumps += [0] * len(writer.branches)
        self.emit(op.UNION, place, a=first, b=len(writer.branches))
        leaving = []
        for index in range(len(writer.branches)):
            self.jumps[first + index] = len(self.instructions)
            body(index)
            leaving.append(self.emit(op.JUMP, place))
        for jump in leaving:
            self.instructions[jump][op.A] = len(self.instructions)

    def _branch(self, part: Resolution, column: Column) -> None:
        if part.is_refused:
            self.emit(op.FAIL, (column.path, _in_words(part.faults)))
        else:
            self.value(part, column)

    def _into_union(self, step: Resolution, reader: Union, column: Column) -> None:
        """The value of one branch of the reader's union."""
        values = value_branches(reader)
        if is_null(step.reader):
            self.emit(op.NULLS, (column.path, "null"), column.index)
        elif len(values) == 1 or widest(reader) is not None:
            self.value(step, column)
        else:
            self._into_member(step, values.index(step.reader), column)

    def _into_member(self, step: Resolution, position: int, column: Column) -> None:
        place = (column.path, describe(step.writer))
        chosen = self.below.get((column, position))
        if column.nullable:
            self.emit(op.STRUCT, place, column.index)
        for member in column.children:
            if member is not chosen:
                self.emit(op.NULLS, place, member.index)
        if chosen is None:
            self.skip(step.writer, column.path)
        else:
            self.value(step, chosen)

    # What the reader does not want

    def skip(self, writer: AvroType, path: str) -> None:
        place = (path, describe(writer))
        match writer:
            case Primitive(kind="null"):
                pass
            case Primitive(kind=name) if name in _SKIPS:
                self.emit(_SKIPS[name], place)
            case Primitive(kind=name):
                self.emit(op.SKIP_FIXED, place, a=_SIZES[name])
            case Fixed():
                self.emit(op.SKIP_FIXED, place, a=writer.size)
            case Enum():
                self.emit(op.SKIP_INT, place)
            case Array():
                least, codes = _least_bytes(writer.items), (op.SKIP_LIST, op.SKIP_NEXT)
                self._loop(codes, place, least, lambda: self.skip(writer.items, f"{path}[]"))
            case Map():
                least, codes = 1 + _least_bytes(writer.values), (op.SKIP_LIST, op.SKIP_NEXT)
                self._loop(codes, place, least, lambda: self._skip_entry(writer, path))
            case Union():
                self._branches(writer, place, lambda index: self.skip(writer.branches[index], path))
            case Record():
                call = self.emit(op.CALL, place)
                self.skipped.setdefault(writer, []).append(call)

    def _skip_entry(self, writer: Map, path: str) -> None:
        self.emit(op.SKIP_BYTES, (f"{path}{{key}}", "string"))
        self.skip(writer.values, f"{path}{{}}")


def _decimal(writer: AvroType, reader: AvroType) -> tuple[int, int, int]:
    """What the kernel must know of a decimal, in the order of `opcodes`."""
    digits = decimal_digits(reader)
    assert digits is not None, "its column says so"
    precision, scale = digits
    # Bytes that only the reader calls a decimal are taken at its word.
    _, written = decimal_digits(writer) or digits
    shift = scale - written
    bound = 10 ** max(0, precision - max(0, shift))
    low = bound & (1 << 64) - 1
    return shift, bound >> 64, low - (1 << 64) if low >> 63 else low


def _unit(writer: AvroType, reader: AvroType) -> int:
    """Microseconds in the unit of a timestamp; who names the writer's unit is believed."""
    return _UNITS.get(logical_type(writer), _UNITS[logical_type(reader)])


def _least_bytes(node: AvroType, inside: tuple[Record, ...] = ()) -> int:
    """The fewest bytes that a value can have; what is recursive counts as nothing."""
    match node:
        case Primitive():
            return {"null": 0, "float": 4, "double": 8}.get(node.kind, 1)
        case Fixed():
            return node.size
        case Union():
            return 1 + min((_least_bytes(each, inside) for each in node.branches), default=0)
        case Record():
            if node in inside:
                return 0
            return sum(_least_bytes(each.type, (*inside, node)) for each in node.fields)
        case _:
            return 1
