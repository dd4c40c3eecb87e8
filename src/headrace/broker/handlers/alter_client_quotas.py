"""AlterClientQuotas, v0-v1 (KIP-546).

Behaviour: each entity is judged on its own, and all that are accepted are written in one
transaction of the tree; brokers act on them as soon as they hear of it. The value of a quota is
positive and finite (Apache Kafka stores a NaN); byte rates and connection rates are whole numbers.
An entity that occurs twice is refused. `validate_only` answers as if. Removing what is not there is
no error.

Version notes: v1 flexible.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections import Counter
from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.client_quotas import IP, QuotaOp, alter, check_entity
from headrace.cluster.image import ClusterImage, ConfigChanged
from headrace.errors import ClientFault, Error
from headrace.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlteredEntry,
    EntityData,
    EntryData,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call


def handle(
    metadata: Metadata, request: AlterClientQuotasRequest, call: Call
) -> Answer[AlterClientQuotasResponse]:
    return _alter(metadata, request)


async def _alter(
    metadata: Metadata, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    known = await _addresses(request)
    seen = Counter(frozenset(_parts(entry)) for entry in request.entries)
    outcomes: list[AlteredEntry] = []

    def decide(image: ClusterImage) -> list[ConfigChanged]:
        accepted: list[ConfigChanged] = []
        outcomes.clear()
        for entry in request.entries:
            outcome = _outcome(entry)
            outcomes.append(outcome)
            try:
                if seen[frozenset(_parts(entry))] > 1:
                    raise ClientFault(Error.INVALID_REQUEST, "The entity occurs twice.")
                entity = check_entity(_parts(entry), known.__contains__)
                ops = [QuotaOp(op.key, None if op.remove else op.value) for op in entry.ops]
                change = alter(image, entity, ops)
            except ClientFault as fault:
                outcome.error_code, outcome.error_message = fault.error, fault.message
            else:
                accepted += [] if change is None else [change]
        return [] if request.validate_only else accepted

    try:
        await metadata.change(decide)
    except ClientFault as fault:
        for outcome in outcomes:
            if not outcome.error_code:
                outcome.error_code, outcome.error_message = fault.error, fault.message
    return AlterClientQuotasResponse(entries=outcomes)


async def _addresses(request: AlterClientQuotasRequest) -> set[str]:
    """Those of the named machines that there are."""
    named = {name for entry in request.entries for kind, name in _parts(entry) if kind == IP}
    known = set()
    for name in named:
        if name is None:
            continue
        try:
            ipaddress.ip_address(name)
        except ValueError:
            try:
                await asyncio.get_running_loop().getaddrinfo(name, None, family=socket.AF_INET)
            except (OSError, UnicodeError):
                continue
        known.add(name)
    return known


def _parts(entry: EntryData) -> list[tuple[str, str | None]]:
    return [(each.entity_type, each.entity_name) for each in entry.entity]


def _outcome(entry: EntryData) -> AlteredEntry:
    entity = [
        EntityData(entity_type=each.entity_type, entity_name=each.entity_name)
        for each in entry.entity
    ]
    return AlteredEntry(error_code=0, error_message=None, entity=entity)


HANDLER = Handler(request=AlterClientQuotasRequest, handle=handle)
