"""Everything that is asked of a schema before it is accepted.

The drafts' meta-schemas are asked one schema object at a time, with the objects inside it left
out: that keeps the check from recursing as deep as the schema, and lets equal shapes be asked once.
Then every reference must lead somewhere, must not lead in a circle of documents, and must not lead
back to itself without a step into the value, since no validator would ever come to an end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from headrace.schemas.json_schema.documents import Document, Documents, Node, Place
from headrace.schemas.json_schema.drafts import Draft, Location
from headrace.schemas.json_schema.patterns import PatternRefused, compile_pattern
from headrace.schemas.json_schema.text import compact
from headrace.schemas.model import InvalidSchema

MAX_SUBSCHEMAS: Final = 20_000
"""More than any schema that people write; a bound for the time that a check may take."""
_TOO_MANY: Final = f"it holds more than {MAX_SUBSCHEMAS} schemas; split it into several subjects"
MAX_SHAPES: Final = 2_000
"""Schemas that differ in more than names and numbers; each costs the meta-schema's time."""
_TEXTS: Final = frozenset(
    {
        *("title", "description", "$comment", "pattern", "format", "$ref"),
        *("contentEncoding", "contentMediaType"),
    }
)
_COUNTS: Final = frozenset(
    {
        *("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"),
        *("maxContains", "minContains"),
    }
)
_LIMITS: Final = frozenset({"maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"})


def check_shapes(documents: list[Document]) -> None:
    """Every schema object against the meta-schema of its draft, and every regular expression."""
    count = 0
    seen: set[str] = set()
    for each in documents:
        for location, schema in _objects(each.schema, each.draft):
            count += 1
            if count > MAX_SUBSCHEMAS:
                raise InvalidSchema(_TOO_MANY)
            _check_shape(schema, each.draft, _where(each, location), seen)


def check_references(documents: Documents) -> None:
    """Every `$ref` leads to a schema, and no chain of them runs in a circle."""
    found: list[tuple[Node, Place]] = []
    for each in (documents.root, *documents.references):
        found.extend(_place(documents.node(each), Place(each, ()), documents))
    edges: dict[int, list[int]] = {}
    needs: dict[str, set[str]] = {}
    elsewhere: dict[int, Place] = {}
    for node, place in found:  # grows while it is walked, by targets that no keyword leads to
        assert isinstance(node.schema, dict)
        successors = edges.setdefault(id(node.schema), [])
        if not _is_hidden(node):
            successors.extend(
                id(sub)
                for location, sub in node.draft.subschemas(node.schema)
                if location[0] in node.draft.in_place
            )
        target = _target(node, place)
        if target is None or not isinstance(target.schema, dict):
            continue
        successors.append(id(target.schema))
        if id(target.schema) not in documents.places:
            elsewhere = elsewhere or _every_object(documents)
            home = elsewhere.get(id(target.schema))
            if home is None:
                continue  # a draft's own meta-schema
            check_shapes([Document(home.document.name, target.schema, home.document.draft)])
            found.extend(_place(target, home, documents))
        home = documents.places[id(target.schema)]
        needs.setdefault(place.document.name, set()).add(home.document.name)
    _refuse_circle_of_documents(needs)
    _refuse_endless_loop(edges, documents)


def _place(start: Node, at: Place, documents: Documents) -> list[tuple[Node, Place]]:
    """Note where each schema object stands that the keywords of this one lead to."""
    placed: list[tuple[Node, Place]] = []
    waiting = [(start, at)]
    while waiting:
        node, place = waiting.pop()
        if not isinstance(node.schema, dict) or id(node.schema) in documents.places:
            continue
        documents.places[id(node.schema)] = place
        placed.append((node, place))
        for location, sub in node.draft.subschemas(node.schema):
            waiting.append((node.child(sub), Place(place.document, place.pointer + location)))
    if len(documents.places) > MAX_SUBSCHEMAS:
        raise InvalidSchema(_TOO_MANY)
    return placed


def _check_shape(schema: dict[str, Any], draft: Draft, where: str, seen: set[str]) -> None:
    for keyword in draft.references:
        if not isinstance(schema.get(keyword, ""), str):
            raise InvalidSchema(f"{where}: {keyword} must be a string")
    _check_patterns(schema, where)
    outline = _outline(schema, draft, where)
    key = draft.name + compact(outline)
    if key in seen:
        return
    seen.add(key)
    if len(seen) > MAX_SHAPES:
        raise InvalidSchema(
            f"it holds schemas of more than {MAX_SHAPES} shapes; split it into several subjects"
        )
    error = next(_meta_errors(outline, draft), None)
    if error is not None:
        keyword = "/".join(str(each) for each in error.absolute_path)
        raise InvalidSchema(f"{where}: {keyword or 'the schema'}: {error.message[:300]}")


def _outline(schema: dict[str, Any], draft: Draft, where: str) -> dict[str, Any]:
    """The schema without the objects inside it, which are checked on their own."""
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        if _is_plainly_right(keyword, value, draft):
            continue
        if keyword == "enum" and isinstance(value, list):
            if not value:
                raise InvalidSchema(f"{where}: enum must name at least one value")
        elif keyword in draft.single and isinstance(value, dict):
            continue
        elif keyword in draft.listed and isinstance(value, list):
            odd = [each for each in value if not isinstance(each, dict)]
            kept[keyword] = odd or (value and [{}])
        elif keyword in draft.mapped and isinstance(value, dict):
            kept[keyword] = {k: each for k, each in value.items() if not isinstance(each, dict)}
        else:
            kept[keyword] = value
    return kept


def _is_plainly_right(keyword: str, value: object, draft: Draft) -> bool:
    """Whether a value needs no meta-schema, which would take a hundred times as long."""
    if keyword in {"const", "default"}:
        return True
    if isinstance(value, str):
        return keyword in _TEXTS
    if isinstance(value, list):
        are_names = keyword == "required" and all(isinstance(each, str) for each in value)
        return are_names and 0 < len(value) == len(set(value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    if keyword in _COUNTS:
        return isinstance(value, int) and value >= 0
    return keyword in _LIMITS and not draft.boolean_exclusive


def _check_patterns(schema: dict[str, Any], where: str) -> None:
    patterns = [schema.get("pattern")]
    by_pattern = schema.get("patternProperties")
    if isinstance(by_pattern, dict):
        patterns.extend(by_pattern)
    for pattern in patterns:
        if isinstance(pattern, str):
            try:
                compile_pattern(pattern)
            except PatternRefused as refused:
                raise InvalidSchema(
                    f"{where}: {pattern[:80]!r} is not a regular expression: {refused}"
                ) from None


def _meta_errors(outline: dict[str, Any], draft: Draft) -> Iterator[Any]:
    from headrace.schemas.json_schema.validation import meta_validator

    errors: Iterator[Any] = meta_validator(draft).iter_errors(outline)
    return errors


def _objects(root: object, draft: Draft) -> Iterator[tuple[Location, dict[str, Any]]]:
    waiting: list[tuple[Location, object]] = [((), root)]
    while waiting:
        location, schema = waiting.pop()
        if isinstance(schema, dict):
            yield location, schema
            waiting.extend((location + at, sub) for at, sub in draft.subschemas(schema))


def _target(node: Node, place: Place) -> Node | None:
    try:
        return node.target()
    except InvalidSchema as error:
        raise InvalidSchema(f"{_where(place.document, place.pointer)}: {error}") from None


def _every_object(documents: Documents) -> dict[int, Place]:
    """Where each JSON object stands, schema or not: a pointer may lead to any of them."""
    objects: dict[int, Place] = {}
    for document in (documents.root, *documents.references):
        waiting: list[tuple[tuple[str, ...], object]] = [((), document.schema)]
        while waiting:
            pointer, value = waiting.pop()
            if isinstance(value, dict):
                objects.setdefault(id(value), Place(document, pointer))
                waiting.extend(((*pointer, key), each) for key, each in value.items())
            elif isinstance(value, list):
                waiting.extend(((*pointer, str(at)), each) for at, each in enumerate(value))
    return objects


def _is_hidden(node: Node) -> bool:
    """Whether a reference hides the other keywords of the schema."""
    return node.draft.reference_stands_alone and node.draft.reference(node.schema) is not None


def _refuse_circle_of_documents(needs: dict[str, set[str]]) -> None:
    for start in needs:
        reached: set[str] = set()
        waiting = [name for name in needs[start] if name != start]
        while waiting:
            name = waiting.pop()
            if name == start:
                raise InvalidSchema(
                    f"{_title(start)} refers to itself through other documents; a circle of "
                    "references can never be registered"
                )
            if name not in reached:
                reached.add(name)
                waiting.extend(needs.get(name, ()))


def _refuse_endless_loop(edges: dict[int, list[int]], documents: Documents) -> None:
    """Depth-first over the keywords that stay at the same value, without recursion."""
    done: set[int] = set()
    for start in edges:
        path: dict[int, Iterator[int]] = {}
        current: int | None = start if start not in done else None
        while current is not None or path:
            if current is not None:
                path[current] = iter(edges.get(current, ()))
            last = next(reversed(path))
            following = next(path[last], None)
            if following is None:
                done.add(last)
                del path[last]
            elif following in path:
                place = documents.places[following]
                where = _where(place.document, place.pointer)
                raise InvalidSchema(
                    f"{where}: its references lead back to it without a step into the value, "
                    "so no value could ever be validated"
                )
            current = following if following is not None and following not in done else None


def _where(document: Document, pointer: tuple[str, ...]) -> str:
    path = "#/" + "/".join(pointer)
    return f"{path} of reference {document.name!r}" if document.name else path


def _title(name: str) -> str:
    return f"the reference {name!r}" if name else "the schema"
