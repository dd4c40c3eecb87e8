"""The registry of encryption keys: KEKs by name, their DEKs by subject, algorithm and version.

The registry keeps what clients give it. It has no access to key-management services, so a DEK must
come encrypted, and nothing is ever decrypted here.

Requests are checked in Confluent's order, since clients act on the first error: the name of the
KEK, the subject, the version, then whether the KEK is there, then the DEK.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

import msgspec

from headrace.registry import errors
from headrace.registry.decisions import Decision, Write
from headrace.registry.entities import (
    CreateDekRequest,
    CreateKekRequest,
    Dek,
    Kek,
    UpdateKekRequest,
)
from headrace.registry.keys_state import (
    DekName,
    DekValue,
    KekValue,
    StoredDek,
    StoredKek,
    dek_key,
    kek_key,
)
from headrace.registry.lists import page
from headrace.registry.state import RegistryState
from headrace.registry.subjects import LATEST, normalized, parsed_version

ALGORITHMS: Final = ("AES128_GCM", "AES256_GCM", "AES256_SIV")
DEFAULT_ALGORITHM: Final = "AES256_GCM"
_NAME: Final = re.compile(r"[^\W\d][\w\-]{0,255}")
_KMS_TYPES: Final = (("aws", "aws-kms"), ("azure", "azure-kms"), ("gcp", "gcp-kms"))
"""What the names of the large services are taken for, by how they begin."""
MOST_KEYS: Final = 100_000


# -- KEKs ------------------------------------------------------------------------------------------


def _kek_entity(stored: StoredKek) -> Kek:
    value = stored.value
    return Kek(
        name=value.name,
        kms_type=value.kms_type,
        kms_key_id=value.kms_key_id,
        kms_props=value.kms_props or None,
        doc=value.doc,
        shared=value.shared,
        ts=stored.ts_ms,
        deleted=value.deleted or None,
    )


def _check_name(name: str) -> None:
    if _NAME.fullmatch(name) is None:
        raise errors.invalid_key(name, "a name has letters, digits, _ and -, and no digit first")


def _check_subject(subject: str) -> None:
    if not subject or any(unicodedata.category(letter) == "Cc" for letter in subject):
        raise errors.invalid_key(subject, "the subject is missing, or has control characters")


def find_kek(state: RegistryState, name: str, *, deleted: bool = False) -> StoredKek:
    """A KEK; 42271 if the name is not allowed, 40470 if there is none."""
    _check_name(name)
    stored = state.keys.keks.get(name)
    if stored is None or (stored.value.deleted and not deleted):
        raise errors.key_not_found(name)
    return stored


def list_keks(
    state: RegistryState,
    *,
    prefixes: tuple[str, ...] = (),
    deleted: bool = False,
    offset: int = 0,
    limit: int = -1,
) -> list[str]:
    """`GET /dek-registry/v1/keks`: names; with prefixes, of those with DEKs of such subjects."""
    if prefixes:
        found = {
            kek
            for (kek, subject, _), versions in state.keys.deks.items()
            if subject.startswith(prefixes) and _has_any(versions, deleted=deleted)
        }
    else:
        found = {
            name for name, stored in state.keys.keks.items() if deleted or not stored.value.deleted
        }
    return page(sorted(found), offset, limit)


def get_kek(state: RegistryState, name: str, *, deleted: bool = False) -> Kek:
    """`GET /dek-registry/v1/keks/{name}`."""
    return _kek_entity(find_kek(state, name, deleted=deleted))


def create_kek(state: RegistryState, request: CreateKekRequest) -> Decision[Kek]:
    """`POST /dek-registry/v1/keks`; 40971 if it exists, also if it is the same.

    The same key with the other value of `deleted` deletes it softly, or takes that back.
    """
    name = request.name or ""
    _check_name(name)
    for title, text in (("kmsKeyId", request.kms_key_id), ("kmsType", request.kms_type)):
        if not text:
            raise errors.invalid_key(name, f"{title} is missing")
    value = KekValue(
        name=name,
        kms_type=_kms_type(request.kms_type or ""),
        kms_key_id=request.kms_key_id,
        kms_props=dict(sorted((request.kms_props or {}).items())),
        doc=request.doc,
        shared=request.shared,
        deleted=request.deleted,
    )
    old = state.keys.keks.get(name)
    if old is None and len(state.keys.keks) >= MOST_KEYS:
        raise errors.too_many_keys(MOST_KEYS)
    if old is not None and not _differ_in_deletion(old.value, value):
        raise errors.key_already_exists(name)
    return _kek_written(state, value)


def _kms_type(given: str) -> str:
    return next((name for start, name in _KMS_TYPES if given.lower().startswith(start)), given)


def _differ_in_deletion(old: KekValue | DekValue, new: KekValue | DekValue) -> bool:
    """Whether two keys are the same but for being deleted."""
    return old != new and msgspec.structs.replace(old, deleted=new.deleted) == new


def _kek_written(state: RegistryState, value: KekValue) -> Decision[Kek]:
    write = (kek_key(value.name), msgspec.json.encode(value))
    return Decision((), lambda: get_kek(state, value.name, deleted=True), (write,))


def update_kek(state: RegistryState, name: str, request: UpdateKekRequest) -> Decision[Kek]:
    """`PUT /dek-registry/v1/keks/{name}`: properties, documentation, and whether it is shared."""
    old = value = find_kek(state, name).value
    if request.kms_props is not msgspec.UNSET:
        props = dict(sorted((request.kms_props or {}).items()))
        value = msgspec.structs.replace(value, kms_props=props)
    if request.doc is not msgspec.UNSET:
        value = msgspec.structs.replace(value, doc=request.doc)
    if request.shared is not msgspec.UNSET:
        value = msgspec.structs.replace(value, shared=bool(request.shared))
    if value == old:
        return Decision((), lambda: get_kek(state, name))
    return _kek_written(state, value)


def delete_kek(state: RegistryState, name: str, *, permanent: bool = False) -> Decision[None]:
    """`DELETE /dek-registry/v1/keks/{name}`; 42272 while it has DEKs."""
    value = find_kek(state, name, deleted=True).value
    for (kek, _, _), versions in state.keys.deks.items():
        if kek == name and (permanent or any(not each.value.deleted for each in versions.values())):
            raise errors.key_is_referenced(name)
    if permanent and not value.deleted:
        raise errors.key_not_soft_deleted(name)
    if permanent:
        return Decision((), lambda: None, ((kek_key(name), None),))
    changed = msgspec.json.encode(msgspec.structs.replace(value, deleted=True))
    return Decision((), lambda: None, () if value.deleted else ((kek_key(name), changed),))


def undelete_kek(state: RegistryState, name: str) -> Decision[None]:
    """`POST /dek-registry/v1/keks/{name}/undelete`."""
    value = find_kek(state, name, deleted=True).value
    changed = msgspec.json.encode(msgspec.structs.replace(value, deleted=False))
    return Decision((), lambda: None, ((kek_key(name), changed),) if value.deleted else ())


# -- DEKs ------------------------------------------------------------------------------------------


def _dek_entity(stored: StoredDek) -> Dek:
    value = stored.value
    return Dek(
        kek_name=value.kek_name,
        subject=value.subject,
        version=value.version,
        algorithm=value.algorithm,
        encrypted_key_material=value.encrypted_key_material,
        ts=stored.ts_ms,
        deleted=value.deleted or None,
    )


def _dek_name(kek_name: str, subject: str, algorithm: str | None) -> DekName:
    name = (algorithm or DEFAULT_ALGORITHM).upper()
    if name not in ALGORITHMS:
        allowed = ", ".join(ALGORITHMS)
        raise errors.invalid_key(subject, f"algorithm {algorithm!r} is none of {allowed}")
    return kek_name, normalized(subject), name


def _has_any(versions: Mapping[int, StoredDek], *, deleted: bool) -> bool:
    return any(deleted or not each.value.deleted for each in versions.values())


def list_dek_subjects(
    state: RegistryState,
    kek_name: str,
    *,
    deleted: bool = False,
    offset: int = 0,
    limit: int = -1,
) -> list[str]:
    """`GET …/keks/{name}/deks`: the subjects that have DEKs."""
    find_kek(state, kek_name, deleted=deleted)
    found = {
        subject
        for (kek, subject, _), versions in state.keys.deks.items()
        if kek == kek_name and _has_any(versions, deleted=deleted)
    }
    return page(sorted(found), offset, limit)


def list_dek_versions(
    state: RegistryState,
    kek_name: str,
    subject: str,
    *,
    algorithm: str | None = None,
    deleted: bool = False,
    offset: int = 0,
    limit: int = -1,
) -> list[int]:
    """`GET …/deks/{subject}/versions`; none if there is no such DEK."""
    _check_subject(subject)
    find_kek(state, kek_name, deleted=deleted)
    versions = state.keys.deks.get(_dek_name(kek_name, subject, algorithm), {})
    found = [
        number for number, each in sorted(versions.items()) if deleted or not each.value.deleted
    ]
    return page(found, offset, limit)


def get_dek(
    state: RegistryState,
    kek_name: str,
    subject: str,
    *,
    version: str = "1",
    algorithm: str | None = None,
    deleted: bool = False,
) -> Dek:
    """`GET …/deks/{subject}[/versions/{v}]`."""
    _check_name(kek_name)
    _check_subject(subject)
    number = parsed_version(version)
    find_kek(state, kek_name, deleted=deleted)
    versions = state.keys.deks.get(_dek_name(kek_name, subject, algorithm), {})
    known = {
        each: stored for each, stored in versions.items() if deleted or not stored.value.deleted
    }
    stored = known.get(max(known, default=0) if number == LATEST else number)
    if stored is None:
        raise errors.key_not_found(subject)
    return _dek_entity(stored)


def create_dek(state: RegistryState, kek_name: str, request: CreateDekRequest) -> Decision[Dek]:
    """`POST …/keks/{name}/deks`; 40971 if it exists, also if it is the same.

    The same key with the other value of `deleted` deletes it softly, or takes that back. Under a
    KEK that is deleted softly a DEK can be created only as one that is deleted, too.
    """
    _check_name(kek_name)
    _check_subject(request.subject or "")
    subject = normalized(request.subject or "")
    name = _dek_name(kek_name, subject, request.algorithm)
    number = 1 if request.version is None else request.version
    if number == LATEST:
        number = max(state.keys.deks.get(name, {}), default=0) + 1
    parsed_version(str(number))
    kek = find_kek(state, kek_name, deleted=request.deleted).value
    value = DekValue(*name, number, request.encrypted_key_material, request.deleted)
    old = state.keys.deks.get(name, {}).get(number)
    if old is not None and (kek.shared or not _differ_in_deletion(old.value, value)):
        raise errors.key_already_exists(subject)
    if not request.encrypted_key_material:
        kind = "shared" if kek.shared else "not shared"
        raise errors.invalid_key(
            subject,
            f"encryptedKeyMaterial is missing: the KEK is {kind}, and this registry has no access "
            "to its key-management service, so the client has to encrypt the key",
        )
    write = (dek_key(name, number), msgspec.json.encode(value))
    return Decision(
        (),
        lambda: get_dek(
            state, kek_name, subject, version=str(number), algorithm=name[2], deleted=True
        ),
        (write,),
    )


def _chosen(state: RegistryState, name: DekName, version: str | None) -> dict[int, StoredDek]:
    """One version of a DEK, or all; 40470 if the KEK or the DEK is not there."""
    _check_name(name[0])
    _check_subject(name[1])
    asked = None if version is None else parsed_version(version)
    find_kek(state, name[0], deleted=True)
    versions = state.keys.deks.get(name, {})
    if asked is not None:
        number = max(versions, default=0) if asked == LATEST else asked
        versions = {number: versions[number]} if number in versions else {}
    if not versions:
        raise errors.key_not_found(name[1])
    return versions


def delete_dek(
    state: RegistryState,
    kek_name: str,
    subject: str,
    *,
    version: str | None = None,
    algorithm: str | None = None,
    permanent: bool = False,
) -> Decision[None]:
    """`DELETE …/deks/{subject}[/versions/{v}]`."""
    name = _dek_name(kek_name, subject, algorithm)
    writes: list[Write] = []
    for number, stored in _chosen(state, name, version).items():
        if permanent and not stored.value.deleted:
            raise errors.key_not_soft_deleted(name[1])
        if stored.value.deleted and not permanent:
            continue
        changed = msgspec.json.encode(msgspec.structs.replace(stored.value, deleted=True))
        writes.append((dek_key(name, number), None if permanent else changed))
    return Decision((), lambda: None, tuple(writes))


def undelete_dek(
    state: RegistryState,
    kek_name: str,
    subject: str,
    *,
    version: str | None = None,
    algorithm: str | None = None,
) -> Decision[None]:
    """`POST …/deks/{subject}[/versions/{v}]/undelete`."""
    name = _dek_name(kek_name, subject, algorithm)
    chosen = _chosen(state, name, version)
    if find_kek(state, kek_name, deleted=True).value.deleted:
        raise errors.key_soft_deleted(kek_name)
    writes: list[Write] = []
    for number, stored in chosen.items():
        if stored.value.deleted:
            changed = msgspec.structs.replace(stored.value, deleted=False)
            writes.append((dek_key(name, number), msgspec.json.encode(changed)))
    return Decision((), lambda: None, tuple(writes))
