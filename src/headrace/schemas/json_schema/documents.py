"""A schema's document, the documents that it refers to, and the way from a `$ref` to its target.

References arrive resolved, each under the name by which a `$ref` calls it. The name is a URI or a
relative path, and a document with an `$id` turns a relative `$ref` into a full URI first, so a
target is found by its name, by its `$id`, or by the end of its path. Nothing is ever fetched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from headrace.schemas.json_schema.drafts import DRAFT_4, Draft, Schema, draft_of
from headrace.schemas.model import InvalidSchema

if TYPE_CHECKING:
    from referencing import Registry, Resource
    from referencing._core import Resolver


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One text: the schema itself, whose name is empty, or one that it refers to."""

    name: str
    schema: Schema
    draft: Draft


@dataclass(frozen=True, slots=True)
class Place:
    """Where a schema object stands: its document and the JSON pointer inside it."""

    document: Document
    pointer: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """All documents of one schema; `places` is filled while they are checked."""

    root: Document
    references: tuple[Document, ...]
    registry: Registry[Schema]
    places: dict[int, Place] = field(default_factory=dict)

    def node(self, document: Document) -> Node:
        """The whole of a document, as the start of a walk."""
        base = _own_id(document) or document.name
        return Node(document.schema, document.draft, self.registry.resolver(base), self)

    def draft_at(self, schema: Schema, otherwise: Draft) -> Draft:
        """The draft of the document in which a schema object stands."""
        place = self.places.get(id(schema))
        return place.document.draft if place else otherwise


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A schema together with what is needed to follow its references."""

    schema: Schema
    draft: Draft
    resolver: Resolver[Schema]
    documents: Documents

    def child(self, schema: Schema) -> Node:
        """A schema inside this one; its own `$id`, if any, becomes the base of its references."""
        resolver = self.resolver
        if isinstance(schema, dict) and self.draft.id_keyword in schema:
            resolver = resolver.in_subresource(specification_of(self.draft).create_resource(schema))
        return Node(schema, self.draft, resolver, self.documents)

    def get(self, keyword: str) -> Any:
        """The value of a keyword, or None."""
        return self.schema.get(keyword) if isinstance(self.schema, dict) else None

    def sub(self, keyword: str) -> Node | None:
        """The schema that a keyword holds, if it holds one."""
        value = self.get(keyword)
        return self.child(value) if isinstance(value, (dict, bool)) else None

    def subs(self, keyword: str) -> list[Node]:
        """The schemas in the list that a keyword holds; none if it is no list."""
        value = self.get(keyword)
        return [self.child(each) for each in value] if isinstance(value, list) else []

    def named(self, keyword: str) -> dict[str, Node]:
        """The schemas by name in the object that a keyword holds."""
        value = self.get(keyword)
        if not isinstance(value, dict):
            return {}
        return {
            name: self.child(each) for name, each in value.items() if isinstance(each, (dict, bool))
        }

    def target(self) -> Node | None:
        """What the schema's reference leads to; InvalidSchema if it leads nowhere."""
        from referencing.exceptions import Unresolvable

        reference = self.draft.reference(self.schema)
        if reference is None:
            return None
        keyword, uri = reference
        try:
            found = self.resolver.lookup(uri)
        except (Unresolvable, ValueError, TypeError, AttributeError):
            raise InvalidSchema(
                f"{keyword} {uri!r} leads nowhere: it is neither in this document nor among the "
                "references given with the schema, and nothing is fetched"
            ) from None
        if not isinstance(found.contents, (dict, bool)):
            raise InvalidSchema(f"{keyword} {uri!r} leads to something that is not a schema")
        draft = self.documents.draft_at(found.contents, self.draft)
        return Node(found.contents, draft, found.resolver, self.documents)


def assemble(root: Document, references: Sequence[Document]) -> Documents:
    """Put the documents where their references will look for them."""
    from jsonschema.validators import SPECIFICATIONS
    from referencing import Registry

    resources = {each.name: resource_of(each) for each in references}
    bases = [base for each in (root, *references) if (base := _own_id(each))]
    try:
        registry: Registry[Schema] = SPECIFICATIONS.combine(
            Registry(retrieve=_among(resources))  # type: ignore[call-arg]
        )
        registry = registry.with_resources(
            (urljoin(base, name), resource)
            for name, resource in resources.items()
            for base in ("", *bases)
        )
        registry = registry.with_resource(_own_id(root) or "", resource_of(root)).crawl()
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidSchema(
            f"an identifier in the schema or its references is not a URI: {error}"
        ) from None
    return Documents(root, tuple(references), registry)


def document(name: str, schema: object) -> Document:
    """A document of parsed JSON; only objects and booleans are schemas."""
    if not isinstance(schema, (dict, bool)):
        raise InvalidSchema("a JSON Schema is an object or a boolean")
    return Document(name, schema, draft_of(schema))


def resource_of(of: Document) -> Resource[Schema]:
    """The document as the `referencing` library wants it."""
    resource: Resource[Schema] = specification_of(of.draft).create_resource(of.schema)
    return resource


def specification_of(draft: Draft) -> Any:
    """How the `referencing` library calls a draft."""
    from referencing.jsonschema import specification_with

    return specification_with(draft.uri + "#" if draft.reference_stands_alone else draft.uri)


def _own_id(of: Document) -> str | None:
    if not isinstance(of.schema, dict):
        return None
    own = of.schema.get("id" if of.draft is DRAFT_4 else "$id")
    return own.rstrip("#") if isinstance(own, str) else None


def _among(resources: Mapping[str, Resource[Schema]]) -> Any:
    """A retriever that knows the given resources by the end of their path, and nothing else."""
    from referencing.exceptions import NoSuchResource

    tails = sorted(
        ((tail, each) for name, each in resources.items() if (tail := name.lstrip("./"))),
        key=lambda pair: -len(pair[0]),
    )

    def retrieve(uri: str) -> Resource[Schema]:
        for tail, resource in tails:
            if uri == tail or uri.endswith("/" + tail):
                return resource
        raise NoSuchResource(ref=uri)  # type: ignore[call-arg]

    return retrieve
