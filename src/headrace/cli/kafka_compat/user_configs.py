"""What `kafka-configs` sets for users, clients and addresses: limits, and passwords of SCRAM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from headrace.admin.client import Admin
from headrace.admin.credentials import change_credentials, read_credentials
from headrace.admin.faults import Fault
from headrace.admin.quotas import (
    CLIENT_ID,
    IP,
    USER,
    Named,
    change_quotas,
    read_quotas,
)
from headrace.cli.kafka_compat.administering import Told
from headrace.cli.kafka_compat.config_entities import CLIENTS, DEFAULT, IPS, USERS, Entities
from headrace.cli.kafka_compat.config_values import is_scram, java_double, passwords, quota_of
from headrace.cli.kafka_compat.java_errors import java_name, words_of
from headrace.client.connection import Unsupported

LIMITS: Final = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
CONNECTION_LIMITS: Final = ("connection_creation_rate",)
_PARTS: Final = {USERS: USER, CLIENTS: CLIENT_ID, IPS: IP}
_SHOWN: Final = {USER: "user-principal", CLIENT_ID: "client-id", IP: "ip"}
_NO_SCRAM: Final = "the broker keeps no SCRAM credentials (it does not serve {})"


def alter_limits(
    admin: Admin, entities: Entities, values: Mapping[str, str], names: Sequence[str]
) -> None:
    """Set and take away; limits and passwords not at once, as Kafka has it."""
    kind = entities.types[0]
    if kind == IPS:
        _refuse_others("connection quota", entities, values, names, CONNECTION_LIMITS.__contains__)
    elif kind == CLIENTS or len(entities.types) == 2:
        _refuse_others("quota", entities, values, names, LIMITS.__contains__)
    else:
        _refuse_others(
            "quota and SCRAM credential",
            entities,
            values,
            names,
            lambda key: key in LIMITS or is_scram(key),
        )
        scram = [key for key in (*values, *names) if is_scram(key)]
        if scram and len(scram) < len(values) + len(names):
            raise Told(
                "Cannot alter both quota and SCRAM credential configs simultaneously for "
                f"'{kind}' using --bootstrap-server."
            )
        if scram:
            _alter_passwords(admin, entities.names[0], values, names)
            return
    _alter_quotas(admin, entities, values, names)


def _refuse_others(
    what: str,
    entities: Entities,
    values: Iterable[str],
    names: Iterable[str],
    is_allowed: Callable[[str], bool],
) -> None:
    for keys, verb in ((values, "added"), (names, "deleted")):
        if unknown := [key for key in keys if not is_allowed(key)]:
            raise Told(
                f"Only {what} configs can be {verb} for '{','.join(entities.types)}' using "
                f"--bootstrap-server. Unexpected config names: {','.join(unknown)}"
            )


def _alter_quotas(
    admin: Admin, entities: Entities, values: Mapping[str, str], names: Sequence[str]
) -> None:
    entity = {_PARTS[kind]: name or None for kind, name in zip(*entities, strict=True)}
    changes: dict[str, float | None] = {key: quota_of(key, text) for key, text in values.items()}
    if names:
        found = read_quotas(admin, {kind: Named(name) for kind, name in entity.items()})
        there = found[0][1] if found else {}
        if unknown := [key for key in names if key not in there]:
            raise Told(f"Invalid config(s): {','.join(unknown)}")
        changes |= dict.fromkeys(names)
    change_quotas(admin, entity, changes)


def _alter_passwords(
    admin: Admin, user: str, values: Mapping[str, str], names: Sequence[str]
) -> None:
    if user == DEFAULT:
        raise Told(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM "
            "Credentials using --bootstrap-server."
        )
    changes = {**dict.fromkeys(names), **passwords(values)}
    try:
        change_credentials(admin, user, changes)
    except Unsupported:
        raise Told(_NO_SCRAM.format("AlterUserScramCredentials")) from None


# -- showing --------------------------------------------------------------------------------------


def describe_limits(admin: Admin, entities: Entities, *, has_credentials: bool) -> None:
    types, names = entities
    if len(names) > len(types):
        raise Told("More entity names specified than entity types")
    wanted = {
        _PARTS[kind]: Named(names[place] or None) if place < len(names) else None
        for place, kind in enumerate(types)
    }
    for entity, values in read_quotas(admin, wanted):
        who = ", ".join(_who(kind, entity[kind]) for kind in _SHOWN if kind in entity)
        limits = ", ".join(f"{key}={java_double(value)}" for key, value in values.items())
        print(f"Quota configs for {who} are {limits}")
    if has_credentials and CLIENTS not in types and DEFAULT not in names:
        _describe_passwords(admin, names)


def _who(kind: str, name: str | None) -> str:
    return f"the default {_SHOWN[kind]}" if name is None else f"{_SHOWN[kind]} '{name}'"


def _describe_passwords(admin: Admin, users: Sequence[str]) -> None:
    try:
        found = read_credentials(admin, users)
    except Unsupported:
        raise Told(_NO_SCRAM.format("DescribeUserScramCredentials")) from None
    for user, told in found.items():
        if isinstance(told, Fault):
            name = java_name(told.error).rpartition(".")[2]
            print(
                f"Error retrieving SCRAM credential configs for user-principal '{user}': {name}: "
                f"{words_of(told)}"
            )
        else:
            text = ", ".join(f"{each}=iterations={count}" for each, count in told.items())
            print(f"SCRAM credential configs for user-principal '{user}' are {text}")
