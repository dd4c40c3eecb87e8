"""Keywords that apply to objects: what must be there, what may be there, and how much of it."""

from __future__ import annotations

from headrace.schemas.json_schema.compatibility.bounds import at_least, at_most, compare_bound
from headrace.schemas.json_schema.compatibility.comparison import (
    ABSENT,
    Comparison,
    Difference,
    Path,
    follow,
)
from headrace.schemas.json_schema.compatibility.content_model import (
    Content,
    Openness,
    content_of,
    openness_of_all,
)
from headrace.schemas.json_schema.compatibility.dependencies import compare_dependencies
from headrace.schemas.json_schema.compatibility.implied import possible_types, required_names
from headrace.schemas.json_schema.compatibility.other_properties import compare_other_properties
from headrace.schemas.json_schema.documents import Node
from headrace.schemas.json_schema.drafts import accepts_everything, accepts_nothing


def compare_objects(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """Differences in everything that a schema says of objects."""
    before, after = content_of(writer), content_of(reader)
    found = _compare_required(writer, reader, before, after, path)
    for name, schema in before.properties.items():
        at = (*path, "properties", name)
        if name in after.properties:
            found += comparison.compare(schema, after.properties[name], at)
        else:
            found += _removed(comparison, schema, after, name, at)
    for name, schema in after.properties.items():
        if name not in before.properties:
            at = (*path, "properties", name)
            found += _added(comparison, writer, reader, before, schema, name, at)
    found += compare_other_properties(comparison, before, after, path)
    most = at_most(writer.get("maxProperties")), at_most(reader.get("maxProperties"))
    least = at_least(writer.get("minProperties")), at_least(reader.get("minProperties"))
    found += compare_bound(path, "maxProperties", "MAX_PROPERTIES", *most)
    found += compare_bound(path, "minProperties", "MIN_PROPERTIES", *least)
    found += _compare_names(comparison, writer, reader, path)
    return found + compare_dependencies(comparison, writer, reader, path)


def _compare_required(
    writer: Node, reader: Node, before: Content, after: Content, path: Path
) -> list[Difference]:
    """Properties that both sides know, or neither; an added one is told where it is added."""
    had, has = required_names(writer), _own_required(reader)
    found = []
    for name in sorted(has - had):
        if name in after.properties and name not in before.properties:
            continue
        schema = after.properties.get(name)
        kind = "REQUIRED_ATTRIBUTE_ADDED"
        if schema is not None and _has_default(schema):
            kind = "REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED"
        found.append(Difference(kind, (*path, "required", name), ABSENT, name))
    found += [
        Difference("REQUIRED_ATTRIBUTE_REMOVED", (*path, "required", name), name, ABSENT)
        for name in sorted(_own_required(writer) - required_names(reader))
        if name in after.properties
    ]
    return found


def _added(
    comparison: Comparison,
    writer: Node,
    reader: Node,
    before: Content,
    schema: Node,
    name: str,
    at: Path,
) -> list[Difference]:
    """A property that the reader alone declares: the writer's model says what it may have held."""
    is_required = name in _own_required(reader) and name not in required_names(writer)
    how = "OPTIONAL_PROPERTY"
    if is_required:
        how = "REQUIRED_PROPERTY_WITH_DEFAULT" if _has_default(schema) else "REQUIRED_PROPERTY"
    openness = before.openness_for(comparison, name)
    inside: list[Difference] = []
    kinds = []
    if openness is Openness.OPEN:
        target = follow(schema)
        if how != "REQUIRED_PROPERTY" and accepts_everything(target.schema, target.draft):
            how = "PROPERTY_WITH_EMPTY_SCHEMA"
        kinds.append(f"{how}_ADDED_TO_OPEN_CONTENT_MODEL")
    if openness is Openness.PARTIALLY_OPEN:
        inside = _best(comparison, before.covering(comparison, name), schema, at)
        verdict = "IS" if comparison.all_safe(inside) else "NOT"
        kinds.append(f"PROPERTY_ADDED_{verdict}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")
    if openness is Openness.CLOSED or (is_required and openness is not Openness.OPEN):
        kinds.append(f"{how}_ADDED_TO_UNOPEN_CONTENT_MODEL")
    return [*inside, *(Difference(kind, at, ABSENT, schema.schema) for kind in kinds)]


def _best(comparison: Comparison, covers: list[Node], schema: Node, at: Path) -> list[Difference]:
    """What differs from the writer's schema that is nearest; one that fits is enough."""
    compared = [comparison.compare(each, schema, at) for each in covers]
    return next(filter(comparison.all_safe, compared), compared[0])


def _removed(
    comparison: Comparison, schema: Node, after: Content, name: str, at: Path
) -> list[Difference]:
    """A property that the writer alone declares: the reader's model says if it is still taken."""
    covers = after.covering(comparison, name)
    openness, target = openness_of_all(covers), follow(schema)
    inside: list[Difference] = []
    if openness is Openness.OPEN:
        kind = "PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL"
    elif openness is Openness.CLOSED:
        is_false = accepts_nothing(target.schema, target.draft)
        what = "PROPERTY_WITH_FALSE" if is_false else "PROPERTY"
        kind = f"{what}_REMOVED_FROM_CLOSED_CONTENT_MODEL"
    else:
        inside = [each for cover in covers for each in comparison.compare(schema, cover, at)]
        verdict = "IS" if comparison.all_safe(inside) else "NOT"
        kind = f"PROPERTY_REMOVED_{verdict}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
    return [*inside, Difference(kind, at, schema.schema, ABSENT)]


def _compare_names(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """`propertyNames` has no kind of its own: it is one more factor of the product."""
    before, after = _names(writer), _names(reader)
    at = (*path, "propertyNames")
    if after is None or accepts_everything(after.schema, after.draft):
        return [] if before is None else [Difference("PRODUCT_TYPE_NARROWED", at, before.schema)]
    if before is None:
        return [Difference("PRODUCT_TYPE_EXTENDED", at, ABSENT, after.schema)]
    if "string" not in possible_types(comparison, before):
        return []  # no name fits, so every object is empty
    return comparison.compare(comparison.restricted(follow(before), "string"), after, at)


def _names(node: Node) -> Node | None:
    return node.sub("propertyNames") if "propertyNames" in node.draft.assertions else None


def _own_required(node: Node) -> frozenset[str]:
    names = node.get("required")
    return frozenset(names) if isinstance(names, list) else frozenset()


def _has_default(schema: Node) -> bool:
    sides = schema.schema, follow(schema).schema
    return any(isinstance(each, dict) and "default" in each for each in sides)
