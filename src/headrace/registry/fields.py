"""Names of top-level fields, for the checks that `validateFields` switches on.

Names that begin with `$$` are kept for clients. A schema can also reserve names in its metadata
(`confluent:reserved`): they must not come back as fields, and must stay reserved.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from headrace.registry import errors
from headrace.registry.entities import Metadata
from headrace.schemas.model import ParsedSchema, SchemaType

RESERVED_PROPERTY: Final = "confluent:reserved"
# One field of a Protobuf message in canonical text: label, type, name, number.
_PROTOBUF_FIELD: Final = re.compile(r"^  (?:\w+ )?[\w.<>, ]+ (\w+) = \d+", re.MULTILINE)


def top_level_fields(schema: ParsedSchema) -> set[str]:
    """The names of the fields of the outermost record, object or messages."""
    if schema.type is SchemaType.PROTOBUF:
        return set(_PROTOBUF_FIELD.findall(schema.text))
    outermost: Any = json.loads(schema.text)
    if not isinstance(outermost, dict):
        return set()
    if schema.type is SchemaType.JSON:
        properties = outermost.get("properties")
        return set(properties) if isinstance(properties, dict) else set()
    fields = outermost.get("fields")
    return {each["name"] for each in fields} if isinstance(fields, list) else set()


def check_field_names(schema: ParsedSchema) -> None:
    """42201 for names that clients keep for themselves."""
    bad = sorted(name for name in top_level_fields(schema) if name.startswith("$$"))
    if bad:
        raise errors.invalid_schema(f"Invalid schema, details: field {bad[0]} begins with '$$'")


def reserved_fields(metadata: Metadata | None) -> set[str]:
    """The names that a schema's metadata reserves."""
    text = (metadata.properties or {}).get(RESERVED_PROPERTY, "") if metadata is not None else ""
    return {name.strip() for name in text.split(",") if name.strip()}
