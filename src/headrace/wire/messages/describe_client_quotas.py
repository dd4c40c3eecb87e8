"""DescribeClientQuotas (key 48): the quotas of users, client ids and addresses (KIP-546)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Bool, Float64, Int8, Int16, Int32


@request(key=48, versions="0-1", flexible=1)
class DescribeClientQuotasRequest:
    """Which entities: all of the components must match, and with `strict` there are no others."""

    components: list[ComponentData]
    strict: Bool


@struct
class ComponentData:
    """One part of an entity: 0 this name, 1 the default, 2 any that is specified."""

    entity_type: str
    match_type: Int8
    match: str | None


@response(key=48, versions="0-1", flexible=1)
class DescribeClientQuotasResponse:
    """The entities that were found; null with an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    error_message: str | None
    entries: list[EntryData] | None


@struct
class EntryData:
    """One entity and its quotas."""

    entity: list[EntityData]
    values: list[ValueData]


@struct
class EntityData:
    """One part of an entity; the default has no name."""

    entity_type: str
    entity_name: str | None


@struct
class ValueData:
    key: str
    value: Float64
