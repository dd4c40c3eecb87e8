"""Connect's schemas as JSON Schema and back, with Confluent's properties for what that cannot say.

| Connect | JSON Schema |
|---|---|
| INT8 … INT64, FLOAT32, FLOAT64 | integer, number with `connect.type` |
| BYTES, Decimal | string, number with `connect.type` bytes |
| optional | `oneOf` with null |
| MAP | object with `additionalProperties`, or an array of objects of `key` and `value` |
| STRUCT | object; `connect.index` keeps the order of its fields |
| name, doc, version, parameters | `title`, `description`, `connect.version`, `connect.parameters` |

An alternative of several types is a struct with one optional field for each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from headrace.pipelines.connect.converters.json.parsing import Json, value_at
from headrace.pipelines.connect.converters.json.reading import value_of
from headrace.pipelines.connect.converters.json.writing import text_of as value_text
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Field, Schema, Type

ONE_OF: Final = "io.confluent.connect.json.OneOf"
ENUM: Final = "org.apache.kafka.connect.data.Enum"
_NULL: Final[dict[str, object]] = {"type": "null"}
_TYPES: Final = {
    Type.INT8: "integer",
    Type.INT16: "integer",
    Type.INT32: "integer",
    Type.INT64: "integer",
    Type.FLOAT32: "number",
    Type.FLOAT64: "number",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "string",
}
_UNSAID: Final = frozenset((Type.BOOLEAN, Type.STRING))


@dataclass(frozen=True, slots=True)
class JsonSchemaOptions:
    """`closed` objects have no other properties; `nonrequired` ones are optional; `numeric` writes
    decimals as numbers."""

    closed: bool = False
    nonrequired: bool = False
    numeric: bool = False


def text_of(schema: Schema, options: JsonSchemaOptions) -> str:
    """The JSON Schema of a Connect schema."""
    return json.dumps(_written(schema, options))


def _written(schema: Schema, options: JsonSchemaOptions, index: int | None = None) -> object:
    place = {} if index is None else {"connect.index": index}
    base = _base(schema, options) | _said(schema, options)
    if schema.optional:
        return {"oneOf": [_NULL, base], **place}
    return base | place


def _base(schema: Schema, options: JsonSchemaOptions) -> dict[str, object]:
    if schema.type is Type.ARRAY:
        return {"type": "array", "items": _written(schema.item, options)}
    if schema.type is Type.MAP:
        if schema.key.type is Type.STRING and not schema.key.optional:
            values = _written(schema.item, options)
            return {"type": "object", "connect.type": "map", "additionalProperties": values}
        properties = {
            "key": _written(schema.key, options, 0),
            "value": _written(schema.item, options, 1),
        }
        entry = {"type": "object", "properties": properties}
        return {"type": "array", "connect.type": "map", "items": entry}
    if schema.type is Type.STRUCT:
        properties = {
            field.name: _written(field.schema, options, index)
            for index, field in enumerate(schema.fields)
        }
        closed = {"additionalProperties": False} if options.closed else {}
        return {"type": "object", "properties": properties, **closed}
    if schema.name == schemas.DECIMAL:
        return {"type": "number", "connect.type": "bytes"}
    if schema.type in _UNSAID:
        return {"type": _TYPES[schema.type]}
    return {"type": _TYPES[schema.type], "connect.type": schema.type.value}


def _said(schema: Schema, options: JsonSchemaOptions) -> dict[str, object]:
    said: dict[str, object] = {}
    if schema.name is not None:
        said["title"] = schema.name
    if schema.doc is not None:
        said["description"] = schema.doc
    if schema.version is not None:
        said["connect.version"] = schema.version
    if schema.parameters:
        said["connect.parameters"] = dict(schema.parameters)
    if schema.default is not None:
        plain = pairs_of(schema)
        text = value_text(plain, pairs_value(schema, schema.default), numeric=False, defaults=False)
        said["default"] = json.loads(text)
    return said


# --- maps whose keys are not strings, as arrays of structs ---


def pairs_of(schema: Schema) -> Schema:
    """The schema in which such maps are arrays of structs of a key and a value."""
    plain = schema.but(default=None)
    if schema.type is Type.ARRAY:
        return plain.but(values=pairs_of(schema.item))
    if schema.type is Type.STRUCT:
        fields = tuple(Field(each.name, pairs_of(each.schema)) for each in schema.fields)
        return plain.but(fields=fields)
    if schema.type is not Type.MAP:
        return plain
    item = pairs_of(schema.item)
    if schema.key.type is Type.STRING and not schema.key.optional:
        return plain.but(values=item)
    entry = schemas.struct({"key": pairs_of(schema.key), "value": item})
    return schemas.array(entry, optional=schema.optional)


def pairs_value(schema: Schema, value: object) -> object:
    """A value of that schema. A null is its default."""
    if value is None:
        value = schema.default
    if isinstance(value, list):
        return [pairs_value(schema.item, item) for item in value]
    if isinstance(value, schemas.Struct):
        held = zip(value.schema.fields, value.values, strict=True)
        made = pairs_of(value.schema.but(optional=schema.optional))
        return schemas.Struct(made, [pairs_value(field.schema, item) for field, item in held])
    if not isinstance(value, dict):
        return value
    if schema.key.type is Type.STRING and not schema.key.optional:
        return {key: pairs_value(schema.item, item) for key, item in value.items()}
    entry = pairs_of(schema).item
    return [
        schemas.Struct(entry, [pairs_value(schema.key, key), pairs_value(schema.item, item)])
        for key, item in value.items()
    ]


def value_from_pairs(schema: Schema, value: object) -> object:
    """The value of which `pairs_value` made this."""
    if isinstance(value, schemas.Struct):
        held = zip(schema.fields, value.values, strict=True)
        return schemas.Struct(schema, [value_from_pairs(f.schema, item) for f, item in held])
    if isinstance(value, dict):
        return {key: value_from_pairs(schema.item, item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    if schema.type is Type.ARRAY:
        return [value_from_pairs(schema.item, item) for item in value]
    return {
        value_from_pairs(schema.key, entry["key"]): value_from_pairs(schema.item, entry["value"])
        for entry in value
    }


# --- from JSON Schema ---


def schema_of(root: object, options: JsonSchemaOptions) -> Schema:
    """The Connect schema of a JSON Schema, whose references lead into itself."""
    return _Reader(root, options).type(root, ())


@dataclass(frozen=True, slots=True)
class _Reader:
    root: object
    options: JsonSchemaOptions

    def type(self, given: object, path: tuple[str, ...]) -> Schema:
        if not isinstance(given, dict):
            raise DataException(f"a JSON Schema of {given} has no Connect schema: it says no type")
        reference = given.get("$ref")
        if isinstance(reference, str):
            if reference in path:
                raise DataException(f"{reference} contains itself, which no Connect schema can")
            return self.type(self._found(reference), (*path, reference))
        several = given.get("oneOf") or given.get("anyOf")
        if isinstance(several, list):
            return self._one_of(several, given, path)
        kinds = given.get("type")
        if isinstance(kinds, list):
            return self._one_of([given | {"type": kind} for kind in kinds], {}, path)
        return self._described(given, path)

    def _found(self, reference: str) -> object:
        if not reference.startswith("#"):
            raise DataException(f"the reference {reference} leads out of the schema: bundle it")
        at = self.root
        for part in filter(None, reference[1:].split("/")):
            name = part.replace("~1", "/").replace("~0", "~")
            at = at.get(name) if isinstance(at, dict) else None
        return at

    def _one_of(
        self, several: list[object], around: Mapping[str, object], path: tuple[str, ...]
    ) -> Schema:
        others = [each for each in several if each != _NULL and _kind(each) != "null"]
        optional = len(others) < len(several)
        if len(others) == 1:
            return self.type(others[0], path).but(optional=optional)
        fields = [
            Field(f"{ONE_OF}.field.{index}", self.type(each, path).but(optional=True))
            for index, each in enumerate(others)
        ]
        return Schema(Type.STRUCT, optional=optional, name=ONE_OF, fields=tuple(fields))

    def _described(self, given: dict[str, object], path: tuple[str, ...]) -> Schema:
        made = self._base(given, path)
        title, about = given.get("title"), given.get("description")
        version, parameters = given.get("connect.version"), given.get("connect.parameters")
        made = made.but(
            name=title if isinstance(title, str) else None,
            doc=about if isinstance(about, str) else None,
            version=version if isinstance(version, int) else None,
        )
        if isinstance(parameters, dict):
            told = {name: str(text) for name, text in parameters.items()}
            made = made.but(parameters={**(made.parameters or {}), **told})
        default = given.get("default")
        if default is None:
            return made
        plain = value_of(pairs_of(made), _exact(default), defaults=False)
        return made.but(default=value_from_pairs(made, plain))

    def _base(self, given: dict[str, object], path: tuple[str, ...]) -> Schema:
        kind, told = given.get("type"), given.get("connect.type")
        if kind == "array":
            if told == "map":
                entry = self.type(given.get("items"), path)
                return schemas.map_of(entry.fields[0].schema, entry.fields[1].schema)
            return schemas.array(self.type(given.get("items"), path))
        if kind == "object" or "properties" in given:
            more = given.get("additionalProperties")
            if told == "map" or ("properties" not in given and isinstance(more, dict)):
                return schemas.map_of(schemas.STRING, self.type(more, path))
            return self._struct(given, path)
        symbols = given.get("enum")
        if isinstance(symbols, list) and all(isinstance(each, str) for each in symbols):
            parameters = {ENUM: "", **{f"{ENUM}.{each}": str(each) for each in symbols}}
            return Schema(Type.STRING, parameters=parameters)
        if isinstance(told, str) and told in _BY_NAME:
            return Schema(_BY_NAME[told])
        if isinstance(kind, str) and kind in _PLAIN:
            return _PLAIN[kind]
        raise DataException(f"a JSON Schema of type {kind} has no Connect schema")

    def _struct(self, given: dict[str, object], path: tuple[str, ...]) -> Schema:
        properties, required = given.get("properties"), given.get("required")
        fields: list[tuple[int, Field]] = []
        for place, (name, part) in enumerate((properties or {}).items()):  # type: ignore[attr-defined]
            made = self.type(part, path)
            needed = isinstance(required, list) and name in required
            if self.options.nonrequired and not needed:
                made = made.but(optional=True)
            index = part.get("connect.index", place) if isinstance(part, dict) else place
            fields.append((index, Field(name, made)))
        ordered = sorted(fields, key=lambda pair: pair[0])
        return Schema(Type.STRUCT, fields=tuple(field for _, field in ordered))


def _kind(given: object) -> object:
    return given.get("type") if isinstance(given, dict) else None


def _exact(given: object) -> Json:
    """Parsed JSON in which numbers with a fraction have all of their digits."""
    return value_at(json.dumps(given, default=_digits), 0)[0]


def _digits(number: object) -> object:
    if isinstance(number, Decimal):
        return float(number)
    raise TypeError(number)


_BY_NAME: Final = {kind.value: kind for kind in Type if kind.is_primitive}
_PLAIN: Final = {
    "integer": schemas.INT64,
    "number": schemas.FLOAT64,
    "boolean": schemas.BOOLEAN,
    "string": schemas.STRING,
    "null": schemas.OPTIONAL_STRING,
}
