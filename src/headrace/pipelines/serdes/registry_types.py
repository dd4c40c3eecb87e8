"""The Spark type that a JSON Schema describes.

    JSON SCHEMA                                  SPARK
    object with properties                       struct
    object with a schema for other properties    map<string, …>
    array with one schema for its items          array
    integer, number, boolean, string             bigint, double, boolean, string
    one of these or null                         the same
    anything else                                string: the JSON text itself

Constraints do not matter here, nor does what is required: every field of a column may be null. A
schema that refers to itself becomes text where it does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

MAX_DEPTH: Final = 64
_SIMPLE: Final[Mapping[str, DataType]] = {
    "integer": LongType(),
    "number": DoubleType(),
    "boolean": BooleanType(),
    "string": StringType(),
}
_TEXT: Final = StringType()


def type_of_json_schema(text: str) -> ArrayType | MapType | StructType | StringType:
    """The type of the values; one that is no object and no array is read as its text."""
    root = json.loads(text)
    found = _type(root, root, ())
    if isinstance(found, ArrayType | MapType | StructType):
        return found
    return _TEXT


def _type(schema: Any, root: Any, above: tuple[str, ...]) -> DataType:
    if not isinstance(schema, dict) or len(above) > MAX_DEPTH:
        return _TEXT
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target = None if reference in above else _find(root, reference)
        return _TEXT if target is None else _type(target, root, (*above, reference))
    above = (*above, "")
    for word in ("oneOf", "anyOf"):
        choices = schema.get(word)
        if isinstance(choices, list):
            real = [each for each in choices if each != {"type": "null"}]
            return _type(real[0], root, above) if len(real) == 1 else _TEXT
    kind = schema.get("type")
    if isinstance(kind, list):
        real = [each for each in kind if each != "null"]
        kind = real[0] if len(real) == 1 else None
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, root, above)
    if kind == "array":
        items = schema.get("items")
        return ArrayType(_type(items, root, above)) if isinstance(items, dict) else _TEXT
    return _SIMPLE.get(kind, _TEXT) if isinstance(kind, str) else _TEXT


def _object(schema: dict[str, Any], root: Any, above: tuple[str, ...]) -> DataType:
    properties = schema.get("properties")
    if isinstance(properties, dict) and properties:
        return StructType(
            [StructField(name, _type(each, root, above)) for name, each in properties.items()]
        )
    others = schema.get("additionalProperties")
    return MapType(StringType(), _type(others, root, above)) if isinstance(others, dict) else _TEXT


def _find(root: Any, reference: str) -> Any:
    """What a reference inside of the document points to; None if it points elsewhere."""
    if not reference.startswith("#"):
        return None
    place = root
    for step in filter(None, unquote(reference[1:]).split("/")):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(place, dict) or key not in place:
            return None
        place = place[key]
    return place
