"""Arrow arrays to Avro values.

For each batch the array and the schema are walked together once: every part of the array is copied
into one piece of memory that the kernel can address, and instructions are written for it. That is
cheap beside the rows, and lets each batch bring whatever layout Arrow gives it (slices, views).

Fields meet by name. What the schema has and the column has not takes the schema's default, or null
where a union allows it; what the column has and the schema has not is an error, as in spark-avro.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headrace.errors import ConfigError, CorruptData
from headrace.pipelines.serdes.avro import encode_kernel as op
from headrace.pipelines.serdes.avro.columns import decimal_type, is_null, value_branches, widest
from headrace.pipelines.serdes.avro.schema import describe
from headrace.pipelines.serdes.packing import Packing, binary_array
from headrace.schemas.avro.defaults import encode_default
from headrace.schemas.avro.logical import logical_type
from headrace.schemas.avro.schema import (
    NO_DEFAULT,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
    Union,
)
from headrace.schemas.avro.writing import append_long
from headrace.schemas.model import InvalidValue

FIRST_BYTES_PER_ROW: Final = 64
_NOWHERE: Final = -1

_REASONS: Final = {
    op.NULL: 'is null, which the schema does not allow; make its type a union with "null"',
    op.NOT_A_SYMBOL: "is not a symbol of the enum",
    op.WRONG_SIZE: "has not the size of the fixed type",
    op.NO_MEMBER: "has no member that is set, and the union has no null",
}
_CASTS: Final[dict[str, tuple[Callable[[pa.DataType], bool], pa.DataType]]] = {
    "boolean": (pa.types.is_boolean, pa.bool_()),
    "int": (pa.types.is_integer, pa.int32()),
    "long": (pa.types.is_integer, pa.int64()),
    "float": (pa.types.is_floating, pa.float32()),
    "double": (pa.types.is_floating, pa.float64()),
}
_MILLISECONDS: Final = (None, "timestamp-millis", "local-timestamp-millis")
"""A timestamp in a long without a logical type is in milliseconds, as spark-avro writes it."""


def encode(values: pa.Array, schema: AvroType) -> pa.Array:
    """Each value as Avro bytes; null for null."""
    batch = _Batch()
    present = values.is_valid().to_numpy(zero_copy_only=False).view(np.uint8)
    if isinstance(schema, Union) and len(value_branches(schema)) == 1:
        # A value that is there takes its branch; one that is not stays null, outside of Avro.
        [branch] = value_branches(schema)
        batch.number(schema.branches.index(branch), "")
        schema = branch
    batch.value(values, schema, "", checked=True)
    return batch.run(present)


@dataclass(slots=True)
class _Batch:
    packing: Packing = field(default_factory=Packing)
    program: list[list[int]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)
    members: list[tuple[int, int]] = field(default_factory=list)
    pool: bytearray = field(default_factory=bytearray)

    def emit(self, code: int, path: str, column: int = _NOWHERE, a: int = 0, b: int = 0) -> int:
        self.program.append([code, column, a, b])
        self.paths.append(path)
        return len(self.program) - 1

    def literal(self, raw: bytes | bytearray, path: str) -> None:
        start = len(self.pool)
        self.pool += raw
        self.emit(op.LITERAL, path, a=start, b=start + len(raw))

    def number(self, value: int, path: str) -> None:
        raw = bytearray()
        append_long(raw, value)
        self.literal(raw, path)

    def run(self, present: NDArray[np.uint8]) -> pa.Array:
        self.emit(op.END, "")
        program = np.array(self.program, dtype=np.int64)
        tables = (
            np.array(self.branches, dtype=np.int64),
            np.array(self.members, dtype=np.int64).reshape(-1, 2),
            np.frombuffer(bytearray(self.pool), dtype=np.uint8),
        )
        columns, memory = self.packing.finish()
        offsets = np.zeros(len(present) + 1, dtype=np.int64)
        out = np.empty(FIRST_BYTES_PER_ROW * len(present) + 1024, dtype=np.uint8)
        stack = np.empty((op.MAX_DEPTH, op.FRAME_FIELDS), dtype=np.int64)
        row = 0
        while True:
            reason, row, counter = op.encode_rows(
                program, tables, columns, memory, present, out, offsets, row, stack
            )
            if reason == op.DONE:
                return binary_array(present, offsets, out)
            if reason != op.NO_ROOM:
                path = self.paths[counter] or "the value"
                raise CorruptData(
                    f"row {row} of the batch cannot be written as Avro: {path} {_REASONS[reason]}"
                )
            larger = np.empty(2 * len(out), dtype=np.uint8)
            larger[: len(out)] = out
            out = larger

    def value(self, array: pa.Array, node: AvroType, path: str, *, checked: bool = False) -> None:
        """Writes the elements of `array`; `checked`: the caller has seen that there is no null."""
        if isinstance(node, Union):
            self._union(array, node, path)
            return
        if is_null(node):
            return
        column = self._column(array, node, path)
        if not checked and array.null_count:
            self.emit(op.REQUIRED, path, column)
        self._element(array, node, path, column)

    def _element(self, array: pa.Array, node: AvroType, path: str, column: int) -> None:
        match node:
            case Record():
                self._record(array, node, path)
            case Array():
                start = self.emit(op.LIST, path, column)
                self.value(array.values, node.items, f"{path}[]")
                self.program[start][op.A] = self.emit(op.NEXT, path, column, start + 1)
            case Map():
                start = self.emit(op.LIST, path, column)
                keys = self._column(array.keys, Primitive("string", {}), f"{path}{{key}}")
                self.emit(op.BYTES, path, keys)
                self.value(array.items, node.values, f"{path}{{}}")
                self.program[start][op.A] = self.emit(op.NEXT, path, column, start + 1)
            case Enum():
                self.emit(op.SYMBOL, path, column)
            case Fixed():
                code = op.RAW if logical_type(node) == "decimal" else op.FIXED
                self.emit(code, path, column, node.size)
            case Primitive(kind="bytes" | "string"):
                code = op.DECIMAL if logical_type(node) == "decimal" else op.BYTES
                self.emit(code, path, column)
            case Primitive(kind="int" | "long"):
                self.emit(op.LONG, path, column)
            case Primitive():
                size = {"boolean": 1, "float": 4, "double": 8}[node.kind]
                self.emit(op.RAW, path, column, size)

    def _record(self, array: pa.Array, node: Record, path: str) -> None:
        names = {each.name: index for index, each in enumerate(array.type)}
        folded = {name.lower(): index for name, index in names.items()}
        wanted = set()
        for each in node.fields:
            below = f"{path}.{each.name}" if path else each.name
            index = names.get(each.name, folded.get(each.name.lower()))
            if index is None:
                self.literal(_default(each, below), below)
            else:
                wanted.add(index)
                self.value(array.field(index), each.type, below)
        if len(wanted) < len(names):
            extra = sorted(name for name, index in names.items() if index not in wanted)
            raise ConfigError(
                f"the column has fields that {describe(node)} has not: {', '.join(extra)}; "
                "select those that are to be written, or add them to the schema"
            )

    def _union(self, array: pa.Array, node: Union, path: str) -> None:
        values = value_branches(node)
        null = next((i for i, each in enumerate(node.branches) if is_null(each)), None)
        wide = widest(node)
        if pa.types.is_null(array.type) or not values:
            if null is None:
                raise ConfigError(f"{path or 'the value'} is null, which {describe(node)} is not")
            self.number(null, path)
        elif len(values) > 1 and wide is None:
            self._members(array, node, path, null)
        else:
            chosen = values[0]
            if wide is not None:
                chosen = next(each for each in values if each.kind == wide)
            branch = node.branches.index(chosen)
            column = self._column(array, chosen, path)
            end = self._optional(column, path, branch, null)
            self._element(array, chosen, path, column)
            self._close(end)

    def _optional(self, column: int, path: str, branch: int, null: int | None) -> int | None:
        if null is None:
            self.emit(op.REQUIRED, path, column)
            self.number(branch, path)
            return None
        self.branches += [branch, null]
        return self.emit(op.OPTIONAL, path, column, b=len(self.branches) - 2)

    def _close(self, optional: int | None) -> None:
        if optional is not None:
            self.program[optional][op.A] = len(self.program)

    def _members(self, array: pa.Array, node: Union, path: str, null: int | None) -> None:
        """A union of several types is a struct of which one member is set."""
        values = value_branches(node)
        if not pa.types.is_struct(array.type) or array.type.num_fields != len(values):
            raise ConfigError(
                f"{path or 'the value'} is {array.type}; {describe(node)} is written from a struct "
                f"of {len(values)} members, one for each type that is not null, of which one is set"
            )
        column = self.packing.add(array)
        fields = [array.field(index) for index in range(len(values))]
        places = [self.packing.add(each) for each in fields]
        first = len(self.members)
        self.members += [(place, _NOWHERE) for place in (*places, column)]
        self.emit(op.MEMBERS, path, column, first, len(values))
        leaving = []
        for index, (each, branch) in enumerate(zip(fields, values, strict=True)):
            self.members[first + index] = (places[index], len(self.program))
            self.number(node.branches.index(branch), path)
            self.value(each, branch, f"{path}.member{index}", checked=True)
            leaving.append(self.emit(op.JUMP, path))
        if null is not None:
            self.members[first + len(values)] = (column, len(self.program))
            self.number(null, path)
        for jump in leaving:
            self.program[jump][op.A] = len(self.program)

    def _column(self, array: pa.Array, node: AvroType, path: str) -> int:
        """The elements in the form that the instructions of `node` read."""
        try:
            return _packed(self.packing, array, node, path)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ConfigError(
                f"{path or 'the value'} is {array.type} and cannot be written as "
                f"{describe(node)}: {error}"
            ) from None


def _packed(packing: Packing, array: pa.Array, node: AvroType, path: str) -> int:
    kind, logical = array.type, logical_type(node)
    match node:
        case Record() if pa.types.is_struct(kind):
            return packing.add(array)
        case Array() if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return packing.add(array, offsets=array.offsets)
        case Map() if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
            return packing.add(array, offsets=array.offsets)
        case Enum() if _is_text(kind):
            symbols = pa.array(node.symbols, kind)
            found = pc.index_in(array, value_set=symbols).fill_null(-1)
            return packing.add(array, words=found.to_numpy().astype(np.int64))
        case Primitive() | Fixed() if logical == "decimal":
            return _packed_decimal(packing, array.cast(decimal_type(node, path)), node)
        case Fixed() if _is_bytes(kind):
            return packing.add_bytes(array)
        case Primitive(kind="string") if _is_text(kind):
            return packing.add_bytes(array)
        case Primitive(kind="bytes") if _is_text(kind) or _is_bytes(kind):
            return packing.add_bytes(array)
        case Primitive(kind="int") if pa.types.is_date32(kind) and logical in ("date", None):
            return packing.add(array, words=_integers(array, pa.int32()))
        case Primitive(kind="long") if pa.types.is_timestamp(kind):
            micros = _integers(array.cast(pa.timestamp("us", kind.tz)), pa.int64())
            millis = logical in _MILLISECONDS
            return packing.add(array, words=micros // 1000 if millis else micros)
        case Primitive() if pa.types.is_time64(kind) and logical == "time-micros":
            nanos = _integers(array.cast(pa.time64("ns")), pa.int64())
            return packing.add(array, words=nanos // 1000)
        case Primitive(kind=name) if name in _CASTS and _CASTS[name][0](kind):
            return _packed_number(packing, array.cast(_CASTS[name][1]))
    raise pa.ArrowInvalid("the types do not match")


def _packed_number(packing: Packing, array: pa.Array) -> int:
    if pa.types.is_integer(array.type):
        return packing.add(array, words=_integers(array, array.type))
    filled = array.fill_null(False if pa.types.is_boolean(array.type) else 0.0)
    return packing.add(array, octets=filled.to_numpy(zero_copy_only=False).view(np.uint8))


def _integers(array: pa.Array, kind: pa.DataType) -> NDArray[np.int64]:
    numbers: NDArray[Any] = array.view(kind).fill_null(0).to_numpy()
    return numbers.astype(np.int64, copy=False)


def _packed_decimal(packing: Packing, array: pa.Array, node: Primitive | Fixed) -> int:
    raw = np.frombuffer(array.buffers()[1], dtype=np.uint8)[16 * array.offset :][: 16 * len(array)]
    if isinstance(node, Primitive):
        return packing.add(array, words=raw.view(np.int64))
    # The precision fits the size, or the schema would not call it a decimal.
    big_endian = raw.reshape(-1, 16)[:, ::-1]
    if node.size <= 16:
        return packing.add(array, octets=big_endian[:, 16 - node.size :].reshape(-1))
    signs = np.repeat(np.where(big_endian[:, :1] >= 0x80, 0xFF, 0), node.size - 16, axis=1)
    wide = np.concatenate([signs.astype(np.uint8), big_endian], axis=1)
    return packing.add(array, octets=wide.reshape(-1))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return bool(binary or pa.types.is_fixed_size_binary(kind))


def _default(schema: Field, path: str) -> bytes:
    """What is written for a field that the column does not have."""
    default = schema.default
    if default is NO_DEFAULT:
        default = None
        if not (isinstance(schema.type, Union) and "null" in schema.type.tags):
            raise ConfigError(
                f"the column has no field {path}, "
                "and the schema gives it neither a default nor null"
            )
    try:
        return encode_default(schema.type, default)
    except InvalidValue as fault:
        raise ConfigError(f"the default of {path} is not of its type: {fault}") from None
