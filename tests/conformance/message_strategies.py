"""Random messages of a version, made from their declaration."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from headrace.errors import Error
from headrace.wire.schema import FieldSpec, fields_of
from headrace.wire.types import UUID_KIND, Blob, Fixed, Text

_INTEGERS = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
}
# Lengths on both sides of the one-byte varint, but mostly short.
_TEXT = st.one_of(st.text(max_size=8), st.sampled_from(["x" * 126, "x" * 127, "ü" * 4000]))
_BYTES = st.one_of(st.binary(max_size=8), st.sampled_from([b"r" * 126, b"r" * 127, b"r" * 20000]))
_ERROR_CODES = st.sampled_from([int(error) for error in Error])
# kio makes dates of these, by way of floats: whole seconds survive, until the year 9999.
_TIMES_MS = st.integers(0, 253_402_300_799).map(lambda seconds: seconds * 1000)
# Of a duration of eight bytes kio makes a `timedelta`, by way of floats as well.
_DURATIONS_MS = st.integers(-(2**40), 2**40)


@cache
def messages(cls: type, version: int) -> st.SearchStrategy[Any]:
    """Messages with every field that the version has; the others keep their defaults."""
    fields = [field for field in fields_of(cls) if field.present(version)]
    return st.builds(cls, **{field.name: _values(field, version) for field in fields})


def _values(field: FieldSpec, version: int) -> st.SearchStrategy[Any]:
    values = _items(field, version)
    if field.is_array:
        values = st.lists(values, max_size=3)
        if isinstance(field.kind, Fixed):
            values |= _items(field, version).map(lambda item: [item] * 127)
    is_left_out = field.tag is not None and isinstance(field.kind, type) and not field.is_array
    if field.nullable(version) or is_left_out:
        values = st.none() | values
    if field.tag is not None:
        values = st.just(field.default) | values
    return values


def _items(field: FieldSpec, version: int) -> st.SearchStrategy[Any]:
    kind = field.kind
    if isinstance(kind, type):
        return messages(kind, version)
    if isinstance(kind, Text):
        return _TEXT
    if isinstance(kind, Blob):
        return _BYTES.map(memoryview) if kind.is_view else _BYTES
    if kind is UUID_KIND:
        return st.uuids()
    if kind.name == "bool":
        return st.booleans()
    if kind.name == "float64":
        return st.floats(allow_nan=False)
    if field.name.endswith("error_code"):
        return _ERROR_CODES
    if field.name == "log_append_time_ms":
        return st.just(-1) | _TIMES_MS
    if field.name == "transaction_start_time_ms":
        return _TIMES_MS  # kio cannot read a -1 here, which stands for "no transaction"
    if field.name in {"retention_time_ms", "session_lifetime_ms"}:
        return _DURATIONS_MS
    return _INTEGERS[kind.name]
