"""Whose settings `kafka-configs` is asked for: `--topic t`, or `--entity-type topics …`.

Both spellings become types and names in the order of the command line; the empty name is the
default for all. Which go together, and with what, is decided here; nothing is asked of a broker.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from headrace.cli.kafka_compat.administering import Told, refuse_together
from headrace.cli.kafka_compat.flags import Given, flags

TOPICS: Final = "topics"
CLIENTS: Final = "clients"
USERS: Final = "users"
BROKERS: Final = "brokers"
BROKER_LOGGERS: Final = "broker-loggers"
IPS: Final = "ips"
CLIENT_METRICS: Final = "client-metrics"
GROUPS: Final = "groups"
TYPES: Final = (
    TOPICS, CLIENTS, USERS, BROKERS, IPS, CLIENT_METRICS, GROUPS, BROKER_LOGGERS
)  # fmt: skip
DEFAULT: Final = ""
_NAMED: Final = {
    "--topic": TOPICS,
    "--client": CLIENTS,
    "--user": USERS,
    "--broker": BROKERS,
    "--broker-logger": BROKER_LOGGERS,
    "--client-metrics": CLIENT_METRICS,
    "--ip": IPS,
    "--group": GROUPS,
}
_DEFAULTS: Final = {
    "--client-defaults": CLIENTS,
    "--user-defaults": USERS,
    "--broker-defaults": BROKERS,
    "--ip-defaults": IPS,
}
_GENERAL: Final = ("--entity-type", "--entity-name", "--entity-default")
ENTITY_FLAGS: Final = flags(
    "--entity-type= --entity-name= --entity-default", *(f"{each}=" for each in _NAMED), *_DEFAULTS
)
_WITH_DEFAULT: Final = (USERS, CLIENTS, BROKERS, IPS)


class Entities(NamedTuple):
    """Types and their names; fewer names than types where all of the last type are meant."""

    types: tuple[str, ...]
    names: tuple[str, ...]


def read_entities(given: Given) -> Entities:
    """What was named, once it goes together."""
    types = [*given.all("--entity-type")]
    names = [
        value if flag == "--entity-name" else DEFAULT
        for flag, value in given.sequence
        if flag in ("--entity-name", "--entity-default")
    ]
    for flag, kind in _NAMED.items():
        if given.has(flag):
            types.append(kind)
            names.append(given.text(flag) or DEFAULT)
    for flag, kind in _DEFAULTS.items():
        if given.has(flag):
            types.append(kind)
            names.append(DEFAULT)
    entities = Entities(tuple(types), tuple(names))
    _check_types(entities)
    if any(map(given.has, _GENERAL)) and any(map(given.has, (*_NAMED, *_DEFAULTS))):
        raise Told(
            "--entity-{type,name,default} should not be used in conjunction with specific entity "
            "flags"
        )
    _check_names(given, entities)
    return entities


def _check_types(entities: Entities) -> None:
    types = entities.types
    twice = [kind for kind, count in Counter(types).items() if count > 1]
    if twice:
        raise Told(f"Duplicate entity type(s) specified: {','.join(twice)}")
    for kind in types:
        if kind not in TYPES:
            raise Told(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(TYPES)} "
                "with a --bootstrap-server or --bootstrap-controller argument"
            )
    if not types:
        raise Told("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {USERS, CLIENTS}:
        raise Told("Only 'users' and 'clients' entity types may be specified together")


def _check_names(given: Given, entities: Entities) -> None:
    types, names = entities
    for kind, name in zip(types, names, strict=False):
        if kind in (BROKERS, BROKER_LOGGERS) and name and not name.isdecimal():
            raise Told(
                f"The entity name for {kind} must be a valid integer broker id, but it is: {name}"
            )
        if kind == IPS and name and not _is_address(name):
            raise Told(
                f"The entity name for {kind} must be a valid IP or resolvable host, but it is: "
                f"{name}"
            )
    listed = ",".join(types)
    has_default = DEFAULT in names
    has_name = any(names)
    if given.has("--describe"):
        if has_default and not set(types) & set(_WITH_DEFAULT):
            raise Told(f"--entity-default must not be specified with --describe of {listed}")
        if BROKER_LOGGERS in types and not has_name:
            raise Told(f"An entity name must be specified with --describe of {listed}")
    elif set(types) & set(_WITH_DEFAULT):
        if not has_name and not has_default:
            raise Told(
                "An entity-name or default entity must be specified with --alter of users, "
                "clients, brokers or ips"
            )
        if len(names) != len(types):
            raise Told("An entity name must be specified for every entity type")
    elif not has_name:
        raise Told(f"An entity name must be specified with --alter of {listed}")


def _is_address(name: str) -> bool:
    import socket

    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True


def check_changes(given: Given) -> None:
    """What is to be changed, and that it is asked for in one way."""
    refuse_together(given, "--describe", "--alter", "--add-config", "--delete-config")
    if given.has("--alter"):
        if given.has("--add-config") and given.has("--add-config-file"):
            raise Told("Only one of --add-config or --add-config-file must be specified")
        changes = ("--add-config", "--add-config-file", "--delete-config")
        if not any(map(given.has, changes)):
            raise Told(
                "At least one of --add-config, --add-config-file, or --delete-config must be "
                "specified with --alter"
            )
