"""Records as Hypothesis draws them: rows of one pair of schemas, or without any."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from hypothesis import strategies as st

from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.java_text import to_float32
from headrace.pipelines.connect.model.record import Header, Record
from headrace.pipelines.connect.model.schema import EPOCH, INTEGER_BITS, Schema, Struct, Type

NAMES: Final = ("a", "b", "c", "d.e", "x")
TOPICS: Final = ("orders", "a-b", "eu.orders-7", "x")
MOMENTS_MS: Final = st.one_of(
    st.integers(-8_000_000_000_000, 16_000_000_000_000),
    st.integers(-100, 40_000).map(lambda days: days * 86_400_000),
    st.integers(-100_000, 90_000_000),
)  # of years that both calendars have
NICE_FLOATS: Final = st.one_of(
    st.integers(-4000, 4000).map(lambda n: n / 8),
    st.sampled_from(
        (0.0, -0.0, 1e10, 1.5e-5, 1e300, -3e9, 2.0**31, 300.0, float("inf"), float("nan"))
    ),
)
TEXTS: Final = st.one_of(
    st.text("ab1 é.-", max_size=6),
    st.sampled_from(
        (
            *("2020-02-03", "20200203040506", "Mon, 3 Feb 2020 04:05:06 +0100", "04:05:06.007"),
            *(
                "true",
                "TRUE",
                "false",
                "12",
                "-7",
                "+5",
                "300",
                "1.5",
                " 2 ",
                "1e3",
                "0x1p3",
                "NaN",
            ),
            *("99999999999999999999", "2020-02-03T04:05:06.007Z", "1,5", "-Infinity", "", "3f"),
            *("1_000", "٣", "0x10", "1e400", "16777217"),
        )
    ),
)


def one_in(count: int) -> st.SearchStrategy[int]:
    """0 to `count`, each as likely as the others."""
    return st.sampled_from(range(count))


@st.composite
def decimals(draw: st.DrawFn, scale: int) -> Decimal:
    """Decimals of a scale."""
    unscaled = draw(st.one_of(st.integers(-5000, 5000), st.integers(-(10**20), 10**20)))
    return Decimal(unscaled).scaleb(-scale)


def integers(bits: int) -> st.SearchStrategy[int]:
    """Integers of so many bits."""
    bound = 1 << bits - 1
    return st.one_of(st.integers(-bound, bound - 1), st.integers(-3, 3))


def values(schema: Schema) -> st.SearchStrategy[object]:
    """What belongs to a schema, null if it may be."""
    present = _present(schema)
    return st.one_of(st.none(), present, present) if schema.optional else present


def _present(schema: Schema) -> st.SearchStrategy[object]:
    if schema.name == schemas.DECIMAL:
        return decimals(schema.scale)
    if schema.name == schemas.DATE:
        return MOMENTS_MS.map(lambda ms: (EPOCH + datetime.timedelta(milliseconds=ms)).date())
    if schema.name == schemas.TIME:
        return st.integers(0, 86_399_999).map(
            lambda ms: (EPOCH + datetime.timedelta(milliseconds=ms)).time()
        )
    if schema.name == schemas.TIMESTAMP:
        return MOMENTS_MS.map(lambda ms: EPOCH + datetime.timedelta(milliseconds=ms))
    if schema.type in INTEGER_BITS:
        return integers(INTEGER_BITS[schema.type])
    if schema.type is Type.STRUCT:
        return structs(schema)
    if schema.type is Type.ARRAY:
        return st.lists(values(schema.item), max_size=2)
    if schema.type is Type.MAP:
        return st.dictionaries(values(schema.key), values(schema.item), max_size=2)
    return _PLAIN[schema.type]


_PLAIN: Final[dict[Type, st.SearchStrategy[object]]] = {
    Type.FLOAT32: NICE_FLOATS.map(to_float32),
    Type.FLOAT64: NICE_FLOATS,
    Type.BOOLEAN: st.booleans(),
    Type.STRING: TEXTS,
    Type.BYTES: st.binary(max_size=3),
}


@st.composite
def structs(draw: st.DrawFn, schema: Schema, *, whole: bool = True) -> Struct:
    """Structs; a field that has a default may be without a value, if not `whole` others too."""
    held = []
    for field in schema.fields:
        absent = field.schema.default is not None or (not whole and draw(one_in(41)) == 0)
        held.append(None if absent and draw(st.booleans()) else draw(values(field.schema)))
    return Struct(schema, held)


SCALARS: Final = (
    *(schemas.INT8, schemas.INT16, schemas.INT32, schemas.INT64, schemas.FLOAT32),
    *(schemas.FLOAT64, schemas.BOOLEAN, schemas.STRING, schemas.BYTES, schemas.decimal(2)),
    *(schemas.date(), schemas.time(), schemas.timestamp()),
)


MOMENTS: Final = (
    schemas.INT64,
    schemas.STRING,
    schemas.date(),
    schemas.time(),
    schemas.timestamp(),
)


@st.composite
def scalars(draw: st.DrawFn, kinds: Sequence[Schema] = SCALARS) -> Schema:
    """Schemas of values without parts, some optional, some with a default."""
    schema = draw(st.sampled_from(kinds))
    schema = schema.but(optional=draw(st.booleans()))
    if draw(one_in(5)) == 0:
        return schema.but(default=draw(_present(schema)))
    return schema


@st.composite
def struct_schemas(draw: st.DrawFn, depth: int = 2, kinds: Sequence[Schema] = SCALARS) -> Schema:
    """Schemas of structs, nested up to `depth`."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=5, unique=True))
    said: dict[str, object] = draw(
        st.sampled_from(
            (
                {},
                {},
                {"name": "Row"},
                {"name": "Row", "version": 2, "doc": "a row", "parameters": {"p": "1"}},
                {"optional": True},
            )
        )
    )
    fields = [(name, draw(field_schemas(depth, kinds))) for name in names]
    return schemas.struct(fields, **said)


@st.composite
def field_schemas(draw: st.DrawFn, depth: int, kinds: Sequence[Schema]) -> Schema:
    """Schemas of fields: mostly scalars."""
    choice = draw(one_in(10))
    if choice == 0:
        return schemas.array(draw(scalars(kinds)), optional=draw(st.booleans()))
    if choice == 1:
        keys = st.sampled_from((schemas.STRING, schemas.INT32))
        return schemas.map_of(draw(keys), draw(scalars(kinds)), optional=draw(st.booleans()))
    if choice < 4 and depth > 1:
        return draw(struct_schemas(depth - 1, kinds)).but(optional=draw(st.booleans()))
    return draw(scalars(kinds))


FREE: Final[st.SearchStrategy[object]] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        integers(64),
        NICE_FLOATS,
        TEXTS,
        st.binary(max_size=2),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=6,
)
MAPS: Final = st.dictionaries(st.sampled_from(NAMES), FREE, max_size=5)


@st.composite
def sides(
    draw: st.DrawFn, rows: int, kinds: Sequence[Schema]
) -> tuple[Schema | None, list[object]]:
    """A schema, or none, and a value for each row."""
    choice = draw(one_in(15))
    if choice == 0:
        return None, [None] * rows
    if choice == 1:
        return None, [draw(FREE) for _ in range(rows)]
    if choice < 4:
        maps = st.one_of(MAPS, MAPS, MAPS, st.none())
        return None, [draw(maps) for _ in range(rows)]
    if choice == 4:
        schema = draw(scalars(kinds))
    elif choice == 5:
        schema = draw(field_schemas(1, kinds))
    elif choice < 10:
        schema = draw(struct_schemas(draw(st.integers(1, 2)), kinds))
    else:
        return draw(tidy_sides(rows, kinds))
    whole = draw(one_in(10)) > 0
    present = structs(schema, whole=whole) if schema.type is Type.STRUCT else _present(schema)
    rarely = draw(one_in(4)) == 0
    return schema, [draw(st.one_of(st.none(), present) if rarely else present) for _ in range(rows)]


@st.composite
def tidy_sides(draw: st.DrawFn, rows: int, kinds: Sequence[Schema]) -> tuple[Schema, list[object]]:
    """Structs as most are: fields without defaults, each with texts of one kind."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=4, max_size=5, unique=True))
    fields = {
        name: draw(st.sampled_from(kinds)).but(optional=draw(one_in(4)) == 0) for name in names
    }
    schema = schemas.struct(fields)
    texts = {name: draw(st.sampled_from(_TIDY_TEXTS)) for name in names}
    columns = {
        name: texts[name] if field.type is Type.STRING else values(field)
        for name, field in fields.items()
    }
    return schema, [Struct(schema, [draw(columns[name]) for name in names]) for _ in range(rows)]


_TIDY_TEXTS: Final = (
    st.integers(-400, 40_000).map(str),
    st.integers(-4000, 4000).map(lambda n: str(n / 8)),
    st.sampled_from(("true", "True", "no")),
    st.dates().map(str),
)


@st.composite
def headers(draw: st.DrawFn) -> tuple[Header, ...]:
    """A few headers, with schemas and without."""
    made = []
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=3)):
        schema = draw(st.one_of(st.none(), scalars()))
        value = draw(FREE) if schema is None else draw(values(schema))
        made.append(Header(name, value, schema))
    return tuple(made)


@st.composite
def records(
    draw: st.DrawFn, rows: int, *, for_sink: bool, kinds: Sequence[Schema] = SCALARS
) -> list[Record]:
    """Rows of one topic and partition, and of one pair of schemas."""
    key_schema, keys = draw(sides(rows, kinds))
    value_schema, held = draw(sides(rows, kinds))
    topic = draw(st.sampled_from(TOPICS))
    partition = draw(st.integers(0, 3) if for_sink else st.one_of(st.none(), st.integers(0, 3)))
    untimed = draw(one_in(6)) == 0
    headed = draw(st.booleans())
    return [
        Record(
            topic,
            value,
            value_schema,
            key,
            key_schema,
            partition,
            None if untimed else draw(MOMENTS_MS),
            draw(headers()) if headed else (),
            position,
        )
        for position, (key, value) in enumerate(zip(keys, held, strict=True))
    ]
