"""The columns that a schema becomes, named and typed as spark-avro does it.

    AVRO                                     ARROW                      SPARK
    boolean, int, long, float, double        the same                   the same
    bytes, fixed                             binary                     binary
    string, enum, string (uuid)              string                     string
    bytes or fixed (decimal p, s)            decimal128(p, s)           decimal(p, s)
    int (date)                               date32                     date
    long (time-micros)                       time64 ns                  time(6)
    long (timestamp-millis, -micros)         timestamp us, UTC          timestamp
    long (local-timestamp-millis, -micros)   timestamp us               timestamp_ntz
    record                                   struct                     struct
    array, map                               list, map of string        array, map
    union of null and one type               that type, nullable        that type
    union of int and long, float and double  int64, double              bigint, double
    any other union                          struct member0, member1 …  struct, one member set

Any other logical type is the type that it annotates.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from headrace.errors import ConfigError
from headrace.pipelines.serdes import layout
from headrace.pipelines.serdes.avro.schema import describe
from headrace.pipelines.serdes.layout import Column
from headrace.schemas.avro.logical import decimal_digits, logical_type
from headrace.schemas.avro.schema import (
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

_PRIMITIVES: Final[dict[str, tuple[int, pa.DataType]]] = {
    "null": (layout.NOTHING, pa.null()),
    "boolean": (layout.BOOLEAN, pa.bool_()),
    "int": (layout.INT32, pa.int32()),
    "long": (layout.INT64, pa.int64()),
    "float": (layout.FLOAT32, pa.float32()),
    "double": (layout.FLOAT64, pa.float64()),
    "bytes": (layout.BYTES, pa.binary()),
    "string": (layout.BYTES, pa.string()),
}
_INSTANT: Final = (layout.INT64, pa.timestamp("us", "UTC"))
_LOCAL: Final = (layout.INT64, pa.timestamp("us"))
_LOGICAL: Final[dict[tuple[str, str | None], tuple[int, pa.DataType]]] = {
    ("int", "date"): (layout.INT32, pa.date32()),
    ("long", "time-micros"): (layout.INT64, pa.time64("ns")),
    ("long", "timestamp-millis"): _INSTANT,
    ("long", "timestamp-micros"): _INSTANT,
    ("long", "local-timestamp-millis"): _LOCAL,
    ("long", "local-timestamp-micros"): _LOCAL,
}
MAX_RECURSION: Final = 15
MAX_DECIMAL_PRECISION: Final = 38


def value_branches(union: Union) -> list[AvroType]:
    """The branches of a union that are not null."""
    return [each for each in union.branches if not is_null(each)]


def is_null(node: AvroType) -> bool:
    return node.kind == "null"


def widest(union: Union) -> str | None:
    """The type that holds both branches of a union of two widths of numbers."""
    kinds = sorted(each.kind for each in value_branches(union))
    if kinds in (["int", "long"], ["double", "float"]):
        return "long" if "long" in kinds else "double"
    return None


def decimal_type(node: AvroType, path: str) -> pa.DataType | None:
    """The type of a decimal's column; None if the type is no decimal."""
    digits = decimal_digits(node)
    if digits is None:
        return None
    precision, scale = digits
    if precision > MAX_DECIMAL_PRECISION:
        raise ConfigError(
            f"{path or 'the value'} is a decimal of precision {precision}, more than Spark "
            f"can hold ({MAX_DECIMAL_PRECISION}): read it as bytes, by a schema without the "
            "logical type"
        )
    return pa.decimal128(precision, scale)


class ColumnBuilder:
    """Builds the columns of a schema.

    `below` gives the column of the n-th field of a record or of the n-th value branch of a union;
    what lies deeper than the permitted recursion has none.
    """

    def __init__(self, *, recursion: int = -1, union_prefix: str | None = None) -> None:
        self._recursion = recursion
        self._union_prefix = union_prefix
        self._depth: dict[Record, int] = {}
        self.below: dict[tuple[Column, int], Column] = {}

    def build(self, node: AvroType, path: str) -> Column | None:
        """The column of `node`, or None if it is dropped."""
        match node:
            case Primitive() | Fixed():
                return _scalar(node, path)
            case Enum():
                return Column(layout.BYTES, pa.string(), path)
            case Array():
                items = self.build(node.items, f"{path}[]")
                if items is None:
                    return None
                element = pa.field("element", items.type)
                return Column(layout.LIST, pa.list_(element), path, children=[items])
            case Map():
                return self._map(node, path)
            case Union():
                return self._union(node, path)
            case Record():
                return self._record(node, path)

    def _map(self, node: Map, path: str) -> Column | None:
        values = self.build(node.values, f"{path}{{}}")
        if values is None:
            return None
        kind = pa.map_(pa.string(), values.type)
        keys = Column(layout.BYTES, pa.string(), f"{path}{{key}}")
        entries = pa.struct([kind.key_field, kind.item_field])
        entry = Column(layout.STRUCT, entries, path, children=[keys, values])
        return Column(layout.LIST, kind, path, children=[entry])

    def _union(self, node: Union, path: str) -> Column | None:
        values = value_branches(node)
        wide = widest(node)
        column: Column | None
        if not values:
            return Column(layout.NOTHING, pa.null(), path)
        if len(values) == 1:
            column = self.build(values[0], path)
        elif wide is not None:
            column = Column(*_PRIMITIVES[wide], path)
        else:
            column = self._members(values, path)
        if column is not None and len(values) < len(node.branches):
            column.nullable = True
        return column

    def _members(self, values: list[AvroType], path: str) -> Column:
        children: dict[int, tuple[str, Column]] = {}
        for index, branch in enumerate(values):
            name = f"member{index}"
            if self._union_prefix is not None:
                name = self._union_prefix + _type_name(branch)
            member = self.build(branch, f"{path}.{name}")
            if member is not None:
                member.nullable = True
                children[index] = name, member
        names = [name.lower() for name, _ in children.values()]
        if len(set(names)) < len(names):
            raise ConfigError(
                f"{path}: two branches of the union would get the same field name; "
                "leave out enableStableIdentifiersForUnionType"
            )
        return self._struct(children, path)

    def _record(self, node: Record, path: str) -> Column | None:
        depth = self._depth.get(node, 0)
        if depth and self._recursion <= 0:
            raise ConfigError(
                f"{path}: {describe(node)} contains itself, and a column cannot; set the option "
                f"recursiveFieldMaxDepth to 1 … {MAX_RECURSION} to keep that many levels"
            )
        if depth and depth >= self._recursion:
            return None
        self._depth[node] = depth + 1
        children = {
            index: (each.name, child)
            for index, each in enumerate(node.fields)
            if (child := self.build(each.type, _below(path, each))) is not None
        }
        self._depth[node] = depth
        return self._struct(children, path)

    def _struct(self, children: dict[int, tuple[str, Column]], path: str) -> Column:
        kind = pa.struct([pa.field(name, child.type) for name, child in children.values()])
        below = [child for _, child in children.values()]
        column = Column(layout.STRUCT, kind, path, children=below)
        self.below.update(((column, index), child) for index, (_, child) in children.items())
        return column


def _below(path: str, field: Field) -> str:
    return f"{path}.{field.name}" if path else field.name


def _scalar(node: Primitive | Fixed, path: str) -> Column:
    decimal = decimal_type(node, path)
    if decimal is not None:
        return Column(layout.DECIMAL, decimal, path)
    if isinstance(node, Fixed):
        return Column(layout.BYTES, pa.binary(), path)
    kind, arrow = _LOGICAL.get((node.kind, logical_type(node)), _PRIMITIVES[node.kind])
    return Column(kind, arrow, path)


def _type_name(node: AvroType) -> str:
    return node.name.name if isinstance(node, Record | Enum | Fixed) else node.kind
