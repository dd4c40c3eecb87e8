"""What a process keeps of the registries it talks to: clients, and schemas that were not found.

Spark's workers are forked and live on from one batch to the next, so a schema is fetched once per
worker. A connection must not be shared with a parent: a client belongs to the process that made it.
"""

from __future__ import annotations

import os
from typing import Final
from uuid import UUID

from headrace.client.registry import (
    RegisteredSchema,
    RegistryClient,
    RegistryRefused,
    RegistrySettings,
)
from headrace.client.registry.cache import Cache
from headrace.schemas.model import InvalidValue

SchemaKey = int | UUID
"""How a record names its schema."""

UNKNOWN_TTL_S: Final = 5.0
"""How long an id stays unknown: a poisoned topic must not become a flood of questions."""
_MAX_UNKNOWN: Final = 1000
_NO_SUCH_SCHEMA: Final = (400, 404, 422)
"""The first and the last are answers to ids that cannot be, such as negative ones."""

_clients: Final[dict[tuple[int, RegistrySettings], RegistryClient]] = {}
_unknown: Final[Cache[tuple[RegistrySettings, SchemaKey], str]] = Cache(_MAX_UNKNOWN)


def client_of(settings: RegistrySettings) -> RegistryClient:
    """The one client of this process and these settings."""
    key = (os.getpid(), settings)
    client = _clients.get(key)
    if client is None:
        client = _clients[key] = RegistryClient(settings)
    return client


def writer_schema(settings: RegistrySettings, key: SchemaKey) -> RegisteredSchema:
    """The schema that a record names; `InvalidValue` if the registry has none such.

    Whatever else goes wrong (nobody answers, a password is refused) stops the query: it says
    nothing about the record.
    """
    reason = _unknown.get((settings, key))
    if reason is None:
        client = client_of(settings)
        try:
            return client.by_guid(key) if isinstance(key, UUID) else client.schema(key)
        except RegistryRefused as refused:
            if refused.http_status not in _NO_SUCH_SCHEMA:
                raise
            reason = f"the registry has no schema {key}"
            _unknown.put((settings, key), reason, UNKNOWN_TTL_S)
    raise InvalidValue(reason)
