"""AlterClientQuotas (key 49): change quotas of users, client ids and addresses (KIP-546)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Bool, Float64, Int16, Int32


@request(key=49, versions="0-1", flexible=1)
class AlterClientQuotasRequest:
    entries: list[EntryData]
    validate_only: Bool


@struct
class EntryData:
    """One entity and what changes of it."""

    entity: list[EntityData]
    ops: list[OpData]


@struct
class EntityData:
    """One part of an entity; the default has no name."""

    entity_type: str
    entity_name: str | None


@struct
class OpData:
    """A new value, or none any more."""

    key: str
    value: Float64
    remove: Bool


@response(key=49, versions="0-1", flexible=1)
class AlterClientQuotasResponse:
    throttle_time_ms: Int32 = 0
    entries: list[AlteredEntry]


@struct
class AlteredEntry:
    """The outcome for one entity."""

    error_code: Int16
    error_message: str | None
    entity: list[EntityData]
