"""Tags inside a schema: `"confluent:tags": ["PII"]` beside the place that they are about.

A place is named by the path of names that lead to it, `Customer.address.Address.street` in Avro and
`object.address.object.street` in JSON Schema, and is a record or a field. Protobuf keeps its tags
in options of the descriptor; there they are changed by registering a new text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from headrace.registry import errors
from headrace.registry.entities import SchemaEntity, SchemaTags
from headrace.schemas.model import SchemaType

TAGS: Final = "confluent:tags"
RECORD: Final = "sr_record"
FIELD: Final = "sr_field"

Place = tuple[str, str, dict[str, Any]]
"""Path, kind, and the JSON object that holds the tags."""


def inline_tags(kind: SchemaType, text: str) -> list[SchemaTags]:
    """All places of a schema that carry tags."""
    if kind is SchemaType.PROTOBUF or TAGS not in text:
        return []
    try:
        places = list(_places(kind, json.loads(text)))
    except (ValueError, RecursionError):
        return []  # Whatever an import brought here, it has no places that could be named.
    found = []
    for path, entity_type, node in places:
        tags = node.get(TAGS)
        if isinstance(tags, list) and tags:
            names = sorted({str(each) for each in tags})
            found.append(SchemaTags(SchemaEntity(path, entity_type), names))
    return found


def changed_tags(
    schema_type: str | None,
    text: str,
    add: Sequence[SchemaTags],
    remove: Sequence[SchemaTags],
) -> str:
    """The text with tags added and removed; 42201 for a place that the schema does not have."""
    if not add and not remove:
        return text
    if schema_type == SchemaType.PROTOBUF:
        raise errors.invalid_schema(
            "Invalid schema, details: tags of a Protobuf schema are changed by registering a text "
            "with other options"
        )
    kind = SchemaType.JSON if schema_type == SchemaType.JSON else SchemaType.AVRO
    try:
        tree = json.loads(text)
        places = {(path, entity): node for path, entity, node in _places(kind, tree)}
    except (ValueError, RecursionError) as fault:
        raise errors.invalid_schema(f"Invalid schema, details: {fault}") from fault
    for change, is_added in ((add, True), (remove, False)):
        for wish in change:
            entity = wish.schema_entity
            key = (entity.entity_path.lstrip("."), entity.entity_type.lower())
            node = places.get(key)
            if node is None:
                raise errors.invalid_schema(
                    f"Invalid schema, details: there is no {key[1]} at '{entity.entity_path}'"
                )
            _change(node, wish.tags, is_added=is_added)
    return json.dumps(tree, separators=(",", ":"), ensure_ascii=False)


def _change(node: dict[str, Any], tags: Sequence[str], *, is_added: bool) -> None:
    old = node.get(TAGS)
    before = {str(each) for each in old} if isinstance(old, list) else set()
    after = before | set(tags) if is_added else before - set(tags)
    if after:
        node[TAGS] = sorted(after)
    else:
        node.pop(TAGS, None)


def _places(kind: SchemaType, tree: Any) -> Iterator[Place]:
    yield from _avro_places("", tree) if kind is SchemaType.AVRO else _json_places("", tree)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _avro_places(path: str, node: Any) -> Iterator[Place]:
    if isinstance(node, list):
        for branch in node:
            yield from _avro_places(path, branch)
    if not isinstance(node, dict):
        return
    kind = node.get("type")
    if kind in ("record", "error") and isinstance(node.get("fields"), list):
        inner = _joined(path, str(node.get("name")).rpartition(".")[2])
        yield inner, RECORD, node
        for field in node["fields"]:
            if isinstance(field, dict):
                name = _joined(inner, str(field.get("name")))
                yield name, FIELD, field
                yield from _avro_places(name, field.get("type"))
        return
    for each in ("items", "values", "type"):
        if isinstance(node.get(each), dict | list):
            yield from _avro_places(path, node[each])


def _json_places(path: str, node: Any) -> Iterator[Place]:
    if not isinstance(node, dict):
        return
    properties = node.get("properties")
    if isinstance(properties, dict):
        inner = _joined(path, "object")
        yield inner, RECORD, node
        for name, field in properties.items():
            if isinstance(field, dict):
                yield _joined(inner, name), FIELD, field
                yield from _json_places(_joined(inner, name), field)
    for each in ("items", "additionalProperties"):
        yield from _json_places(path, node.get(each))
    for each in ("allOf", "anyOf", "oneOf"):
        branches = node.get(each)
        for branch in branches if isinstance(branches, list) else ():
            yield from _json_places(path, branch)
