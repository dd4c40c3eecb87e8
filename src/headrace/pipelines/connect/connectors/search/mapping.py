"""The mapping of an index, from a record's schema."""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema, Type

_KINDS: Final = {
    Type.INT8: "byte",
    Type.INT16: "short",
    Type.INT32: "integer",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.BYTES: "binary",
}
_LOGICAL: Final = {
    schemas.DECIMAL: "double",
    schemas.DATE: "date",
    schemas.TIME: "date",
    schemas.TIMESTAMP: "date",
}
_KEYWORD_CHARACTERS: Final = 256


def mapping_of(schema: Schema) -> dict[str, object]:
    """What a field of this schema is in an index; text can be searched and compared as a whole."""
    if schema.name in _LOGICAL:
        return {"type": _LOGICAL[schema.name]}
    if schema.type is Type.STRUCT:
        return {"properties": {part.name: mapping_of(part.schema) for part in schema.fields}}
    if schema.type is Type.ARRAY:
        return mapping_of(schema.item)
    if schema.type is Type.MAP:
        return {"type": "object"}
    if schema.type is Type.STRING:
        keyword = {"type": "keyword", "ignore_above": _KEYWORD_CHARACTERS}
        return {"type": "text", "fields": {"keyword": keyword}}
    return {"type": _KINDS[schema.type]}
