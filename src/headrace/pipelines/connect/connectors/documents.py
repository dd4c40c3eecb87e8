"""Values of records as targets take them that know no schemas: JSON text, plain bytes, a field."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.pipelines.connect.converters.json.writing import text_of
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import java_text
from headrace.pipelines.connect.model.schema import Schema, Struct

Fields = Sequence[tuple[str, str]]
"""Paths of fields, with the names that they get."""


def json_of(schema: Schema | None, value: object) -> str:
    """The value as JSON; decimals are numbers, bytes are base64."""
    return text_of(schema, value, numeric=True, defaults=False)


def payload_of(schema: Schema | None, value: object, fields: Fields = ()) -> bytes:
    """Bytes and strings as they are, anything else as JSON; of `fields` only, if there are any."""
    if fields:
        return selected(schema, value, fields).encode()
    if value is None or isinstance(value, bytes):
        return value or b""
    return (value if isinstance(value, str) else json_of(schema, value)).encode()


def selected(schema: Schema | None, value: object, fields: Fields) -> str:
    """A JSON object of some fields."""
    parts = []
    for path, name in fields:
        inner, found = field_of(schema, value, path)
        text = "null" if found is None else json_of(inner, found)
        parts.append(f"{json_of(None, name)}:{text}")
    return f"{{{','.join(parts)}}}"


def field_of(schema: Schema | None, value: object, path: str) -> tuple[Schema | None, object]:
    """The field that `path` leads to (`a.b`), with its schema; DataException if there is none."""
    for name in path.split("."):
        if isinstance(value, Struct):
            found = value.schema.field(name)
            if found is None:
                raise DataException(f"the value has no field {name} of {path}")
            schema, value = found.schema, value[name]
        elif isinstance(value, dict) and name in value:
            schema, value = (None if schema is None else schema.values), value[name]
        else:
            raise DataException(f"the value has no field {name} of {path}")
    return schema, value


def key_text(schema: Schema | None, value: object, paths: Sequence[str], joint: str = ".") -> str:
    """Fields as one text, which names a record in the target."""
    found = [field_of(schema, value, path) for path in paths]
    return joint.join([java_text.text_of(each, inner) for inner, each in found])
