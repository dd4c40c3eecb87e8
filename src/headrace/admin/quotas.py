"""Limits of users, clients and addresses: what is set, and what shall be.

An entity is a mapping of `user`, `client-id` and `ip` to a name; None is the default for all that
have no limit of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from headrace.admin.client import Admin
from headrace.admin.faults import raise_for

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
_EXACT: Final = 0
_DEFAULT: Final = 1
_ANY: Final = 2

Entity: TypeAlias = Mapping[str, str | None]
Values: TypeAlias = Mapping[str, float]


class Named(NamedTuple):
    """The entity of this name; None is the default."""

    name: str | None


Wanted: TypeAlias = Mapping[str, Named | None]
"""Parts that an entity must have; None is any name."""


def read_quotas(
    admin: Admin, wanted: Wanted, *, exactly: bool = True
) -> list[tuple[dict[str, str | None], Values]]:
    """The limits of every entity that has these parts, and unless `exactly` others as well."""
    from headrace.wire.messages.describe_client_quotas import (
        ComponentData,
        DescribeClientQuotasRequest,
    )

    components = [
        ComponentData(
            entity_type=kind,
            match_type=_ANY if each is None else _DEFAULT if each.name is None else _EXACT,
            match=None if each is None else each.name,
        )
        for kind, each in wanted.items()
    ]
    answer = admin.ask(DescribeClientQuotasRequest(components=components, strict=exactly))
    raise_for(answer.error_code, answer.error_message)
    return [
        (
            {part.entity_type: part.entity_name for part in entry.entity},
            {each.key: each.value for each in entry.values},
        )
        for entry in answer.entries or ()
    ]


def change_quotas(admin: Admin, entity: Entity, values: Mapping[str, float | None]) -> None:
    """Set limits of one entity; None takes one away."""
    from headrace.wire.messages.alter_client_quotas import (
        AlterClientQuotasRequest,
        EntityData,
        EntryData,
        OpData,
    )

    entry = EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[
            OpData(key=key, value=0.0 if value is None else value, remove=value is None)
            for key, value in values.items()
        ],
    )
    for each in admin.ask(AlterClientQuotasRequest(entries=[entry], validate_only=False)).entries:
        raise_for(each.error_code, each.error_message)
