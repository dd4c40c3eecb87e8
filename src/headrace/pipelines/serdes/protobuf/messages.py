"""The columns that a message becomes, as in spark-protobuf, and the tables the kernels read.

    PROTOBUF                                    ARROW                SPARK
    int32, sint32, (s)fixed32, uint32           int32                int
    int64, sint64, (s)fixed64, uint64           int64                bigint
    uint32, uint64 with upcast.unsigned.ints    int64, decimal128    bigint, decimal(20,0)
    float, double, bool, string, bytes          the same             the same
    enum                                        string               string
    enum with enums.as.ints                     int32                int
    google.protobuf.Timestamp, Duration         timestamp, duration  timestamp, interval
    other messages and groups                   struct               struct
    repeated, map                               list, map            array, map

A message is a row of the table of messages and a run of rows, sorted by number, of the table of
fields. The kernel keeps no state beyond the columns: a message that begins makes all of its fields
absent, and what then arrives overwrites it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.descriptor import FieldDescriptor as F
from numpy.typing import NDArray

from headrace.errors import ConfigError
from headrace.pipelines.serdes import layout
from headrace.pipelines.serdes.layout import Column
from headrace.pipelines.serdes.protobuf import wire

MAX_RECURSION: Final = 10

_SCALARS: Final[dict[int, tuple[int, int, pa.DataType]]] = {
    F.TYPE_DOUBLE: (wire.DOUBLE, layout.FLOAT64, pa.float64()),
    F.TYPE_FLOAT: (wire.FLOAT, layout.FLOAT32, pa.float32()),
    F.TYPE_INT64: (wire.INT64, layout.INT64, pa.int64()),
    F.TYPE_UINT64: (wire.INT64, layout.INT64, pa.int64()),
    F.TYPE_INT32: (wire.INT32, layout.INT32, pa.int32()),
    F.TYPE_UINT32: (wire.INT32, layout.INT32, pa.int32()),
    F.TYPE_FIXED64: (wire.FIXED64, layout.INT64, pa.int64()),
    F.TYPE_FIXED32: (wire.FIXED32, layout.INT32, pa.int32()),
    F.TYPE_SFIXED64: (wire.FIXED64, layout.INT64, pa.int64()),
    F.TYPE_SFIXED32: (wire.FIXED32, layout.INT32, pa.int32()),
    F.TYPE_SINT64: (wire.SINT64, layout.INT64, pa.int64()),
    F.TYPE_SINT32: (wire.SINT32, layout.INT32, pa.int32()),
    F.TYPE_BOOL: (wire.BOOL, layout.BOOLEAN, pa.bool_()),
    F.TYPE_STRING: (wire.STRING, layout.BYTES, pa.string()),
    F.TYPE_BYTES: (wire.BYTES, layout.BYTES, pa.binary()),
}
_UNSIGNED: Final = {
    F.TYPE_UINT32: (wire.UINT32_AS_INT64, layout.INT64, pa.int64()),
    F.TYPE_UINT64: (wire.UINT64_AS_DECIMAL, layout.DECIMAL, pa.decimal128(20, 0)),
}
_MOMENTS: Final = {"Timestamp": pa.timestamp("us", "UTC"), "Duration": pa.duration("us")}
WRAPPERS: Final = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Bool", "Int32", "UInt32", "Int64", "UInt64", "String", "Bytes", "Float", "Double")
)


@dataclass(frozen=True, slots=True)
class MessageOptions:
    """What may be chosen about the mapping, under spark-protobuf's names in the guide."""

    recursion: int = -1
    emit_defaults: bool = False
    enums_as_ints: bool = False
    upcast_unsigned: bool = False
    unwrap_wrappers: bool = False
    retain_empty: bool = False


@dataclass(frozen=True, slots=True)
class Tables:
    """Everything that the decoding kernel needs to know; pickled to Spark's workers."""

    columns: tuple[Column, ...]
    messages: NDArray[np.int64]
    fields: NDArray[np.int64]
    oneofs: NDArray[np.int64]
    symbols: NDArray[np.int64]
    pool: NDArray[np.uint8]
    places: tuple[tuple[str, str], ...]
    """For each field its path and its type."""


@dataclass(slots=True)
class _Field:
    """A row of the table of fields before the columns have their numbers."""

    descriptor: FieldDescriptor
    type: int
    column: Column
    list: Column | None = None
    message: int = 0
    more: int = 0
    flags: int = 0
    default: bytes = b""


@dataclass(slots=True)
class _Message:
    fields: list[_Field] = field(default_factory=list)
    defaults: bytes = b""


def build_tables(descriptor: Descriptor, options: MessageOptions) -> Tables:
    """The columns and tables of a message."""
    builder = _Builder(options)
    row, children = builder.message(descriptor, "", {descriptor.full_name: 1})
    root = _struct(children, "")
    root.nullable = True
    assert row == 0, "the kernel begins with the first message"
    return builder.finish(tuple(layout.number(root)))


@dataclass(slots=True)
class _Builder:
    options: MessageOptions
    messages: list[_Message] = field(default_factory=list)
    symbols: list[tuple[int, int, int]] = field(default_factory=list)
    enums: dict[str, int] = field(default_factory=dict)
    pool: bytearray = field(default_factory=bytearray)

    def message(
        self, descriptor: Descriptor, path: str, seen: dict[str, int], *, complete: bool = False
    ) -> tuple[int, dict[str, Column]]:
        """A message's row and its columns; `complete`: every field has a value, at least zero."""
        row = len(self.messages)
        message = _Message()
        self.messages.append(message)
        children: dict[str, Column] = {}
        for each in descriptor.fields:
            built = self.field(each, f"{path}.{each.name}" if path else each.name, seen)
            if built is None:
                continue
            children[each.name] = built.list or built.column
            message.fields.append(built)
            self._presence(built, complete=complete)
            message.defaults += built.default
        if not children and self.options.retain_empty:
            name = "__dummy_field_in_empty_struct"
            children[name] = Column(layout.BYTES, pa.string(), f"{path}.{name}", nullable=True)
        return row, children

    def _presence(self, built: _Field, *, complete: bool) -> None:
        each = built.descriptor
        if built.list is not None:
            return
        built.column.nullable = True
        if each.is_required:
            built.flags |= wire.IS_REQUIRED
        emitted = not each.has_presence and self.options.emit_defaults
        if each.has_default_value or complete or emitted:
            built.default = _default(each)
        elif not each.has_presence:
            built.flags |= wire.ZERO_IS_ABSENT

    def field(self, each: FieldDescriptor, path: str, seen: dict[str, int]) -> _Field | None:
        """A field's row with its columns; None if Spark has no place for it."""
        if each.is_repeated and each.type == F.TYPE_MESSAGE and is_map(each.message_type):
            return self._map(each, path, seen)
        built = self._single(each, f"{path}[]" if each.is_repeated else path, seen)
        if built is not None and each.is_repeated:
            element = pa.field("element", built.column.type)
            kind = pa.list_(element)
            built.list = Column(layout.LIST, kind, path, children=[built.column])
        return built

    def _single(self, each: FieldDescriptor, path: str, seen: dict[str, int]) -> _Field | None:
        if each.type in (F.TYPE_MESSAGE, F.TYPE_GROUP):
            return self._nested(each, path, seen)
        if each.type == F.TYPE_ENUM:
            if self.options.enums_as_ints:
                return _Field(each, wire.INT32, Column(layout.INT32, pa.int32(), path))
            text = Column(layout.BYTES, pa.string(), path)
            first = self._enum(each.enum_type)
            flags = 0 if each.enum_type.is_closed else wire.IS_OPEN
            count = len({value.number for value in each.enum_type.values})
            return _Field(each, wire.ENUM, text, message=first, more=count, flags=flags)
        scalar = _SCALARS[each.type]
        if self.options.upcast_unsigned:
            scalar = _UNSIGNED.get(each.type, scalar)
        return _Field(each, scalar[0], Column(scalar[1], scalar[2], path))

    def _nested(self, each: FieldDescriptor, path: str, seen: dict[str, int]) -> _Field | None:
        descriptor = each.message_type
        if is_moment(descriptor):
            moment = Column(layout.INT64, _MOMENTS[descriptor.name], path)
            return _Field(each, wire.MOMENT, moment)
        if self.options.unwrap_wrappers and descriptor.full_name in WRAPPERS:
            row, children = self.message(descriptor, path, seen, complete=True)
            return _Field(each, wire.UNWRAPPED, children["value"], message=row)
        depth = seen.get(descriptor.full_name, 0)
        if depth and self.options.recursion <= 0:
            raise ConfigError(
                f"{path}: the message {descriptor.full_name} contains itself, and a column cannot; "
                f"set the option recursive.fields.max.depth to 1 … {MAX_RECURSION}"
            )
        if depth and depth >= self.options.recursion:
            return None
        row, children = self.message(descriptor, path, {**seen, descriptor.full_name: depth + 1})
        if not children:
            return None
        kind = wire.GROUP if each.type == F.TYPE_GROUP else wire.MESSAGE_TYPE
        return _Field(each, kind, _struct(children, path), message=row)

    def _map(self, each: FieldDescriptor, path: str, seen: dict[str, int]) -> _Field | None:
        row, children = self.message(each.message_type, path, seen, complete=True)
        if len(children) < 2:
            return None
        keys, values = children["key"], children["value"]
        keys.nullable = False
        kind = pa.map_(keys.type, values.type)
        entry = Column(
            layout.STRUCT,
            pa.struct([kind.key_field, kind.item_field]),
            path,
            children=[keys, values],
        )
        entries = Column(layout.LIST, kind, path, children=[entry])
        return _Field(each, wire.MESSAGE_TYPE, entry, list=entries, message=row)

    def _enum(self, enum: EnumDescriptor) -> int:
        """The first of the symbols of an enum; behind them stands the name for unknown numbers."""
        if enum.full_name not in self.enums:
            self.enums[enum.full_name] = len(self.symbols)
            names = {value.number: value.name for value in reversed(enum.values)}
            for number in sorted(names):
                self.symbols.append((number, *self._text(names[number])))
            self.symbols.append((0, *self._text(f"UNKNOWN_ENUM_VALUE_{enum.name}_")))
        return self.enums[enum.full_name]

    def _text(self, text: str) -> tuple[int, int]:
        raw = text.encode()
        self.pool += raw
        return len(self.pool) - len(raw), len(raw)

    def finish(self, columns: tuple[Column, ...]) -> Tables:
        messages: list[tuple[int, ...]] = []
        rows: list[list[int]] = []
        places: list[tuple[str, str]] = []
        oneofs: list[int] = []
        for message in self.messages:
            start = len(self.pool)
            self.pool += message.defaults
            required = any(each.flags & wire.IS_REQUIRED for each in message.fields)
            messages.append((len(rows), len(message.fields), start, len(self.pool), int(required)))
            members = _oneofs(message, oneofs)
            for each in sorted(message.fields, key=lambda each: each.descriptor.number):
                places.append((each.column.path, _describe(each.descriptor)))
                row = [0] * wire.FIELD_FIELDS
                row[wire.NUMBER] = each.descriptor.number
                row[wire.TYPE] = each.type
                row[wire.COLUMN] = each.column.index
                row[wire.LIST] = each.list.index if each.list is not None else -1
                row[wire.MESSAGE] = each.message
                row[wire.MORE] = each.more
                row[wire.FLAGS] = each.flags
                row[wire.ONEOF], row[wire.ONEOF_END] = members.get(each.descriptor.number, (0, 0))
                rows.append(row)
        # One row more, so that there is a field to look at even where there are none.
        rows.append([0] * wire.FIELD_FIELDS)
        return Tables(
            columns,
            np.array(messages, dtype=np.int64).reshape(-1, wire.MESSAGE_FIELDS),
            np.array(rows, dtype=np.int64).reshape(-1, wire.FIELD_FIELDS),
            np.array(oneofs, dtype=np.int64),
            np.array(self.symbols, dtype=np.int64).reshape(-1, 3),
            np.frombuffer(bytearray(self.pool), dtype=np.uint8),
            tuple(places),
        )


def _oneofs(message: _Message, oneofs: list[int]) -> dict[int, tuple[int, int]]:
    """Appends the columns of each oneof; for each field number in one, where its columns stand."""
    groups: dict[str, list[_Field]] = {}
    for each in message.fields:
        if each.descriptor.containing_oneof is not None:
            groups.setdefault(each.descriptor.containing_oneof.name, []).append(each)
    found: dict[int, tuple[int, int]] = {}
    for members in groups.values():
        start = len(oneofs)
        oneofs += [each.column.index for each in members]
        found.update((each.descriptor.number, (start, len(oneofs))) for each in members)
    return found


def _struct(children: dict[str, Column], path: str) -> Column:
    kind = pa.struct([pa.field(name, child.type) for name, child in children.items()])
    return Column(layout.STRUCT, kind, path, children=list(children.values()))


def is_map(descriptor: Descriptor) -> bool:
    return bool(descriptor.GetOptions().map_entry)


def is_moment(descriptor: Descriptor) -> bool:
    """Spark goes by the name and the fields, not by the package."""
    names = [each.name for each in descriptor.fields]
    return descriptor.name in _MOMENTS and names == ["seconds", "nanos"]


def _describe(each: FieldDescriptor) -> str:
    for name, value in vars(FieldDescriptor).items():
        if name.startswith("TYPE_") and value == each.type:
            return f"a field of the type {name.removeprefix('TYPE_').lower()}"
    return "a field"


def _default(each: FieldDescriptor) -> bytes:
    """A field's default as it would stand on the wire, zeros included."""
    value: Any = each.default_value
    if each.type == F.TYPE_MESSAGE:
        return wire.tag(each.number, wire.COUNTED) + b"\0"
    return wire.encode_scalar(each.number, each.type, value)
