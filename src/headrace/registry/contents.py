"""What a schema says, apart from where it is registered; the same content has the same id.

Two registrations are the same if text, references, metadata and rules are. Their MD5, computed over
the same bytes as Confluent does, is the key of every look-up and, as a UUID, the schema's GUID.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import md5
from typing import Final
from uuid import UUID

import msgspec

from headrace.registry.entities import Metadata, Rule, RuleSet, SchemaReference
from headrace.schemas.model import SchemaType

# The digest says nothing of the format, yet `{"type":"string"}` is a schema in two of them.
SUFFIXES: Final = {SchemaType.AVRO: b"", SchemaType.JSON: b"J", SchemaType.PROTOBUF: b"P"}


class Content(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One schema; all versions with this content share the object."""

    type: SchemaType
    text: str
    references: tuple[SchemaReference, ...]
    metadata: Metadata | None
    rule_set: RuleSet | None
    digest: bytes
    stored_md5: str | None = None

    @property
    def key(self) -> bytes:
        """Equal for equal contents only."""
        return self.digest + SUFFIXES[self.type]

    @property
    def guid(self) -> str:
        """The same everywhere, unlike the id."""
        return str(UUID(bytes=self.digest))


def build_content(
    type: SchemaType,  # noqa: A002  (the API's own word for it)
    text: str,
    references: Sequence[SchemaReference] | None,
    metadata: Metadata | None,
    rule_set: RuleSet | None,
) -> Content:
    """A content with its digest; metadata and rules are brought into their stored order."""
    metadata = ordered_metadata(metadata)
    rule_set = ordered_rule_set(rule_set)
    references = tuple(references or ())
    value = digest(text, references, metadata, rule_set)
    return Content(type, text, references, metadata, rule_set, value)


def digest(
    text: str,
    references: Iterable[SchemaReference],
    metadata: Metadata | None,
    rule_set: RuleSet | None,
) -> bytes:
    """Confluent's MD5 of a schema."""
    if not references and metadata is None and rule_set is None:
        return md5(text.encode(), usedforsecurity=False).digest()
    parts = [text.encode()]
    for reference in references:
        parts += reference.name.encode(), reference.subject.encode()
        parts.append((reference.version & 0xFFFFFFFF).to_bytes(4, "big"))
    if metadata is not None:
        parts.append(b"\x01")
        parts += _metadata_parts(metadata)
    if rule_set is not None:
        parts.append(b"\x01")
        for rules in (rule_set.migration_rules, rule_set.domain_rules, rule_set.encoding_rules):
            for rule in rules or ():
                parts += _rule_parts(rule)
        if rule_set.enable_at is not None:
            parts.append(rule_set.enable_at.encode())
    return md5(b"".join(parts), usedforsecurity=False).digest()


def _metadata_parts(metadata: Metadata) -> Iterable[bytes]:
    for key, values in (metadata.tags or {}).items():
        yield key.encode()
        yield from (value.encode() for value in values)
    for key, value in (metadata.properties or {}).items():
        yield key.encode()
        yield value.encode()
    yield from (name.encode() for name in metadata.sensitive or ())


def _rule_parts(rule: Rule) -> Iterable[bytes]:
    for text in (rule.name, rule.doc, rule.kind, rule.mode, rule.type, *(rule.tags or ())):
        if text is not None:
            yield text.encode()
    for key, value in (rule.params or {}).items():
        yield key.encode()
        yield value.encode()
    for text in (rule.expr, rule.on_success, rule.on_failure):
        if text is not None:
            yield text.encode()
    if rule.disabled:
        yield b"\x01"


def ordered_metadata(metadata: Metadata | None) -> Metadata | None:
    """Sorted as Confluent keeps it, so that equal metadata has equal bytes."""
    if metadata is None:
        return None
    tags = {key: sorted(set(values)) for key, values in sorted((metadata.tags or {}).items())}
    return Metadata(
        tags=tags or None,
        properties=dict(sorted((metadata.properties or {}).items())) or None,
        sensitive=sorted(set(metadata.sensitive or ())) or None,
    )


def ordered_rule_set(rule_set: RuleSet | None) -> RuleSet | None:
    """The tags and parameters of every rule sorted; the order of rules means something."""
    if rule_set is None:
        return None
    return RuleSet(
        migration_rules=_ordered_rules(rule_set.migration_rules),
        domain_rules=_ordered_rules(rule_set.domain_rules),
        encoding_rules=_ordered_rules(rule_set.encoding_rules),
        enable_at=rule_set.enable_at,
    )


def _ordered_rules(rules: list[Rule] | None) -> list[Rule] | None:
    if not rules:
        return None
    return [
        Rule(
            name=rule.name,
            doc=rule.doc,
            kind=rule.kind,
            mode=rule.mode,
            type=rule.type,
            tags=sorted(set(rule.tags or ())) or None,
            params=dict(sorted((rule.params or {}).items())) or None,
            expr=rule.expr,
            on_success=rule.on_success,
            on_failure=rule.on_failure,
            disabled=rule.disabled,
        )
        for rule in rules
    ]
