"""kio as a second opinion: its classes are generated from Kafka's own message specifications.

Both sides are brought to plain values (ints, strings, bytes, lists, dicts), because kio speaks of
durations, dates and error enums where the wire has integers, and of None where it has zero UUIDs.
"""

from __future__ import annotations

import dataclasses
import datetime
import io
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, get_args, get_origin
from uuid import UUID

import kio.schema
from kio.serial import entity_reader, entity_writer

from headrace.types import ZERO_UUID
from headrace.wire.registry import Api
from headrace.wire.schema import MISSING, FieldSpec, fields_of

_SCHEMA_FOLDER = Path(next(iter(kio.schema.__path__)))
_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)

# kio's names for integers that it presents as something richer.
_PLAIN_TYPE = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
}


class Shape(NamedTuple):
    """What the protocol says of one field in one version."""

    name: str
    type: str
    is_array: bool
    nullable: bool
    tag: int | None
    inner: tuple[Shape, ...]


def versions_of(api: Api) -> set[int]:
    """The versions of an API that kio knows."""
    folder = _SCHEMA_FOLDER / api.module_name
    return {int(path.name[1:]) for path in folder.glob("v*")}


def class_of(api: Api, kind: str, version: int) -> Any:
    """kio's class for the request or response of one version."""
    module = import_module(f"kio.schema.{api.module_name}.v{version}.{kind}")
    return getattr(module, api.name + kind.capitalize())


def decode(theirs: Any, data: bytes) -> Any:
    entity, end = entity_reader(theirs)(data, 0)
    assert end == len(data)
    return entity


def encode(entity: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def our_shape(cls: type, version: int) -> tuple[Shape, ...]:
    shapes = []
    for field in fields_of(cls):
        if not field.present(version):
            continue
        if isinstance(field.kind, type):
            name, inner = "struct", our_shape(field.kind, version)
        else:
            name, inner = field.kind.name, ()
        nullable = field.nullable(version)
        shapes.append(Shape(field.name, name, field.is_array, nullable, field.tag, inner))
    return tuple(shapes)


def their_shape(theirs: Any) -> tuple[Shape, ...]:
    shapes = []
    for field in dataclasses.fields(theirs):
        hint: Any = field.type
        nullable = NoneType in get_args(hint)
        if nullable:
            (hint,) = (arg for arg in get_args(hint) if arg is not NoneType)
        is_array = get_origin(hint) is tuple
        if is_array:
            hint = get_args(hint)[0]
        is_struct = dataclasses.is_dataclass(hint)
        kafka_type = field.metadata.get("kafka_type", "struct")
        shapes.append(
            Shape(
                _wire_name(field.name, kafka_type),
                _PLAIN_TYPE.get(kafka_type, kafka_type),
                is_array,
                # Of these kio says "or None" for a value that means none: zero, or minus one.
                nullable and kafka_type not in {"uuid", "datetime_i64"},
                field.metadata.get("tag"),
                their_shape(hint) if is_struct else (),
            )
        )
    return tuple(shapes)


def _wire_name(name: str, kafka_type: str) -> str:
    is_time = kafka_type.startswith(("timedelta", "datetime"))
    return name + "_ms" if is_time and not name.endswith("_ms") else name


def default_complaints(cls: type, theirs: Any, version: int) -> list[str]:
    """Fields whose default differs; where kio has none, ours may be the implicit one."""
    complaints = []
    present = [field for field in fields_of(cls) if field.present(version)]
    for field, their_field in zip(present, dataclasses.fields(theirs), strict=True):
        ours = _our_default(field)
        if their_field.default is not dataclasses.MISSING:
            expected = [plain(their_field.default, their_field.metadata.get("kafka_type"))]
            if field.is_array:  # kio has every list of numbers begin empty; ours may ask for it
                expected.append(MISSING)
        else:
            expected = [MISSING, *_implicit_defaults(field, version)]
        if ours not in expected:
            complaints.append(f"{cls.__name__}.{field.name}: {ours!r}, expected {expected!r}")
        if isinstance(field.kind, type):
            inner: Any = _struct_in(their_field.type)
            complaints += default_complaints(field.kind, inner, version)
    return complaints


def _our_default(field: FieldSpec) -> Any:
    if field.default is None and field.tag is not None and isinstance(field.kind, type):
        return plain(field.kind())  # left out means: a struct of defaults
    return field.default if field.default is MISSING else plain(field.default)


def _implicit_defaults(field: FieldSpec, version: int) -> list[Any]:
    if field.is_array:  # an array that may be null begins empty nevertheless
        return [[], None] if field.nullable(version) else [[]]
    if field.nullable(version):
        return [None]
    # A struct field that only newer versions have is absent here and cannot be judged.
    return [0, "", False, plain(ZERO_UUID)]


def _struct_in(hint: Any) -> Any:
    if dataclasses.is_dataclass(hint):
        return hint
    return next(found for arg in get_args(hint) if (found := _struct_in(arg)) is not None)


def plain(value: Any, kafka_type: str | None = None) -> Any:
    """A value of either side without the dress."""
    if value is None:
        return {"uuid": plain(ZERO_UUID), "datetime_i64": -1}.get(kafka_type or "")
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(milliseconds=1)
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH) // datetime.timedelta(milliseconds=1)
    if isinstance(value, UUID):
        return value.hex
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bytes, memoryview)):
        return bytes(value)
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return _plain_struct(value)
    raise TypeError(type(value))


def _plain_struct(value: Any) -> dict[str, Any]:
    """Fields by name; what the wire cannot tell apart is made equal."""
    out = {}
    for field in dataclasses.fields(value):
        if field.name == "unknown_tags":
            continue
        kafka_type = field.metadata.get("kafka_type")
        out[_wire_name(field.name, kafka_type or "")] = plain(
            getattr(value, field.name), kafka_type
        )
    return out


def plain_message(message: Any, version: int) -> dict[str, Any]:
    """Our message without the fields that this version does not carry."""
    out: dict[str, Any] = {}
    cls: type = type(message)
    for field in fields_of(cls):
        if field.present(version):
            out[field.name] = _plain_field(field, getattr(message, field.name), version)
    return out


def _plain_field(field: FieldSpec, value: Any, version: int) -> Any:
    if not isinstance(field.kind, type):
        return plain(value)
    if field.is_array:
        return None if value is None else [plain_message(item, version) for item in value]
    if value is None and field.tag is not None:
        value = field.kind()
    return None if value is None else plain_message(value, version)
