"""`/dek-registry/v1`: encryption keys, kept encrypted for clients that encrypt fields."""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.http.endpoint import Query
from headrace.registry import deks, errors
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import DELETED, LIMIT, OFFSET, PERMANENT, Kind, new_table
from headrace.registry.entities import (
    CreateDekRequest,
    CreateKekRequest,
    Dek,
    Kek,
    UpdateKekRequest,
)
from headrace.registry.instance import Decide
from headrace.security.users import Role

table: Final = new_table()

_KEKS: Final = "/dek-registry/v1/keks"
_KEK: Final = _KEKS + "/{name}"
_DEKS: Final = _KEK + "/deks"
_DEK: Final = _DEKS + "/{subject}"
_VERSION: Final = _DEK + "/versions/{version}"
_ALGORITHM: Final = Query("algorithm", str, "AES128_GCM, AES256_GCM (default) or AES256_SIV")
_PREFIX: Final = Query(
    "subjectPrefix", list[str], "Only keys that have DEKs of subjects that begin so"
)

# -- keys that encrypt keys ------------------------------------------------------------------------


@table.get(
    _KEKS,
    "The names of the key-encryption keys",
    query=(_PREFIX, DELETED, OFFSET, LIMIT),
    reply=list[str],
)
def list_keks(call: Call) -> list[str]:
    prefixes = tuple(prefix for prefix in call.texts("subjectPrefix") if prefix)
    return deks.list_keks(
        call.state, prefixes=prefixes, deleted=call.flag("deleted"), **call.page_of_subjects()
    )


@table.get(_KEK, "A key-encryption key", query=(DELETED,), reply=Kek, errors=(40470, 42271))
def get_kek(call: Call) -> Kek:
    return deks.get_kek(call.state, call.name("name"), deleted=call.flag("deleted"))


@table.post(
    _KEKS,
    "Create a key-encryption key",
    role=Role.ADMIN,
    query=(Query("testSharing", bool, "Has no effect: no key-management service is called"),),
    body=CreateKekRequest,
    reply=Kek,
    errors=(40971, 40972, 42271),
)
def create_kek(call: Call) -> Decide:
    return lambda state: deks.create_kek(state, call.body)


@table.put(
    _KEK,
    "Change a key-encryption key",
    role=Role.ADMIN,
    body=UpdateKekRequest,
    reply=Kek,
    errors=(40470, 42271),
)
def update_kek(call: Call) -> Decide:
    return lambda state: deks.update_kek(state, call.name("name"), call.body)


@table.delete(
    _KEK,
    "Delete a key-encryption key",
    role=Role.ADMIN,
    query=(PERMANENT,),
    status=204,
    errors=(40470, 40471, 42272),
)
def delete_kek(call: Call) -> Decide:
    permanent = call.flag("permanent")
    return lambda state: deks.delete_kek(state, call.name("name"), permanent=permanent)


@table.post(
    _KEK + "/undelete",
    "Take back the deletion of a key-encryption key",
    role=Role.ADMIN,
    status=204,
    errors=(40470,),
)
def undelete_kek(call: Call) -> Decide:
    return lambda state: deks.undelete_kek(state, call.name("name"))


@table.post(
    _KEK + "/test",
    "Test a key-encryption key, which this registry cannot",
    kind=Kind.READ,
    role=Role.ADMIN,
    reply=Kek,
    errors=(40470, 42271),
)
def try_kek(call: Call) -> Kek:
    found = deks.get_kek(call.state, call.name("name"))
    raise errors.invalid_key(
        found.name, "the registry has no access to key-management services; test it in a client"
    )


# -- keys that encrypt data ------------------------------------------------------------------------


@table.get(
    _DEKS,
    "The subjects that have data-encryption keys",
    query=(DELETED, OFFSET, LIMIT),
    reply=list[str],
    errors=(40470,),
)
def list_deks(call: Call) -> list[str]:
    return deks.list_dek_subjects(
        call.state, call.name("name"), deleted=call.flag("deleted"), **call.page_of_subjects()
    )


@table.get(
    _DEK,
    "The first data-encryption key of a subject",
    query=(_ALGORITHM, DELETED),
    reply=Dek,
    errors=(40470, 42271),
)
def get_dek(call: Call) -> Dek:
    return deks.get_dek(
        call.state,
        call.name("name"),
        call.subject,
        algorithm=call.text("algorithm"),
        deleted=call.flag("deleted"),
    )


@table.get(
    _DEK + "/versions",
    "The versions of a data-encryption key",
    query=(_ALGORITHM, DELETED, OFFSET, LIMIT),
    reply=list[int],
    errors=(40470, 42271),
)
def list_dek_versions(call: Call) -> list[int]:
    return deks.list_dek_versions(
        call.state,
        call.name("name"),
        call.subject,
        algorithm=call.text("algorithm"),
        deleted=call.flag("deleted"),
        **call.page_of_subjects(),
    )


@table.get(
    _VERSION,
    "A version of a data-encryption key",
    query=(_ALGORITHM, DELETED),
    reply=Dek,
    errors=(40470, 42202, 42271),
)
def get_dek_version(call: Call) -> Dek:
    return deks.get_dek(
        call.state,
        call.name("name"),
        call.subject,
        version=call.version,
        algorithm=call.text("algorithm"),
        deleted=call.flag("deleted"),
    )


@table.post(
    _DEKS,
    "Create a data-encryption key",
    body=CreateDekRequest,
    reply=Dek,
    errors=(40470, 40971, 40972, 42202, 42271),
)
def create_dek(call: Call) -> Decide:
    return lambda state: deks.create_dek(state, call.name("name"), call.body)


@table.post(
    _DEK,
    "Create a data-encryption key of a subject",
    body=CreateDekRequest,
    reply=Dek,
    errors=(40470, 40971, 40972, 42202, 42271),
)
def create_dek_of_subject(call: Call) -> Decide:
    request: CreateDekRequest = call.body
    if request.subject not in (None, call.subject):
        raise errors.invalid_key(call.name("name"), "the subject is not the one in the path")
    request = msgspec.structs.replace(request, subject=call.subject)
    return lambda state: deks.create_dek(state, call.name("name"), request)


@table.delete(
    _DEK,
    "Delete all versions of a data-encryption key",
    permanent_role=Role.ADMIN,
    query=(_ALGORITHM, PERMANENT),
    status=204,
    errors=(40470, 40471, 42271),
)
def delete_dek(call: Call) -> Decide:
    return _deletion(call, None)


@table.delete(
    _VERSION,
    "Delete a version of a data-encryption key",
    permanent_role=Role.ADMIN,
    query=(_ALGORITHM, PERMANENT),
    status=204,
    errors=(40470, 40471, 42202, 42271),
)
def delete_dek_version(call: Call) -> Decide:
    return _deletion(call, call.version)


def _deletion(call: Call, version: str | None) -> Decide:
    return lambda state: deks.delete_dek(
        state,
        call.name("name"),
        call.subject,
        version=version,
        algorithm=call.text("algorithm"),
        permanent=call.flag("permanent"),
    )


@table.post(
    _DEK + "/undelete",
    "Take back the deletion of a data-encryption key",
    query=(_ALGORITHM,),
    status=204,
    errors=(40470, 40472, 42271),
)
def undelete_dek(call: Call) -> Decide:
    return _undeletion(call, None)


@table.post(
    _VERSION + "/undelete",
    "Take back the deletion of a version of a data-encryption key",
    query=(_ALGORITHM,),
    status=204,
    errors=(40470, 40472, 42202, 42271),
)
def undelete_dek_version(call: Call) -> Decide:
    return _undeletion(call, call.version)


def _undeletion(call: Call, version: str | None) -> Decide:
    return lambda state: deks.undelete_dek(
        state,
        call.name("name"),
        call.subject,
        version=version,
        algorithm=call.text("algorithm"),
    )
