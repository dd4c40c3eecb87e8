"""A schema with its references inside: one document that needs no other.

Each referred document moves under the definitions of the root, and every `$ref` that leads out of
its document, or stands in one that moved, is written anew as a pointer from the root.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from headrace.schemas.json_schema.documents import Document, Documents, Node, Place
from headrace.schemas.json_schema.drafts import Schema


def bundled(documents: Documents) -> Schema:
    """The root with all that it refers to; the root itself where it refers to nothing."""
    root = documents.root.schema
    if not documents.references or not isinstance(root, dict):
        return root
    keyword = "definitions" if documents.root.draft.reference_stands_alone else "$defs"
    taken = root.get(keyword, {})
    keys = {"": ""}
    for each in documents.references:
        keys[each.name] = _free_key(each.name, {*taken, *keys.values()})
    moved = {
        keys[each.name]: _rewritten(each, documents, keyword, keys) for each in documents.references
    }
    result = _rewritten(documents.root, documents, keyword, keys)
    assert isinstance(result, dict)
    return {**result, keyword: {**result.get(keyword, {}), **moved}}


def _rewritten(
    document: Document, documents: Documents, keyword: str, keys: dict[str, str]
) -> Schema:
    """A copy of the document whose references are right at its new place."""
    is_moved = document is not documents.root

    def copy(node: Node) -> Schema:
        schema = node.schema
        if not isinstance(schema, dict):
            return schema
        result: dict[str, Any] = {
            name: value.copy() if isinstance(value, (dict, list)) else value
            for name, value in schema.items()
        }
        for (container, *key), sub in node.draft.subschemas(schema):
            replaced = copy(node.child(sub))
            if not key:
                result[container] = replaced
            else:
                at = int(key[0]) if isinstance(schema[container], list) else key[0]
                result[container][at] = replaced
        if is_moved:
            result.pop(node.draft.id_keyword, None)
            result.pop("$schema", None)
        return _with_reference(result, node)

    def _with_reference(result: dict[str, Any], node: Node) -> Schema:
        reference, target = node.draft.reference(node.schema), node.target()
        if reference is None or target is None:
            return result
        if isinstance(target.schema, bool):  # it has no place of its own that could be pointed at
            return (
                target.schema if node.draft.reference_stands_alone else {"not": not target.schema}
            )
        place = documents.places.get(id(target.schema))
        if place and (is_moved or place.document is not document):
            result[reference[0]] = _pointer(place, keyword, keys)
        return result

    return copy(documents.node(document))


def _pointer(place: Place, keyword: str, keys: dict[str, str]) -> str:
    key = keys[place.document.name]
    steps = (*((keyword, key) if key else ()), *place.pointer)
    escaped = (each.replace("~", "~0").replace("/", "~1") for each in steps)
    return "#" + "".join("/" + quote(each, safe="~$") for each in escaped)


def _free_key(name: str, taken: set[str]) -> str:
    key = name
    while key in taken:
        key += "_"
    return key
