"""Associations: a resource, such as a topic, says which subject describes its keys or values.

A strong association owns its subject: no other resource may have one with it, and the subject can
go with the resource. Weak ones share a subject. A frozen one cannot be changed any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import md5
from typing import Final
from uuid import UUID

from headrace.registry import errors, topic_records
from headrace.registry.associations_table import key_of
from headrace.registry.decisions import Decision, Write
from headrace.registry.deletion import check_writable, delete_subject
from headrace.registry.entities import (
    Association,
    AssociationInfo,
    AssociationInfoReply,
    AssociationRequest,
    AssociationResponse,
)
from headrace.registry.lists import page
from headrace.registry.register import PendingIds, register
from headrace.registry.replies import schema_entity
from headrace.registry.scopes import aliased
from headrace.registry.state import RegistryState
from headrace.registry.subjects import DEFAULT_CONTEXT, checked, normalized, qualified
from headrace.registry.topic_records import AssociationValue
from headrace.registry.writes import safe_writes

STRONG: Final = "STRONG"
WEAK: Final = "WEAK"
TOPIC: Final = "topic"
TYPES: Final = {TOPIC: ("key", "value")}
MOST_ASSOCIATIONS: Final = 100_000


@dataclass(frozen=True, slots=True)
class _Filter:
    """Which associations are asked for."""

    resource_type: str | None
    types: Sequence[str]
    lifecycle: str | None

    def chosen(self, values: Sequence[AssociationValue]) -> list[AssociationValue]:
        """Those that fit, in a stable order."""
        fitting = [
            each
            for each in values
            if (not self.resource_type or each.resource_type == self.resource_type)
            and (not self.types or each.association_type in self.types)
            and (not self.lifecycle or each.lifecycle == self.lifecycle.upper())
        ]
        return sorted(fitting, key=lambda each: (each.subject or "", each.association_type or ""))


def create_associations(
    state: RegistryState,
    request: AssociationRequest,
    *,
    context: str = DEFAULT_CONTEXT,
    update: bool = False,
    dry_run: bool = False,
) -> Decision[AssociationResponse]:
    """`POST /associations`, and with `update` `PUT`: schemas in it are registered on the way."""
    _check_request(request)
    infos = request.associations or []
    writes: list[Write] = []
    stored: list[AssociationValue] = []
    pending: PendingIds = {}
    for info in infos:
        value = _wanted(state, request, info, context, update=update)
        _check_allowed(state, value, info, stored)
        if info.schema is not None:
            registration = register(
                state,
                value.subject or "",
                info.schema,
                normalize=bool(info.normalize),
                pending=pending,
            )
            writes += registration.writes
        elif not state.versions.has(value.subject or ""):
            raise errors.no_active_subject_version(value.subject or "")
        stored.append(value)
        writes.append(topic_records.association_record(value))
    if dry_run:
        writes = []
    return Decision(safe_writes(state, writes), lambda: _reply(state, request, stored))


def _check_request(request: AssociationRequest) -> None:
    for name, value in (
        ("resourceName", request.resource_name),
        ("resourceNamespace", request.resource_namespace),
        ("resourceId", request.resource_id),
    ):
        if not value:
            raise errors.invalid_association(name, "cannot be null or empty")
    if (request.resource_type or TOPIC) not in TYPES:
        raise errors.invalid_association("resourceType", f"must be one of {', '.join(TYPES)}")
    if not request.associations:
        raise errors.invalid_association("associations", "cannot be null or empty")
    types = [_type_of(info) for info in request.associations]
    if len(set(types)) < len(types):
        raise errors.invalid_association("associations", "one associationType stands there twice")


def _type_of(info: AssociationInfo) -> str:
    name = info.association_type or "value"
    if name not in TYPES[TOPIC]:
        raise errors.invalid_association("associationType", "must be key or value")
    return name


def _wanted(
    state: RegistryState,
    request: AssociationRequest,
    info: AssociationInfo,
    context: str,
    *,
    update: bool,
) -> AssociationValue:
    """The association as it will be stored; 40903 if another is there and may not be changed."""
    kind = _type_of(info)
    names = (
        request.resource_name or "",
        request.resource_namespace or "",
        request.resource_type or TOPIC,
        kind,
    )
    old = state.associations.get(names)
    lifecycle = info.lifecycle.upper() if info.lifecycle else None
    if lifecycle not in (None, STRONG, WEAK):
        raise errors.invalid_association("lifecycle", f"must be {STRONG} or {WEAK}")
    if info.subject:
        subject = aliased(state, checked(info.subject))
    elif old is not None and old.subject:
        subject = old.subject
    else:
        subject = qualified(context, f"{request.resource_name}-{kind}")
    # The same association has the same GUID everywhere, like a schema.
    digest = md5("\0".join(names).encode(), usedforsecurity=False).digest()
    value = AssociationValue(
        guid=str(UUID(bytes=digest)),
        tenant=topic_records.TENANT,
        resource_name=request.resource_name,
        resource_namespace=request.resource_namespace,
        resource_id=request.resource_id,
        resource_type=names[2],
        association_type=kind,
        subject=subject,
        lifecycle=lifecycle or (old.lifecycle if old is not None else STRONG),
        frozen=old.frozen if info.frozen is None and old is not None else bool(info.frozen),
    )
    if value.frozen and value.lifecycle != STRONG:
        raise errors.invalid_association("frozen", f"only a {STRONG} association can be frozen")
    if old is not None and old != value:
        if old.frozen:
            raise errors.association_frozen(kind, old.subject or "")
        if not update or old.subject != subject:
            raise errors.association_for_resource_exists(kind, request.resource_name or "")
    return value


def _check_allowed(
    state: RegistryState,
    value: AssociationValue,
    info: AssociationInfo,
    stored: Sequence[AssociationValue],
) -> None:
    subject = value.subject or ""
    check_writable(state, subject)
    key = key_of(value)
    others = [each for each in state.associations.of_subject(subject) if key_of(each) != key]
    others += [each for each in stored if each.subject == subject]
    if any(each.lifecycle == STRONG for each in others):
        raise errors.strong_association_exists(subject)
    if others and value.lifecycle == STRONG:
        raise errors.weak_association_exists(subject)
    old = state.associations.get(key)
    if old is not None and old.frozen and info.schema is not None:
        raise errors.association_frozen(value.association_type or "", subject)
    if old is None and len(state.associations) + len(stored) >= MOST_ASSOCIATIONS:
        raise errors.too_many_associations(MOST_ASSOCIATIONS)


def _reply(
    state: RegistryState, request: AssociationRequest, stored: Sequence[AssociationValue]
) -> AssociationResponse:
    replies = []
    for value in stored:
        latest = state.versions.latest(value.subject or "")
        replies.append(
            AssociationInfoReply(
                subject=value.subject,
                association_type=value.association_type,
                lifecycle=value.lifecycle,
                frozen=value.frozen,
                schema=None if latest is None else schema_entity(latest),
            )
        )
    return AssociationResponse(
        resource_name=request.resource_name,
        resource_namespace=request.resource_namespace,
        resource_id=request.resource_id,
        resource_type=request.resource_type or TOPIC,
        associations=replies,
    )


def _entity(value: AssociationValue) -> Association:
    return Association(**{name: getattr(value, name) for name in Association.__struct_fields__})


def list_by_subject(
    state: RegistryState,
    subject: str,
    *,
    resource_type: str | None = None,
    association_types: Sequence[str] = (),
    lifecycle: str | None = None,
    offset: int = 0,
    limit: int = -1,
) -> list[Association]:
    """`GET /associations/subjects/{s}`."""
    wanted = _Filter(resource_type, association_types, lifecycle)
    found = wanted.chosen(state.associations.of_subject(normalized(subject)))
    return page([_entity(each) for each in found], offset, limit)


def list_by_resource(
    state: RegistryState,
    *,
    resource_id: str | None = None,
    namespace: str | None = None,
    name: str | None = None,
    resource_type: str | None = None,
    association_types: Sequence[str] = (),
    lifecycle: str | None = None,
    offset: int = 0,
    limit: int = -1,
) -> list[Association]:
    """`GET /associations/resources/{id}` or `…/{namespace}/{name}`; namespace `-` is any."""
    if resource_id is not None:
        values = state.associations.of_resource_id(resource_id)
    else:
        values = [
            each
            for each in state.associations
            if each.resource_name == name and namespace in ("-", each.resource_namespace)
        ]
    found = _Filter(resource_type, association_types, lifecycle).chosen(values)
    return page([_entity(each) for each in found], offset, limit)


def delete_associations(
    state: RegistryState,
    resource_id: str,
    *,
    resource_type: str | None = None,
    association_types: Sequence[str] = (),
    cascade_lifecycle: bool = False,
) -> Decision[None]:
    """`DELETE /associations/resources/{id}`; with `cascade_lifecycle` owned subjects go as well."""
    values = state.associations.of_resource_id(resource_id)
    found = _Filter(resource_type, association_types, None).chosen(values)
    if not found:
        raise errors.association_not_found(resource_id)
    writes: list[Write] = []
    for value in found:
        subject = value.subject or ""
        if value.frozen and not cascade_lifecycle:
            raise errors.association_frozen(value.association_type or "", subject)
        check_writable(state, subject)
        writes.append((topic_records.association_record(value)[0], None))
        if cascade_lifecycle and value.lifecycle == STRONG and state.versions.has(subject):
            writes += delete_subject(state, subject, owner_leaves=True).writes
    return Decision(safe_writes(state, writes), lambda: None)
