"""A schema that a client sends, before it is decided what becomes of it.

Registration, look-up and compatibility checks take the same body and read it the same way: the
type is known, the references exist, the text is parsed and brought into its canonical form.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.registry import errors
from headrace.registry.contents import Content, build_content
from headrace.registry.entities import Config, Metadata, RegisterSchemaRequest, RuleSet
from headrace.registry.fields import check_field_names
from headrace.registry.references import pinned, resolve
from headrace.registry.scopes import mode_in_scope
from headrace.registry.state import RegistryState
from headrace.schemas.model import ParsedSchema, SchemaType


@dataclass(frozen=True, slots=True)
class Proposal:
    """A schema that could be registered."""

    parsed: ParsedSchema
    content: Content


def schema_type_of(name: str | None) -> SchemaType:
    """The format that a request names; Avro if it names none."""
    try:
        return SchemaType(name or SchemaType.AVRO)
    except ValueError:
        raise errors.invalid_schema(f"Invalid schema type {name}") from None


def read_proposal(
    state: RegistryState,
    subject: str,
    request: RegisterSchemaRequest,
    config: Config,
    *,
    is_new: bool,
    normalize: bool = False,
) -> Proposal:
    """Parse what a client sent; 42201 if it is no schema, 42209 if it is too large."""
    text = request.schema
    if text is None or not text.strip():
        raise errors.invalid_schema("Empty schema")
    size_bytes = len(text.encode())
    if size_bytes > state.defaults.max_schema_bytes:
        raise errors.schema_too_large(size_bytes, state.defaults.max_schema_bytes)
    kind = schema_type_of(request.schema_type)
    references = pinned(state, subject, request.references or ())
    needed = resolve(state, subject, references)
    is_import = mode_in_scope(state, subject).takes_ids
    parsed = state.parsed.parse(kind, text, needed, is_new=is_new and not is_import)
    if validates_fields(state, config) and not is_import:
        check_field_names(parsed)
    canonical = parsed.normalized() if normalize or config.normalize else parsed.text
    content = build_content(kind, canonical, references, request.metadata, request.rule_set)
    return Proposal(parsed, content)


def with_contract(
    proposal: Proposal, metadata: Metadata | None, rule_set: RuleSet | None
) -> Proposal:
    """The same schema with other metadata and rules."""
    content = proposal.content
    return Proposal(
        proposal.parsed,
        build_content(content.type, content.text, content.references, metadata, rule_set),
    )


def validates_fields(state: RegistryState, config: Config) -> bool:
    """Whether names of fields are checked in a scope."""
    chosen = config.validate_fields
    return state.defaults.validate_fields if chosen is None else chosen
