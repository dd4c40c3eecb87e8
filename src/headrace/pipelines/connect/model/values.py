"""Values in the text of headers, as Connect's `Values` writes and guesses them.

    5  -1.5  true  null  2024-01-31  text  [1, 2]  {"a": 5}  "in a list text is quoted"

What is no value of another type is text. A whole number has the narrowest type that holds it, one
with a fraction is FLOAT32 if that can hold its size. Where Python has no value for what Java has
(a time after midnight of the next day, a map with lists as keys), the next guess is taken.
"""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, TypeAlias

from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import java_dates
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.java_text import (
    decimal_text,
    double_text,
    float32_of,
    float_text,
    to_float32,
)
from headrace.pipelines.connect.model.logical import (
    MILLISECONDS_PER_DAY,
    date_of,
    time_of,
    timestamp_of,
)
from headrace.pipelines.connect.model.schema import INTEGER_BITS, Float32, Schema, Struct, Type
from headrace.pipelines.connect.model.tokens import TRIMMED, Tokens

Typed: TypeAlias = tuple[Schema, object]
"""A schema and a value of it."""


# --- text of values ---


def text_of(value: object, schema: Schema | None = None) -> str:
    """A value as text; DataException for what has none."""
    return value if isinstance(value, str) else _embedded(value, schema, quote="")


def _embedded(value: object, schema: Schema | None, *, quote: str = '"') -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        narrow = isinstance(value, Float32) or (schema and schema.type is Type.FLOAT32)
        return float_text(value) if narrow else double_text(value)
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return f"{quote}{base64.b64encode(value).decode()}{quote}"
    if isinstance(value, datetime.date | datetime.time):
        return java_dates.date_text(value)
    return _container_text(value, schema)


def _container_text(value: object, schema: Schema | None) -> str:
    keys, items = (schema.keys, schema.values) if schema is not None else (None, None)
    if isinstance(value, list):
        return f"[{','.join(_embedded(item, items) for item in value)}]"
    if isinstance(value, dict):
        pairs = [f"{_embedded(k, keys)}:{_embedded(v, items)}" for k, v in value.items()]
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, Struct):
        pairs = [
            f"{_embedded(field.name, None)}:{_embedded(value[field.name], field.schema)}"
            for field in value.schema.fields
        ]
        return f"{{{','.join(pairs)}}}"
    raise DataException(
        f"Failed to serialize unexpected value type {type(value).__name__}: {value}"
    )


# --- values of text ---


def parsed(text: str) -> tuple[Schema | None, object]:
    """The value that text says, and its schema; null has none."""
    if not text:
        return schemas.STRING, text
    found = _Parser(text).value(embedded=False)
    return (None, None) if found is None else found


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = Tokens(text)

    def value(self, *, embedded: bool) -> Typed | None:
        """The next value; None is null."""
        tokens = self._tokens
        if not tokens.has_next():
            return None
        if embedded and tokens.take('"'):
            return self._quoted()
        for word, meaning in _WORDS.items():
            start = tokens.mark()
            if tokens.take(word) and (embedded or not tokens.has_next()):
                return meaning
            tokens.rewind(start)
        start = tokens.mark()
        try:
            if tokens.take("["):
                return self._array()
            if tokens.take("{"):
                return self._map()
        except DataException:
            tokens.rewind(start)
        token = tokens.next()
        bare = token.strip(TRIMMED)
        return (schemas.STRING, token) if not bare else self._bare(bare, embedded=embedded)

    def _bare(self, token: str, *, embedded: bool) -> Typed:
        if token[0].isdecimal():
            found = self._temporal_from(token)
            if found is not None:
                return found
        if token[0].isdecimal() or token[0] in "+-":
            number = _number(token)
            if number is not None:
                return number
        if embedded:
            raise DataException("Failed to parse embedded value")
        return schemas.STRING, self._tokens.text

    def _temporal_from(self, token: str) -> Typed | None:
        """A time has colons, which part tokens: perhaps it goes on with the next four."""
        start = self._tokens.mark()
        more = self._tokens.several(4)
        found = None if more is None else _temporal(token + more)
        if found is None:
            self._tokens.rewind(start)
            found = _temporal(token)
        return found

    def _quoted(self) -> Typed:
        parts = []
        while self._tokens.has_next() and not self._tokens.take('"'):
            parts.append(self._tokens.next())
        text = "".join(parts)
        return _temporal(text) or (schemas.STRING, text)

    def _array(self) -> Typed:
        tokens, items, kind = self._tokens, list[object](), _Common()
        while tokens.has_next():
            if tokens.take("]"):
                if kind.schema is not None:
                    items = [_aligned(kind.schema, item) for item in items]
                return Schema(Type.ARRAY, values=kind.schema), items
            if tokens.take(","):
                raise DataException(f"Unable to parse an empty array element: {tokens.text}")
            item = self.value(embedded=True)
            kind.add(item)
            items.append(None if item is None else item[1])
            start = tokens.mark()
            if tokens.take("]"):
                tokens.rewind(start)
            elif not tokens.take(","):
                raise DataException("Array elements missing ',' delimiter")
        raise DataException(f"Array is missing terminating ']': {tokens.text}")

    def _map(self) -> Typed:
        tokens, made = self._tokens, dict[object, object]()
        keys, items = _Common(), _Common()
        while tokens.has_next():
            if tokens.take("}"):
                return _map_of(made, keys.schema, items.schema)
            if tokens.take(","):
                raise DataException(
                    f"Unable to parse a map entry with no key or value: {tokens.text}"
                )
            key = self.value(embedded=True)
            if key is None or key[1] is None:
                raise DataException(f"Map entry may not have a null key: {tokens.text}")
            if not tokens.take(":"):
                raise DataException(f"Map entry is missing ':' in {tokens.text}")
            item = self.value(embedded=True)
            made[_hashable(key[1])] = None if item is None else item[1]
            tokens.take(",")
            keys.add(key)
            items.add(item)
        raise DataException(f"Map is missing terminating '}}': {tokens.text}")


def _hashable(key: object) -> object:
    if isinstance(key, list | dict):
        raise DataException("an array or a map cannot be the key of a map")
    return key


_WORDS: Final[Mapping[str, Typed | None]] = {
    "null": None,
    "true": (schemas.BOOLEAN, True),
    "false": (schemas.BOOLEAN, False),
}


# --- numbers and moments ---

_DECIMAL: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE](?P<exponent>[+-]?\d{1,10}))?")
_MOST_EXPONENT: Final = 2**31 - 1
_MOST_DIGITS: Final = 19  # of a whole number that 64 bits hold


def _number(token: str) -> Typed | None:
    found = _DECIMAL.fullmatch(token)
    if found is None or abs(int(found["exponent"] or 0)) > _MOST_EXPONENT:
        return None
    number = Decimal(token)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    whole = _whole(number)
    if whole is not None:
        return whole
    if exponent:
        narrow, wide = float32_of(number), float(number)
        if narrow not in _INFINITE:
            return schemas.FLOAT32, Float32(narrow)
        if wide not in _INFINITE:
            return schemas.FLOAT64, wide
    return schemas.decimal(-exponent), number


_INFINITE: Final = (float("inf"), float("-inf"))


def _whole(number: Decimal) -> Typed | None:
    if number and not 0 <= number.adjusted() <= _MOST_DIGITS:
        return None
    if number != number.to_integral_value():
        return None
    whole = int(number)
    for kind, bits in INTEGER_BITS.items():
        if -(1 << bits - 1) <= whole < 1 << bits - 1:
            return Schema(kind), whole
    return None


_TEMPORAL: Final = {
    len("HH:mm:ss.SSSZ"): (schemas.time(), java_dates.TIME),
    len("yyyy-MM-ddTHH:mm:ss.SSSZ"): (schemas.timestamp(), java_dates.TIMESTAMP),
    len("yyyy-MM-dd"): (schemas.date(), java_dates.DATE),
}


def _temporal(text: str) -> Typed | None:
    """The time, day or moment that text of just their length says."""
    text = text.replace("\\:", ":")
    schema, pattern = _TEMPORAL.get(len(text), (None, None))
    if schema is None or pattern is None:
        return None
    at = java_dates.milliseconds_in(pattern, text)
    if at is None:
        return None
    try:
        moment = timestamp_of(at)
    except DataException:
        return None
    if schema.name == schemas.DATE:
        return schema, moment.date()
    if schema.name == schemas.TIME:
        return (schema, moment.time()) if 0 <= at < MILLISECONDS_PER_DAY else None
    return schema, moment


# --- what items have in common ---


class _Common:
    """The schema that all values so far fit."""

    def __init__(self) -> None:
        self.schema: Schema | None = None
        self._compatible = True

    def add(self, item: Typed | None) -> None:
        if item is None or not self._compatible:
            return
        if self.schema is None:
            self.schema = item[0]
        else:
            self.schema = _merged(self.schema, item[0])
            self._compatible = self.schema is not None


_WIDTHS: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


def _merged(one: Schema, other: Schema) -> Schema | None:
    if one.type is other.type:
        return other
    if one.type not in _WIDTHS or other.type not in _WIDTHS:
        return None
    return max(one, other, key=lambda schema: _WIDTHS.index(schema.type))


def _aligned(schema: Schema, value: object) -> object:
    """A value as one of the schema that it has in common with others."""
    if value is None:
        raise DataException("Unable to convert a null value to a schema that requires a value")
    if schema.type not in _WIDTHS:
        return value
    temporal = _MADE_OF_NUMBERS.get(schema.name or "")
    if isinstance(value, datetime.date | datetime.time):
        if temporal is not None:
            return value
        raise DataException(f"Unable to convert {value} ({type(value).__name__}) to a number")
    assert isinstance(value, int | float)
    if temporal is not None:
        return temporal(int(value))
    if schema.type is Type.FLOAT32:
        return Float32(to_float32(float(value)))
    return float(value) if schema.type is Type.FLOAT64 else value


_MADE_OF_NUMBERS: Final[Mapping[str, Callable[[int], object]]] = {
    schemas.DATE: date_of,
    schemas.TIME: time_of,
    schemas.TIMESTAMP: timestamp_of,
}


def _map_of(made: dict[object, object], keys: Schema | None, items: Schema | None) -> Typed:
    if keys is None:
        return Schema(Type.MAP), made
    if items is None:
        schema = Schema(Type.MAP, keys=keys)
        return schema, {_aligned(keys, key): item for key, item in made.items()}
    pairs = {_aligned(keys, key): _aligned(items, item) for key, item in made.items()}
    return Schema(Type.MAP, keys=keys, values=items), pairs
