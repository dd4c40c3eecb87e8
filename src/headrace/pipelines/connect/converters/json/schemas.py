"""Schemas in JSON: the `schema` half of an envelope, which state topics and the REST API have too.

`schema_of` reads one and `json_of` writes it, in the order of keys that Connect gives them. Knows
nothing of settings but whether a null stands for its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.pipelines.connect.converters.json.parsing import Json
from headrace.pipelines.connect.converters.json.reading import as_int32, value_of
from headrace.pipelines.connect.converters.json.writing import text_of as text_of_value
from headrace.pipelines.connect.converters.json.writing import text_of_json
from headrace.pipelines.connect.faults import DataException, SchemaBuilderException
from headrace.pipelines.connect.model.schema import Field, Schema, Type

_NAMES: Final[Mapping[Type, str]] = {
    kind: {Type.FLOAT32: "float", Type.FLOAT64: "double"}.get(kind, kind.value) for kind in Type
}
_TYPES: Final = {name: kind for kind, name in _NAMES.items()}


def text_of(schema: Schema | None, *, numeric: bool = False, defaults: bool = True) -> str:
    """The schema as JSON text. `numeric` and `defaults` are as for values."""
    return "null" if schema is None else _object_of(schema, numeric, defaults, ())


def _object_of(schema: Schema, numeric: bool, defaults: bool, more: tuple[str, ...]) -> str:
    said = [f'"type":"{_NAMES[schema.type]}"']
    if schema.type is Type.STRUCT:
        fields = [
            _object_of(field.schema, numeric, defaults, (f'"field":{text_of_json(field.name)}',))
            for field in schema.fields
        ]
        said.append(f'"fields":[{",".join(fields)}]')
    elif schema.type is Type.ARRAY:
        said.append(f'"items":{_object_of(schema.item, numeric, defaults, ())}')
    elif schema.type is Type.MAP:
        said.append(f'"keys":{_object_of(schema.key, numeric, defaults, ())}')
        said.append(f'"values":{_object_of(schema.item, numeric, defaults, ())}')
    said.append(f'"optional":{"true" if schema.optional else "false"}')
    for name, about in (("name", schema.name), ("version", schema.version), ("doc", schema.doc)):
        if about is not None:
            said.append(f'"{name}":{text_of_json(about)}')
    if schema.parameters is not None:
        said.append(f'"parameters":{text_of_json(dict(schema.parameters))}')
    if schema.default is not None:
        default = text_of_value(schema, schema.default, numeric=numeric, defaults=defaults)
        said.append(f'"default":{default}')
    return f"{{{','.join((*said, *more))}}}"


def schema_of(given: Json, *, defaults: bool = True) -> Schema | None:
    """The schema that JSON says; null is no schema. DataException if it cannot be one."""
    if given is None:
        return None
    named = given.get("type") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(named, str):
        raise DataException("Schema must contain 'type' field")
    kind = _TYPES.get(named)
    if kind is None:
        raise DataException(f"Unknown schema type: {named}")
    made = _shaped(kind, given, defaults)
    if "default" in given:
        value = value_of(made, given["default"], defaults=defaults)
        if value is None and not made.optional:
            raise SchemaBuilderException("Invalid default value")
        try:
            made = made.but(default=value)
        except SchemaBuilderException:
            raise
        except DataException as error:
            raise SchemaBuilderException("Invalid default value") from error
    return made


def _shaped(kind: Type, given: dict[str, Json], defaults: bool) -> Schema:
    name, version, doc = given.get("name"), given.get("version"), given.get("doc")
    keys, values = _parts(kind, given, defaults)
    return Schema(
        kind,
        given.get("optional") is True,
        None,
        name if isinstance(name, str) else None,
        as_int32(version) if isinstance(version, int) and not isinstance(version, bool) else None,
        doc if isinstance(doc, str) else None,
        _parameters(given.get("parameters")),
        _fields(given.get("fields"), defaults) if kind is Type.STRUCT else (),
        keys,
        values,
    )


def _parts(
    kind: Type, given: dict[str, Json], defaults: bool
) -> tuple[Schema | None, Schema | None]:
    """The schemas of the keys and values of a map, or of the items of an array."""
    if kind is Type.ARRAY:
        if given.get("items") is None:
            raise DataException("Array schema did not specify the element type")
        return None, schema_of(given["items"], defaults=defaults)
    if kind is Type.MAP:
        for part, told in (("keys", "key"), ("values", "value")):
            if part not in given:
                raise DataException(f"Map schema did not specify the {told} type")
        keys = schema_of(given["keys"], defaults=defaults)
        return keys, schema_of(given["values"], defaults=defaults)
    return None, None


def _fields(given: Json, defaults: bool) -> tuple[Field, ...]:
    if not isinstance(given, list):
        raise DataException('Struct schema\'s "fields" argument is not an array.')
    fields = []
    for part in given:
        name = part.get("field") if isinstance(part, dict) else None
        if not isinstance(name, str):
            raise DataException("Struct schema's field name not specified properly")
        schema = schema_of(part, defaults=defaults)
        assert schema is not None
        fields.append(Field(name, schema))
    return tuple(fields)


def _parameters(given: Json) -> Mapping[str, str] | None:
    if not isinstance(given, dict) or not given:
        return None
    made: dict[str, str] = {}
    for name, text in given.items():
        if not isinstance(text, str):
            raise DataException("Schema parameters must have string values.")
        made[name] = text
    return made
