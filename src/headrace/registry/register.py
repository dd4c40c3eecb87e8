"""Registration: the same schema keeps its id, a new one must fit and gets the next.

An id belongs to a content within a context, however many subjects use it. A version that was
deleted softly comes back as a new version with its old id. In the modes IMPORT and FORWARD the
client says which id and version a schema has, and nothing is checked but that ids stay unique.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from headrace.registry import errors, topic_records
from headrace.registry.compatibility import judge
from headrace.registry.contents import Content, ordered_metadata, ordered_rule_set
from headrace.registry.decisions import Decision, Write
from headrace.registry.entities import (
    Config,
    RegisterSchemaRequest,
    RegisterSchemaResponse,
    TagSchemaRequest,
)
from headrace.registry.look_up import find_version, found_in_subject
from headrace.registry.proposals import Proposal, read_proposal, with_contract
from headrace.registry.references import parsed
from headrace.registry.replies import registered
from headrace.registry.rule_sets import (
    check_rule_set,
    confluent_version,
    has_defaults_or_overrides,
    merged_rule_sets,
    rules_with_scope,
    with_confluent_version,
    with_scope,
    without_rules,
)
from headrace.registry.scopes import Mode, aliased, config_in_scope, mode_in_scope
from headrace.registry.state import RegistryState
from headrace.registry.subjects import (
    DEFAULT_CONTEXT,
    LARGEST_INT,
    LATEST,
    checked,
    context_of,
)
from headrace.registry.tags import changed_tags, inline_tags
from headrace.registry.versions import Version
from headrace.registry.writes import safe_writes
from headrace.schemas.model import SchemaType

NO_VERSION: Final = 0
NO_ID: Final = -1

PendingIds = dict[tuple[str, bytes], int]
"""Ids that were given out but are not in the state yet, by context and content."""


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a request asks for, with its numbers checked."""

    request: RegisterSchemaRequest
    version: int  # NO_VERSION: the next; LATEST: the next, and written down in the metadata
    schema_id: int  # NO_ID: whichever it has or gets

    @property
    def changes_tags(self) -> bool:
        return bool(
            self.request.schema_tags_to_add
            or self.request.schema_tags_to_remove
            or self.request.propagate_schema_tags
        )


def register(
    state: RegistryState,
    subject: str,
    request: RegisterSchemaRequest,
    *,
    normalize: bool = False,
    format: str = "",  # noqa: A002  (the API's own word for it)
    pending: PendingIds | None = None,
) -> Decision[RegisterSchemaResponse]:
    """`POST /subjects/{s}/versions`.

    `pending` holds what the same request has registered before, whose records are not replayed.
    """
    subject = aliased(state, checked(subject))
    wish = _checked_wish(request)
    check_rule_set(request.rule_set)
    config = config_in_scope(state, subject)
    if not wish.changes_tags and not has_defaults_or_overrides(config):
        existing = _existing(state, subject, wish, config, normalize=normalize)
        if existing is not None:
            return Decision((), lambda: _reply(state, subject, existing.version, format, wish))
    mode = mode_in_scope(state, subject)
    _check_mode(mode, subject, wish)
    writes, number = _decide(
        state, subject, wish, config, mode, {} if pending is None else pending, normalize=normalize
    )
    return Decision(
        safe_writes(state, writes), lambda: _reply(state, subject, number, format, wish)
    )


def _reply(
    state: RegistryState, subject: str, number: int, form: str, wish: _Wish
) -> RegisterSchemaResponse:
    """What was registered, with the schema as it is stored.

    The text is left out where the client sent Protobuf as a serialized descriptor and nothing else
    is news to it: clients keep the text of an answer for the id, and that of Python expects the
    form that it has sent.
    """
    version = state.versions.get(subject, number)
    if version is None:
        raise errors.store_error(f"Version {number} of '{subject}' was written and is gone again")
    if not form and _is_serialized(version.content, wish) and not _is_news(version.content, wish):
        return RegisterSchemaResponse(
            id=version.id,
            version=version.version,
            guid=version.content.guid,
            schema_type=version.content.type.value,
        )
    text = parsed(state, subject, version.content).formatted(form) if form else None
    return registered(version, text)


def _is_serialized(content: Content, wish: _Wish) -> bool:
    """Whether a client sent base64 of a descriptor; every source has a sign that base64 has not."""
    text = wish.request.schema or ""
    return content.type is SchemaType.PROTOBUF and not any(sign in text for sign in ";{")


def _is_news(content: Content, wish: _Wish) -> bool:
    """Whether more, or something else, was stored than the client sent."""
    request = wish.request
    return (
        not request.schema
        or wish.changes_tags
        or content.metadata != ordered_metadata(request.metadata)
        or content.rule_set != ordered_rule_set(request.rule_set)
        or content.references != tuple(request.references or ())
    )


def _checked_wish(request: RegisterSchemaRequest) -> _Wish:
    version = NO_VERSION if request.version is None else request.version
    if not LATEST <= version <= LARGEST_INT:
        raise errors.invalid_version(version)
    schema_id = NO_ID if request.id is None else request.id
    if not NO_ID <= schema_id <= LARGEST_INT:
        raise errors.invalid_schema(
            f"Invalid schema, details: {schema_id} is not an id of a schema"
        )
    return _Wish(request, version, schema_id)


def _check_mode(mode: Mode, subject: str, wish: _Wish) -> None:
    place = f"Subject {subject} in context {context_of(subject)}"
    if mode.is_read_only:
        raise errors.operation_not_permitted(f"{place} is in read-only mode")
    if wish.schema_id >= 0 and not mode.takes_ids:
        raise errors.operation_not_permitted(f"{place} is not in import mode")
    if wish.schema_id < 0 and mode is not Mode.READWRITE:
        raise errors.operation_not_permitted(f"{place} is not in read-write mode")


def _existing(
    state: RegistryState, subject: str, wish: _Wish, config: Config, *, normalize: bool
) -> Version | None:
    """The version that answers the request without anything being written."""
    request = wish.request
    if request.schema is None or not request.schema.strip():
        return None
    proposal = read_proposal(state, subject, request, config, is_new=False, normalize=normalize)
    found = found_in_subject(state, subject, proposal, latest_only=wish.version == LATEST)
    matching = [each for each in found if wish.schema_id in (NO_ID, each.id)]
    if wish.version in (NO_VERSION, LATEST):
        return matching[0] if matching else None
    if wish.schema_id == NO_ID:
        return None
    return next((each for each in matching if each.version == wish.version), None)


def _decide(
    state: RegistryState,
    subject: str,
    wish: _Wish,
    config: Config,
    mode: Mode,
    pending: PendingIds,
    *,
    normalize: bool,
) -> tuple[list[Write], int]:
    """What to write, and the number of the version that answers the request."""
    versions = state.versions.of(subject)
    living = [each for each in versions if not each.is_deleted]
    next_version = versions[-1].version + 1 if versions else 1
    previous = living[-1] if living else None
    request = wish.request
    if not mode.takes_ids:
        request = _populated(state, subject, wish, previous)
    # An id that is given was accepted elsewhere once: it is not checked as strictly as a new one.
    proposal = read_proposal(
        state, subject, request, config, is_new=wish.schema_id < 0, normalize=normalize
    )
    if not mode.takes_ids:
        proposal = _with_scope(proposal, config, previous, wish, next_version)
    if wish.version == NO_VERSION:
        for found in found_in_subject(state, subject, proposal):
            if wish.schema_id in (NO_ID, found.id):
                return [], found.version
    if not mode.takes_ids:
        _check_fits(state, config, subject, proposal, living)
    if wish.version > 0 and wish.version != next_version and not mode.takes_ids:
        raise errors.invalid_schema("Version is not one more than previous version")
    number = wish.version if wish.version > 0 else next_version
    schema_id = _id_for(state, subject, proposal, wish, living, pending)
    return _writes(state, subject, number, schema_id, proposal, versions), number


def _populated(
    state: RegistryState, subject: str, wish: _Wish, previous: Version | None
) -> RegisterSchemaRequest:
    """The request with what it leaves to the previous version, and with its tags in place."""
    request = wish.request
    if request.schema is None or not request.schema.strip():
        if previous is None:
            raise errors.invalid_schema("Empty schema")
        request = msgspec.structs.replace(
            request,
            schema=previous.content.text,
            schema_type=previous.content.type.value,
            references=list(previous.content.references),
        )
    if not wish.changes_tags:
        return request
    add = list(request.schema_tags_to_add or ())
    if request.propagate_schema_tags and previous is not None:
        add = [*inline_tags(previous.content.type, previous.content.text), *add]
    text = changed_tags(
        request.schema_type, request.schema or "", add, request.schema_tags_to_remove or ()
    )
    return msgspec.structs.replace(request, schema=text)


def _with_scope(
    proposal: Proposal,
    config: Config,
    previous: Version | None,
    wish: _Wish,
    next_version: int,
) -> Proposal:
    """The schema with the metadata and rules that it inherits."""
    before = previous.content if previous is not None else None
    metadata = proposal.content.metadata
    if metadata is None and before is not None:
        metadata = before.metadata
    rule_set = proposal.content.rule_set
    if rule_set is None and before is not None:
        rule_set = before.rule_set
    metadata = with_scope(config, metadata)
    if wish.version != NO_VERSION or wish.changes_tags or confluent_version(metadata) is not None:
        metadata = with_confluent_version(metadata, next_version)
    return with_contract(proposal, metadata, rules_with_scope(config, rule_set))


def _check_fits(
    state: RegistryState,
    config: Config,
    subject: str,
    proposal: Proposal,
    living: list[Version],
) -> None:
    verdict = judge(state, config, subject, proposal, living)
    if verdict.messages:
        raise errors.incompatible_schema(
            "Schema being registered is incompatible with an earlier schema for subject "
            f'"{subject}", details: [{", ".join(verdict.messages)}]',
            verdict.problems,
        )


def _id_for(
    state: RegistryState,
    subject: str,
    proposal: Proposal,
    wish: _Wish,
    living: list[Version],
    pending: PendingIds,
) -> int:
    """The id under which a content is stored: that of its like, the wish, or the next."""
    context = context_of(subject)
    key = proposal.content.key
    if wish.schema_id < 0:
        existing = state.versions.id_of(context, key)
        if existing is not None:
            return existing
        given = sum(1 for each, _ in pending if each == context)
        return pending.setdefault((context, key), state.versions.max_id(context) + 1 + given)
    others = state.versions.by_id(context, wish.schema_id)
    if any(each.content.key != key for each in others):
        raise errors.operation_not_permitted(
            f"Overwrite new schema with id {wish.schema_id} in context {context} is not permitted."
        )
    for each in living:
        if each.content.key == key and each.id != wish.schema_id:
            raise errors.id_does_not_match(wish.schema_id, each.id)
    return wish.schema_id


def _writes(
    state: RegistryState,
    subject: str,
    number: int,
    schema_id: int,
    proposal: Proposal,
    versions: list[Version],
) -> list[Write]:
    context = context_of(subject)
    writes: list[Write] = []
    if context != DEFAULT_CONTEXT and not state.versions.context_is_recorded(context):
        key = topic_records.context_key(context)
        writes.append((key, topic_records.context_value(context)))
    # The deleted version with this id comes back as the new one, so the old number goes for good.
    writes += [
        (topic_records.schema_key(subject, each.version), None)
        for each in versions
        if each.is_deleted and each.id == schema_id and each.version < number
    ]
    highest = state.versions.max_id(context)
    if any(each.version == number and schema_id < each.id == highest for each in versions):
        # An import takes the place of a version whose id is not used again all the same.
        note = topic_records.highest_id_value(highest)
        writes.append((topic_records.noop_key(context), note))
    value = topic_records.schema_value(subject, number, schema_id, proposal.content, deleted=False)
    writes.append((topic_records.schema_key(subject, number), value))
    return writes


def modify_tags(
    state: RegistryState, subject: str, version: str, request: TagSchemaRequest
) -> Decision[RegisterSchemaResponse]:
    """`POST /subjects/{s}/versions/{v}/tags`: a new version with other tags, metadata or rules."""
    subject = aliased(state, checked(subject))
    old = find_version(state, subject, version)
    rule_set = request.rule_set
    if request.rules_to_merge is not None or request.rules_to_remove is not None:
        latest = state.versions.latest(subject)
        rule_set = latest.content.rule_set if latest is not None else None
        rule_set = merged_rule_sets(rule_set, request.rules_to_merge)
        rule_set = without_rules(rule_set, request.rules_to_remove or [])
    body = RegisterSchemaRequest(
        version=LATEST if request.new_version is None else request.new_version,
        schema_type=old.content.type.value,
        references=list(old.content.references) or None,
        metadata=old.content.metadata if request.metadata is None else request.metadata,
        rule_set=rule_set,
        schema_tags_to_add=request.tags_to_add,
        schema_tags_to_remove=request.tags_to_remove,
        schema=old.content.text,
    )
    return register(state, subject, body)
