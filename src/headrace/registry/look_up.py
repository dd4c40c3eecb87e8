"""Finding schemas: by their text, by id, by GUID, by subject and version, by metadata.

Whoever names a subject without a context finds it in the default one first, then in any other that
has it, as Confluent's registry does for its clients in a migration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from headrace.registry import errors
from headrace.registry.contents import SUFFIXES
from headrace.registry.entities import (
    ContextId,
    RegisterSchemaRequest,
    Schema,
    SchemaReference,
    SchemaString,
    SchemaTags,
)
from headrace.registry.proposals import Proposal, read_proposal, with_contract
from headrace.registry.references import parsed
from headrace.registry.replies import found_by_content, schema_entity, schema_string
from headrace.registry.rule_sets import (
    check_rule_set,
    confluent_version,
    rules_with_scope,
    with_confluent_version,
    with_scope,
)
from headrace.registry.scopes import aliased, config_in_scope
from headrace.registry.state import RegistryState
from headrace.registry.subjects import (
    DEFAULT_CONTEXT,
    LATEST,
    beside,
    context_of,
    normalized,
    parsed_version,
    qualified,
    split,
)
from headrace.registry.tags import inline_tags
from headrace.registry.versions import Version

RESOLVED: Final = "resolved"
QUALIFIED: Final = "QUALIFIED"


# -- the parts -------------------------------------------------------------------------------------


def found_in_subject(
    state: RegistryState,
    subject: str,
    proposal: Proposal,
    *,
    deleted: bool = False,
    latest_only: bool = False,
) -> list[Version]:
    """The versions of a subject that a schema stands for, the best first.

    Besides the same content these are: the one that it was with its references written out, and
    the one that it was before its version was written down in the metadata.
    """
    if latest_only:
        latest = state.versions.latest(subject)
        return [latest] if latest is not None and _stands_for(state, proposal, latest) else []
    same = state.versions.with_content(subject, proposal.content.key)
    same = [each for each in same if deleted or not each.is_deleted]
    if same:
        return sorted(same, key=lambda each: (each.is_deleted, -each.version))
    versions = [each for each in state.versions.of(subject) if deleted or not each.is_deleted]
    return [each for each in reversed(versions) if _stands_for(state, proposal, each)]


def _stands_for(state: RegistryState, proposal: Proposal, version: Version) -> bool:
    new, old = proposal.content, version.content
    if new.key == old.key:
        return True
    if new.type is not old.type or new.rule_set != old.rule_set:
        return False
    if with_confluent_version(new.metadata, None) != with_confluent_version(old.metadata, None):
        return False
    if new.metadata != old.metadata and confluent_version(new.metadata) is not None:
        # It says which version it is, and it is not this one.
        return False
    if new.text == old.text and new.references == old.references:
        return True
    if new.references or not old.references:
        return False
    return parsed(state, version.subject, old).formatted(RESOLVED) == new.text


def _candidates(state: RegistryState, subject: str) -> Iterator[str]:
    """A subject, then its namesakes in other contexts if it names no context."""
    yield subject
    context, name = split(subject)
    if context == DEFAULT_CONTEXT and name:
        yield from (qualified(other, name) for other in other_contexts(state))


def other_contexts(state: RegistryState) -> list[str]:
    """The contexts besides the default one, sorted."""
    return sorted(
        name
        for name, index in state.versions.contexts.items()
        if name != DEFAULT_CONTEXT and (index.is_recorded or index.by_id)
    )


def find_version(
    state: RegistryState, subject: str, version: str, *, deleted: bool = False
) -> Version:
    """A version of a subject; 40401, 40402 or 42202 if there is none."""
    number = parsed_version(version)
    subject = aliased(state, subject)
    for name in _candidates(state, subject):
        if number == LATEST:
            found = state.versions.latest(name)
        else:
            found = state.versions.get(name, number)
        if found is not None and (deleted or not found.is_deleted):
            return found
    if not state.versions.has(subject, deleted=deleted):
        raise errors.subject_not_found(subject)
    raise errors.version_not_found(number)


def _formatted(state: RegistryState, version: Version, form: str) -> str | None:
    """The text in another form; None for the stored one."""
    if not form.strip():
        return None
    return parsed(state, version.subject, version.content).formatted(form)


def _references(version: Version, form: str) -> list[SchemaReference] | None:
    """The references; in the form `qualified` their subjects name their context."""
    references = version.content.references
    if form.upper() != QUALIFIED:
        return list(references) or None
    return [
        SchemaReference(each.name, beside(version.subject, each.subject), each.version)
        for each in references
    ] or None


def _tags(version: Version, wanted: Sequence[str]) -> list[SchemaTags] | None:
    if not wanted:
        return None
    found = inline_tags(version.content.type, version.content.text)
    return [each for each in found if "*" in wanted or not set(wanted).isdisjoint(each.tags)]


# -- the operations --------------------------------------------------------------------------------


def look_up(
    state: RegistryState,
    subject: str,
    request: RegisterSchemaRequest,
    *,
    normalize: bool = False,
    deleted: bool = False,
    format: str = "",  # noqa: A002  (the API's own word for it)
) -> Schema:
    """`POST /subjects/{s}`: is this schema registered there, and as what?

    An empty schema is registered nowhere, so it is 40403 and not 42201.
    """
    check_rule_set(request.rule_set)
    subject = aliased(state, subject)
    for name in _candidates(state, subject):
        try:
            found = _looked_up(state, name, request, normalize=normalize, deleted=deleted)
        except errors.RegistryError:
            # What a namesake's references are need not exist where nobody asked.
            if name == subject:
                raise
            continue
        if found is not None:
            return found_by_content(found, _formatted(state, found, format))
    if not state.versions.has(subject, deleted=deleted):
        raise errors.subject_not_found(subject)
    raise errors.schema_not_found()


def _looked_up(
    state: RegistryState,
    subject: str,
    request: RegisterSchemaRequest,
    *,
    normalize: bool,
    deleted: bool,
) -> Version | None:
    if not state.versions.has(subject, deleted=deleted) or not (request.schema or "").strip():
        return None
    config = config_in_scope(state, subject)
    proposal = read_proposal(state, subject, request, config, is_new=False, normalize=normalize)
    found = found_in_subject(state, subject, proposal, deleted=deleted)
    if found:
        return found[0]
    # Registration would have given it the metadata and rules of its predecessor and its scope.
    latest = state.versions.latest(subject)
    metadata, rule_set = proposal.content.metadata, proposal.content.rule_set
    if latest is not None:
        metadata = latest.content.metadata if metadata is None else metadata
        rule_set = latest.content.rule_set if rule_set is None else rule_set
    metadata, rule_set = with_scope(config, metadata), rules_with_scope(config, rule_set)
    inherited = with_contract(proposal, metadata, rule_set)
    if inherited.content.key == proposal.content.key:
        return None
    found = found_in_subject(state, subject, inherited, deleted=deleted)
    return found[0] if found else None


def get_version(
    state: RegistryState,
    subject: str,
    version: str,
    *,
    deleted: bool = False,
    format: str = "",  # noqa: A002
    reference_format: str = "",
    find_tags: Sequence[str] = (),
) -> Schema:
    """`GET /subjects/{s}/versions/{v}`."""
    found = find_version(state, subject, version, deleted=deleted)
    reply = schema_entity(found, _formatted(state, found, format), _tags(found, find_tags))
    return replace(reply, references=_references(found, reference_format))


def get_version_text(
    state: RegistryState,
    subject: str,
    version: str,
    *,
    deleted: bool = False,
    format: str = "",  # noqa: A002
) -> str:
    """`GET /subjects/{s}/versions/{v}/schema`: the bare text."""
    found = find_version(state, subject, version, deleted=deleted)
    return _formatted(state, found, format) or found.content.text


def get_by_metadata(
    state: RegistryState,
    subject: str,
    properties: Mapping[str, str],
    *,
    deleted: bool = False,
    format: str = "",  # noqa: A002
) -> Schema:
    """`GET /subjects/{s}/metadata`: the newest version with these properties."""
    subject = aliased(state, subject)
    if not state.versions.has(subject, deleted=deleted):
        raise errors.subject_not_found(subject)
    for version in reversed(state.versions.of(subject)):
        metadata = version.content.metadata
        if metadata is None or (version.is_deleted and not deleted):
            continue
        if properties.items() <= (metadata.properties or {}).items():
            return schema_entity(version, _formatted(state, version, format))
    raise errors.schema_not_found()


def find_by_id(state: RegistryState, schema_id: int, subject: str | None = None) -> Version:
    """A version with this id, of this subject if it has one; 40403 if there is no such id."""
    subject = normalized(subject or "")
    context, name = split(subject)
    for candidate in _candidates(state, subject) if name else ():
        version = state.versions.with_id(candidate, schema_id)
        if version is not None:
            return version
    if not name or context == DEFAULT_CONTEXT:
        versions = state.versions.by_id(context, schema_id)
        if versions:
            return versions[0]
    raise errors.schema_not_found(schema_id)


def get_schema_by_id(
    state: RegistryState,
    schema_id: int,
    *,
    subject: str | None = None,
    format: str = "",  # noqa: A002
    reference_format: str = "",
    find_tags: Sequence[str] = (),
    fetch_max_id: bool = False,
) -> SchemaString:
    """`GET /schemas/ids/{id}`."""
    version = find_by_id(state, schema_id, subject)
    reply = schema_string(
        version,
        _formatted(state, version, format),
        _tags(version, find_tags),
        with_subject=bool(subject),
        max_id=state.versions.max_id(context_of(version.subject)) if fetch_max_id else None,
    )
    return replace(reply, references=_references(version, reference_format))


def get_schema_text(
    state: RegistryState,
    schema_id: int,
    *,
    subject: str | None = None,
    format: str = "",  # noqa: A002
) -> str:
    """`GET /schemas/ids/{id}/schema`: the bare text."""
    version = find_by_id(state, schema_id, subject)
    return _formatted(state, version, format) or version.content.text


def ids_of_guid(state: RegistryState, guid: str) -> list[ContextId]:
    """`GET /schemas/guids/{guid}/ids`: the ids of a schema in all contexts."""
    try:
        digest = UUID(guid).bytes
    except ValueError:
        raise errors.schema_not_found(guid) from None
    found = [
        ContextId(context, schema_id)
        for context in (DEFAULT_CONTEXT, *other_contexts(state))
        for suffix in SUFFIXES.values()
        if (schema_id := state.versions.id_of(context, digest + suffix)) is not None
    ]
    if not found:
        raise errors.schema_not_found(guid)
    return found


def get_schema_by_guid(
    state: RegistryState,
    guid: str,
    *,
    format: str = "",  # noqa: A002
) -> SchemaString:
    """`GET /schemas/guids/{guid}`."""
    first = ids_of_guid(state, guid)[0]
    version = state.versions.by_id(first.context, first.id)[0]
    return schema_string(version, _formatted(state, version, format))
