"""Quotas of clients as stored facts: what a request to change them leads to, and who has which.

They are kept where ZooKeeper-era Kafka kept them, under names that are percent-encoded as it did:

    ENTITY                     NODE BELOW /config
    user U                     users/U
    client-id C                clients/C
    user U and client-id C     users/U/clients/C
    ip A                       ips/A
    the default of a type      <default> in place of the name

A user's node may hold other settings than quotas, which are left alone. Which quota holds for a
client, and what follows from it, is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote

from headrace.cluster import layout
from headrace.cluster.config_owners import DEFAULT_ENTITY, ConfigOwner, OwnerKind
from headrace.cluster.image import ClusterImage, ConfigChanged
from headrace.coordination.tree import MAX_PATH_LENGTH
from headrace.errors import ClientFault, Error

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
TYPES: Final = (USER, CLIENT_ID, IP)

EXACT: Final = 0
DEFAULT: Final = 1
ANY: Final = 2

Entity: TypeAlias = tuple[tuple[str, str | None], ...]
"""Pairs of type and name in the order of `TYPES`; None is the default of a type."""

_KINDS: Final = {USER: OwnerKind.USER, CLIENT_ID: OwnerKind.CLIENT_ID, IP: OwnerKind.IP}
_TYPES: Final = {kind: type_ for type_, kind in _KINDS.items()}

# The largest value of a whole number; the others may be fractions.
_LONG: Final = (1 << 63) - 1
_INT: Final = (1 << 31) - 1
_CLIENT_KEYS: Final[Mapping[str, int | None]] = {
    "producer_byte_rate": _LONG,
    "consumer_byte_rate": _LONG,
    "request_percentage": None,
    "controller_mutation_rate": None,
}
_IP_KEYS: Final[Mapping[str, int | None]] = {"connection_creation_rate": _INT}
_KEYS: Final = {**_CLIENT_KEYS, **_IP_KEYS}
_NEARLY_WHOLE: Final = 1e-6


class QuotaOp(NamedTuple):
    """One line of a request: a new value, or None for none any more."""

    key: str
    value: float | None


class Component(NamedTuple):
    """One line of a question: entities that have this type, with any name, one name or none."""

    type: str
    match_type: int
    match: str | None


def check_entity(
    parts: Sequence[tuple[str, str | None]], is_address: Callable[[str], bool]
) -> Entity:
    """The entity that a request means, or INVALID_REQUEST.

    `is_address` tells whether something names a machine: that may need the network.
    """
    named: dict[str, str | None] = {}
    for kind, name in parts:
        if kind in named:
            raise _invalid(f"Invalid client quota entity, duplicate entity entry {kind}.")
        if kind not in TYPES:
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
        named[kind] = name
    if not named:
        raise _invalid("Invalid empty client quota entity")
    if IP in named:
        if len(named) > 1:
            raise _invalid("An ip cannot be combined with a user or a client-id")
        address = named[IP]
        if address is not None and not is_address(address):
            raise _invalid(f"{address} is not a valid IP or resolvable host.")
    entity = tuple((kind, named[kind]) for kind in TYPES if kind in named)
    if len(layout.config_path(owner_of(entity))) > MAX_PATH_LENGTH:
        raise _invalid("The name is too long for an entity with quotas")
    return entity


def alter(image: ClusterImage, entity: Entity, ops: Sequence[QuotaOp]) -> ConfigChanged | None:
    """What an entity has afterwards; None if that is what it has already."""
    keys = _IP_KEYS if entity[0][0] == IP else _CLIENT_KEYS
    owner = owner_of(entity)
    before = image.config_of(owner)
    after = dict(before)
    for op in ops:
        if op.value is None:
            if op.key in _KEYS:
                after.pop(op.key, None)
        else:
            after[op.key] = _checked(keys, op.key, op.value)
    return ConfigChanged(owner, after) if after != before else None


def describe(
    image: ClusterImage, components: Collection[Component], *, is_strict: bool
) -> Iterator[tuple[Entity, dict[str, float]]]:
    """The entities with quotas that a question means, and these."""
    wanted = _wanted(components)
    for entity, values in all_quotas(image):
        has = dict(entity)
        if is_strict and len(has) != len(wanted):
            continue
        if all(
            kind in has and (ask.match_type == ANY or has[kind] == ask.match)
            for kind, ask in wanted.items()
        ):
            yield entity, values


def all_quotas(image: ClusterImage) -> Iterator[tuple[Entity, dict[str, float]]]:
    """Every entity that has quotas, with these."""
    for kind in sorted(_TYPES):
        for name, configs in sorted(image.configs[kind].items()):
            entity, values = entity_of(ConfigOwner(kind, name)), quota_values(configs)
            if entity and values:
                yield entity, values


def quota_values(configs: Mapping[str, str]) -> dict[str, float]:
    """The quotas among the settings of a node. What is no positive number limits nobody."""
    found = {}
    for key, text in configs.items():
        if key in _KEYS:
            try:
                value = float(text)
            except ValueError:
                continue  # written by hand; there is nobody to tell
            if value > 0 and math.isfinite(value):
                found[key] = value
    return found


def owner_of(entity: Entity) -> ConfigOwner:
    """Whose settings an entity's quotas are among."""
    (kind, first), *rest = [
        (_KINDS[type_], DEFAULT_ENTITY if name is None else _encoded(name))
        for type_, name in entity
    ]
    return ConfigOwner(kind, "/".join([first, *(f"{below}/{name}" for below, name in rest)]))


def entity_of(owner: ConfigOwner) -> Entity:
    """The other direction of `owner_of`; empty for a node that is only there to have others, and
    for who has no quotas.
    """
    words = [owner.kind, *owner.name.split("/")]
    if owner.kind not in _TYPES or len(words) % 2:
        return ()
    return tuple(
        (_TYPES[OwnerKind(folder)], None if name == DEFAULT_ENTITY else unquote(name))
        for folder, name in zip(words[::2], words[1::2], strict=True)
    )


def _encoded(name: str) -> str:
    # As Kafka, which also encodes the one character that Python takes for harmless.
    return layout.node_name(name).replace("~", "%7E")


def _checked(keys: Mapping[str, int | None], key: str, value: float) -> str:
    """A value as it is stored, or INVALID_REQUEST."""
    if key not in keys:
        raise _invalid(f"Invalid configuration key {key}")
    if not value > 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    largest = keys[key]
    if not math.isfinite(value) or (largest is not None and value > largest):
        raise _invalid(f"Proposed value for {key} is too large for a {_type_name(largest)}.")
    if largest is None:
        return repr(float(value))
    if value % 1.0 > _NEARLY_WHOLE:
        raise _invalid(f"{key} cannot be a fractional value.")
    return str(min(int(value), largest))


def _type_name(largest: int | None) -> str:
    return {_LONG: "LONG", _INT: "INT"}.get(largest or 0, "DOUBLE")


def _wanted(components: Collection[Component]) -> dict[str, Component]:
    wanted: dict[str, Component] = {}
    for asked in components:
        kind, match_type, match = asked
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in wanted:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in TYPES:
            raise ClientFault(Error.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        if match_type not in (EXACT, DEFAULT, ANY):
            raise _invalid(f"Unknown match type {match_type}")
        if (match is None) == (match_type == EXACT):
            told = "no" if match is None else "a"
            raise _invalid(f"Match type {match_type} of {kind} comes with {told} name to match.")
        wanted[kind] = asked
    if IP in wanted and len(wanted) > 1:
        raise _invalid("A filter by ip cannot be combined with one by user or client-id.")
    return wanted


def _invalid(message: str) -> ClientFault:
    return ClientFault(Error.INVALID_REQUEST, message)
