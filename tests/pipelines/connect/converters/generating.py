"""Schemas and values at random, of every type that Connect has."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import INTEGER_BITS, Field, Schema, Struct, Type
from tests.generated import examples

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.text("abcXYZ_é ", min_size=1, max_size=3)
LOGICAL = (
    schemas.decimal(2),
    schemas.decimal(0),
    schemas.date(),
    schemas.time(),
    schemas.timestamp(),
)
PRIMITIVE = tuple(Schema(kind) for kind in Type if kind.is_primitive)
MILLISECONDS = st.integers(0, 86_399_999)


def cases(sample: int) -> settings:
    """So many cases in `make test`; the oracle is shared by all of them."""
    unasked = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=examples(sample), deadline=None, suppress_health_check=unasked)


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that fit the schema; null where it may be."""
    some = _values(schema)
    return st.one_of(st.none(), some) if schema.optional else some


def _values(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.name in _OF_LOGICAL:
        return _OF_LOGICAL[schema.name or ""](schema)
    bits = INTEGER_BITS.get(schema.type)
    if bits is not None:
        return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
    if schema.type is Type.ARRAY:
        return st.lists(values(schema.item), max_size=3)
    if schema.type is Type.MAP:
        return st.dictionaries(_values(schema.key), values(schema.item), max_size=3)
    if schema.type is Type.STRUCT:
        fields = [values(field.schema) for field in schema.fields]
        return st.tuples(*fields).map(lambda held: Struct(schema, held))
    return _OF_TYPE[schema.type]


_OF_TYPE = {
    Type.FLOAT32: st.floats(width=32),
    Type.FLOAT64: st.floats(),
    Type.BOOLEAN: st.booleans(),
    Type.STRING: TEXTS,
    Type.BYTES: st.binary(max_size=8),
}
_OF_LOGICAL: dict[str, Callable[[Schema], st.SearchStrategy[Any]]] = {
    schemas.DECIMAL: lambda schema: st.integers(-(10**40), 10**40).map(
        lambda unscaled: Decimal(
            (int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -schema.scale)
        )
    ),
    schemas.DATE: lambda schema: st.dates(),
    schemas.TIME: lambda schema: MILLISECONDS.map(
        lambda at: (schemas.EPOCH + datetime.timedelta(milliseconds=at)).time()
    ),
    schemas.TIMESTAMP: lambda schema: st.integers(-62135596800000, 253402300799999).map(
        lambda at: schemas.EPOCH + datetime.timedelta(milliseconds=at)
    ),
}


@st.composite
def described(draw: st.DrawFn, plain: Schema, *, names: st.SearchStrategy[str] = NAMES) -> Schema:
    """The schema with some of what can be said about it."""
    made = plain.but(optional=draw(st.booleans()))
    if draw(st.integers(0, 3)) == 0:
        made = made.but(doc=draw(TEXTS))
        if made.name is None:
            made = made.but(name=draw(names), version=draw(st.none() | st.integers(1, 9)))
            made = made.but(parameters=draw(st.none() | st.dictionaries(NAMES, TEXTS, min_size=1)))
    if plain.type is not Type.STRUCT and draw(st.integers(0, 4)) == 0:
        made = made.but(default=draw(_values(made)))
    return made


def some_schemas(
    *, nested: bool = True, names: st.SearchStrategy[str] = NAMES
) -> st.SearchStrategy[Schema]:
    """Schemas of all shapes, three deep, in which things have such names."""

    def about(plain: Schema) -> st.SearchStrategy[Schema]:
        return described(plain, names=names)

    leaves = st.sampled_from([*PRIMITIVE, *LOGICAL]).flatmap(about)

    def around(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
        arrays = inner.map(schemas.array)
        keys = st.sampled_from([schemas.STRING, schemas.STRING, schemas.INT32, schemas.BOOLEAN])
        maps = st.tuples(keys, inner).map(lambda pair: schemas.map_of(*pair))
        return st.one_of(arrays, maps, structs(inner, names)).flatmap(about)

    return st.recursive(leaves, around, max_leaves=6) if nested else leaves


def structs(
    inner: st.SearchStrategy[Schema], names: st.SearchStrategy[str] = NAMES
) -> st.SearchStrategy[Schema]:
    """Schemas of structs with fields of these schemas."""
    fields = st.lists(st.tuples(names, inner), max_size=4, unique_by=lambda pair: pair[0])
    return fields.map(
        lambda pairs: Schema(Type.STRUCT, fields=tuple(Field(name, part) for name, part in pairs))
    )


def with_values(of: st.SearchStrategy[Schema]) -> st.SearchStrategy[tuple[Schema, Any]]:
    """A schema and a value of it."""
    return of.flatmap(lambda schema: st.tuples(st.just(schema), values(schema)))


def plain_values() -> st.SearchStrategy[Any]:
    """Values without a schema, as JSON has them."""
    numbers = st.integers(-(2**63), 2**63 - 1) | st.floats()
    leaves = st.none() | st.booleans() | numbers | TEXTS
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
        max_leaves=12,
    )
