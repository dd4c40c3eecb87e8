"""Connect's structs as Protobuf's messages and back."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from google.protobuf import message_factory

from headrace.pipelines.connect.converters.registry.protobuf_schemas import (
    is_map,
    is_repeated,
    wrapper_of,
)
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.logical import (
    decimal_bytes,
    decimal_of,
    milliseconds_of,
    timestamp_of,
)
from headrace.pipelines.connect.model.schema import Schema, Struct, Type


def new_message(descriptor: Any) -> Any:
    """An empty message."""
    return message_factory.GetMessageClass(descriptor)()


def fill(message: Any, value: Struct) -> None:
    """Write a struct's values into a message; fields that it has not stay empty."""
    for each in message.DESCRIPTOR.fields:
        field = value.schema.field(each.name)
        item = None if field is None else value[each.name]
        if field is None or item is None:
            continue
        try:
            _put(message, each, field.schema, item)
        except (TypeError, ValueError) as error:
            raise DataException(f"the field {each.full_name} cannot hold {item!r}") from error


def _put(message: Any, each: Any, schema: Schema, value: Any) -> None:
    held = getattr(message, each.name)
    if is_map(each):
        for key, item in value.items():
            if item is None:
                raise DataException(f"Protobuf's maps hold no null, as {each.full_name} would")
            if each.message_type.fields_by_name["value"].message_type is None:
                held[key] = item
            else:
                _fill_message(held[key], schema.item, item)
    elif is_repeated(each):
        for item in value:
            if item is None:
                raise DataException(f"Protobuf's lists hold no null, as {each.full_name} would")
            if each.message_type is None:
                held.append(item)
            else:
                _fill_message(held.add(), schema.item, item)
    elif wrapper_of(each) is not None and schema.type is not Type.STRUCT:
        held.value = value
        held.SetInParent()
    elif each.message_type is not None:
        _fill_message(held, schema, value)
    elif each.enum_type is not None:
        setattr(message, each.name, each.enum_type.values_by_name[value].number)
    else:
        setattr(message, each.name, value)


def _fill_message(message: Any, schema: Schema, value: Any) -> None:
    message.SetInParent()
    if isinstance(value, Struct):
        fill(message, value)
    elif isinstance(value, Decimal):
        message.value = decimal_bytes(schema, value)
        message.precision = len(value.as_tuple().digits)
        message.scale = schema.scale
    elif isinstance(value, datetime.datetime):
        message.seconds, rest = divmod(milliseconds_of(value), 1000)
        message.nanos = rest * 1_000_000
    elif isinstance(value, datetime.date):
        message.year, message.month, message.day = value.year, value.month, value.day
    elif isinstance(value, datetime.time):
        message.hours, message.minutes, message.seconds = value.hour, value.minute, value.second
        message.nanos = value.microsecond // 1000 * 1_000_000
    else:
        raise TypeError(value)


def struct_of(message: Any, schema: Schema) -> Struct:
    """The struct of a message."""
    pairs = zip(message.DESCRIPTOR.fields, schema.fields, strict=True)
    return Struct(schema, [_taken(message, each, field.schema) for each, field in pairs])


def _taken(message: Any, each: Any, schema: Schema) -> object:
    held = getattr(message, each.name)
    if is_map(each):
        item = each.message_type.fields_by_name["value"]
        return {key: _single(item, schema.item, part) for key, part in held.items()}
    if is_repeated(each):
        return [_single(each, schema.item, part) for part in held]
    if each.has_presence and not message.HasField(each.name):
        return None if schema.optional else _single(each, schema, held)
    return _single(each, schema, held)


def _single(each: Any, schema: Schema, held: Any) -> object:
    if schema.name == schemas.DECIMAL:
        return decimal_of(schema, held.value or b"\0")
    if schema.name == schemas.TIMESTAMP:
        return timestamp_of(held.seconds * 1000 + held.nanos // 1_000_000)
    if schema.name == schemas.DATE:
        return datetime.date(held.year or 1, held.month or 1, held.day or 1)
    if schema.name == schemas.TIME:
        return datetime.time(held.hours, held.minutes, held.seconds, held.nanos // 1000)
    if schema.type is Type.STRUCT:
        return struct_of(held, schema)
    if each.enum_type is not None:
        known = each.enum_type.values_by_number.get(held)
        return str(held) if known is None else known.name
    if wrapper_of(each) is not None:
        held = held.value
    return held
