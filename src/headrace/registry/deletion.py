"""Deletion in two steps: softly, which can still be read on request, then for good."""

from __future__ import annotations

from headrace.registry import errors, topic_records
from headrace.registry.associations_table import AssociationTable
from headrace.registry.decisions import Decision, Write
from headrace.registry.references import check_not_referenced
from headrace.registry.scopes import aliased, mode_in_scope
from headrace.registry.state import RegistryState
from headrace.registry.subjects import LATEST, context_of, parsed_version
from headrace.registry.versions import Version
from headrace.registry.writes import removal_writes, safe_writes


def check_writable(state: RegistryState, subject: str | None) -> None:
    """42205 if a subject, a context or the whole registry is read-only."""
    if mode_in_scope(state, subject).is_read_only:
        raise errors.operation_not_permitted(
            f"Subject {subject} in context {context_of(subject)} is in read-only mode"
        )


def delete_subject(
    state: RegistryState, subject: str, *, permanent: bool = False, owner_leaves: bool = False
) -> Decision[list[int]]:
    """`DELETE /subjects/{s}`: the reply names the versions that went.

    A subject that a resource is associated with stays, unless the resource itself leaves.
    """
    subject = aliased(state, subject)
    versions = state.versions.of(subject)
    if not versions:
        raise errors.subject_not_found(subject)
    living = [each for each in versions if not each.is_deleted]
    if not permanent and not living:
        raise errors.subject_soft_deleted(subject)
    check_writable(state, subject)
    if not owner_leaves:
        _check_not_owned(state.associations, subject)
    doomed = versions if permanent else living
    for version in doomed:
        check_not_referenced(state, version)
    if permanent and living:
        raise errors.subject_not_soft_deleted(subject)
    numbers = [each.version for each in doomed]
    if permanent:
        writes = [*removal_writes(state, doomed), *_settings_removal(state, subject)]
    else:
        # Up to the very last one, deleted or not: this record replaces any earlier one of its key.
        value = topic_records.delete_subject_value(subject, versions[-1].version)
        writes = [(topic_records.delete_subject_key(subject), value)]
    return Decision(safe_writes(state, writes), lambda: numbers)


def delete_version(
    state: RegistryState, subject: str, version: str, *, permanent: bool = False
) -> Decision[int]:
    """`DELETE /subjects/{s}/versions/{v}`: the reply is the version's number."""
    number = parsed_version(version)
    subject = aliased(state, subject)
    found = _version_to_delete(state, subject, number)
    if found.is_deleted and not permanent:
        raise errors.version_soft_deleted(subject, found.version)
    check_writable(state, subject)
    check_not_referenced(state, found)
    if permanent and not found.is_deleted:
        raise errors.version_not_soft_deleted(subject, found.version)
    key = topic_records.schema_key(subject, found.version)
    writes: list[Write]
    if permanent:
        writes = removal_writes(state, [found])
        if len(state.versions.of(subject)) == 1:
            writes += _settings_removal(state, subject)
    else:
        value = topic_records.schema_value(
            subject, found.version, found.id, found.content, deleted=True
        )
        writes = [(key, value)]
    return Decision(safe_writes(state, writes), lambda: found.version)


def _version_to_delete(state: RegistryState, subject: str, number: int) -> Version:
    if number == LATEST:
        found = state.versions.latest(subject)
    else:
        found = state.versions.get(subject, number)
    if found is not None:
        return found
    if not state.versions.has(subject, deleted=True):
        raise errors.subject_not_found(subject)
    raise errors.version_not_found(number)


def _settings_removal(state: RegistryState, subject: str) -> list[Write]:
    """A subject that is gone leaves no settings behind for the next one of its name."""
    writes: list[Write] = []
    if subject in state.modes:
        writes.append((topic_records.mode_key(subject), None))
    if subject in state.configs:
        writes.append((topic_records.config_key(subject), None))
    return writes


def _check_not_owned(associations: AssociationTable, subject: str) -> None:
    for each in associations.of_subject(subject):
        raise errors.association_for_subject_exists(each.association_type or "", subject)
