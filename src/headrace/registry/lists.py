"""Listings, with their filters and their pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeVar

from headrace.registry import errors
from headrace.registry.entities import ExtendedSchema, RuleSet, SubjectVersion
from headrace.registry.look_up import find_by_id, find_version, other_contexts
from headrace.registry.replies import schema_entity
from headrace.registry.scopes import aliased
from headrace.registry.state import RegistryState
from headrace.registry.subjects import (
    DEFAULT_CONTEXT,
    EVERY_CONTEXT,
    beside,
    context_of,
    normalized,
    split,
)
from headrace.registry.versions import Version

T = TypeVar("T")


def page(items: Sequence[T], offset: int, limit: int) -> list[T]:
    """A part of a list; a limit that is not positive is none."""
    start = max(offset, 0)
    return list(items[start:] if limit <= 0 else items[start : start + limit])


def _matches(subject: str, prefix: str) -> bool:
    """Whether a prefix, which may stand for every context, is that of a subject."""
    if prefix.startswith(EVERY_CONTEXT):
        return split(subject)[1].startswith(prefix.removeprefix(EVERY_CONTEXT))
    context, name = split(prefix)
    return context_of(subject) == context and split(subject)[1].startswith(name)


def list_subjects(
    state: RegistryState,
    *,
    prefix: str = EVERY_CONTEXT,
    deleted: bool = False,
    deleted_only: bool = False,
    offset: int = 0,
    limit: int = -1,
) -> list[str]:
    """`GET /subjects`."""
    found = state.versions.subjects(deleted=deleted or deleted_only)
    if deleted_only:
        found = [each for each in found if not state.versions.has(each)]
    if prefix != EVERY_CONTEXT:
        found = [each for each in found if _matches(each, prefix)]
    return page(found, offset, limit)


def list_versions(
    state: RegistryState,
    subject: str,
    *,
    deleted: bool = False,
    deleted_only: bool = False,
    offset: int = 0,
    limit: int = -1,
) -> list[int]:
    """`GET /subjects/{s}/versions`; 40401 if there is no such subject."""
    subject = aliased(state, subject)
    found = [
        each.version
        for each in state.versions.of(subject)
        if (each.is_deleted if deleted_only else deleted or not each.is_deleted)
    ]
    if not found and not (deleted_only and state.versions.has(subject)):
        raise errors.subject_not_found(subject)
    return page(found, offset, limit)


def list_schemas(
    state: RegistryState,
    *,
    prefix: str = "",
    aliases: bool = False,
    deleted: bool = False,
    latest_only: bool = False,
    rule_types: Sequence[str] = (),
    resource_type: str | None = None,
    association_types: Sequence[str] = (),
    lifecycle: str | None = None,
    offset: int = 0,
    limit: int = -1,
) -> list[ExtendedSchema]:
    """`GET /schemas`."""
    names = _aliases(state) if aliases else {}
    subjects = [each for each in state.versions.subjects() if _matches(each, prefix)]
    aliased_too = {
        target
        for target, its_aliases in names.items()
        if any(_matches(each, prefix) for each in its_aliases)
    }
    if resource_type or association_types or lifecycle:
        associated = state.associations.subjects(
            resource_type=resource_type,
            association_types=association_types,
            lifecycle=lifecycle,
        )
        subjects = [each for each in subjects if each in associated]
        aliased_too &= associated
    found = _schemas(
        state,
        sorted({*subjects, *aliased_too}),
        deleted=deleted,
        latest_only=latest_only,
        rule_types=rule_types,
    )
    start = max(offset, 0)
    chosen = islice(found, start, start + limit if limit > 0 else None)
    return [_extended(each, names.get(each.subject)) for each in chosen]


def _schemas(
    state: RegistryState,
    subjects: Sequence[str],
    *,
    deleted: bool,
    latest_only: bool,
    rule_types: Sequence[str],
) -> Iterator[Version]:
    for subject in subjects:
        versions = [each for each in state.versions.of(subject) if deleted or not each.is_deleted]
        for version in versions[-1:] if latest_only else versions:
            if not rule_types or _has_rule(version.content.rule_set, rule_types):
                yield version


def _has_rule(rule_set: RuleSet | None, types: Sequence[str]) -> bool:
    if rule_set is None:
        return False
    kinds = (rule_set.migration_rules, rule_set.domain_rules, rule_set.encoding_rules)
    return any(rule.type in types for rules in kinds for rule in rules or ())


def _aliases(state: RegistryState) -> dict[str, list[str]]:
    """The aliases of every subject that has some."""
    found: dict[str, list[str]] = {}
    for subject, config in state.configs.items():
        if subject is not None and config.alias:
            found.setdefault(beside(subject, config.alias), []).append(subject)
    return found


def _extended(version: Version, aliases: list[str] | None) -> ExtendedSchema:
    schema = schema_entity(version)
    fields = {name: getattr(schema, name) for name in schema.__struct_fields__}
    return ExtendedSchema(**fields, aliases=sorted(aliases) if aliases else None)


def list_versions_of_id(
    state: RegistryState,
    schema_id: int,
    *,
    subject: str | None = None,
    deleted: bool = False,
    offset: int = 0,
    limit: int = -1,
) -> list[SubjectVersion]:
    """`GET /schemas/ids/{id}/versions`."""
    first = find_by_id(state, schema_id, subject)
    versions = state.versions.by_id(context_of(first.subject), schema_id)
    name = split(normalized(subject or ""))[1]
    found = [
        SubjectVersion(each.subject, each.version)
        for each in versions
        if (deleted or not each.is_deleted) and (not name or each.subject == first.subject)
    ]
    found.sort(key=lambda each: (each.subject, each.version))
    return page(found, offset, limit)


def list_subjects_of_id(
    state: RegistryState,
    schema_id: int,
    *,
    subject: str | None = None,
    deleted: bool = False,
    offset: int = 0,
    limit: int = -1,
) -> list[str]:
    """`GET /schemas/ids/{id}/subjects`."""
    versions = list_versions_of_id(state, schema_id, subject=subject, deleted=deleted)
    return page(list(dict.fromkeys(each.subject for each in versions)), offset, limit)


def list_referers(
    state: RegistryState, subject: str, version: str, *, offset: int = 0, limit: int = -1
) -> list[int]:
    """`GET /subjects/{s}/versions/{v}/referencedby`: the ids of schemas that need this one."""
    found = find_version(state, subject, version, deleted=True)
    referers = state.versions.referers(found.subject, found.version)
    return page(sorted({each.id for each in referers}), offset, limit)


def list_contexts(
    state: RegistryState, *, prefix: str = "", offset: int = 0, limit: int = -1
) -> list[str]:
    """`GET /contexts`."""
    found = (DEFAULT_CONTEXT, *other_contexts(state))
    return page([each for each in found if each.startswith(prefix)], offset, limit)
