"""Quotas as the tests set them: by client id, and gone when the test is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from headrace.errors import Error
from headrace.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from headrace.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from tests.clients.contract import eventually
from tests.clients.raw import Connection

Entity = Mapping[str, str | None]
Found = dict[tuple[tuple[str, str | None], ...], dict[str, float]]


def entry_of(entity: Entity, values: Mapping[str, float | None]) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[
            OpData(key=key, value=0.0 if value is None else value, remove=value is None)
            for key, value in values.items()
        ],
    )


def alter(
    connection: Connection,
    entity: Entity,
    values: Mapping[str, float | None],
    *,
    version: int = 1,
    validate_only: bool = False,
) -> Any:
    """The outcome of one entity."""
    request = AlterClientQuotasRequest(
        entries=[entry_of(entity, values)], validate_only=validate_only
    )
    (outcome,) = connection.ask(request, version).entries
    return outcome


def describe(
    connection: Connection,
    *components: tuple[str, int, str | None],
    strict: bool = False,
    version: int = 1,
) -> Found:
    """What was found: quotas by entity."""
    response = ask(connection, *components, strict=strict, version=version)
    assert (response.error_code, response.error_message) == (0, None)
    return {
        tuple(sorted((each.entity_type, each.entity_name) for each in entry.entity)): {
            each.key: each.value for each in entry.values
        }
        for entry in response.entries
    }


def ask(
    connection: Connection,
    *components: tuple[str, int, str | None],
    strict: bool = False,
    version: int = 1,
) -> Any:
    request = DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=match_type, match=match)
            for kind, match_type, match in components
        ],
        strict=strict,
    )
    return connection.ask(request, version)


@contextmanager
def limited_to(connection: Connection, entity: Entity, **values: float) -> Iterator[None]:
    """A quota for as long as it matters; it holds when the block begins."""
    assert alter(connection, entity, values).error_code == Error.NONE
    kind, name = next(iter(entity.items()))
    match_type = 1 if name is None else 0
    eventually(lambda: bool(describe(connection, (kind, match_type, name))), "the quota")
    try:
        yield
    finally:
        assert alter(connection, entity, dict.fromkeys(values)).error_code == Error.NONE


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What comes of it, and the milliseconds that it took."""
    began = time.monotonic()
    result = work()
    return result, (time.monotonic() - began) * 1000
