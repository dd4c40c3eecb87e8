"""FindCoordinator, v0-v6.

Behaviour: this version has no group and no transaction coordinator, so every key is answered with
COORDINATOR_NOT_AVAILABLE and a sentence that says so. The API is served all the same because
librdkafka takes its absence for a broker too old for LZ4 (its feature table), and would send
batches uncompressed. An unknown key type is INVALID_REQUEST.

Version notes: v1 transactional ids (KIP-98) · v3 flexible · v4 several keys (KIP-699) · v6 share
groups (KIP-932).

Not done: the coordinators themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.broker.dispatch import Answer, Handler
from headrace.errors import Error
from headrace.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.connection import Call

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_ABSENCE: Final = "this broker has no coordinators yet: read with assign() instead of a group"


def handle(broker: Broker, request: FindCoordinatorRequest, call: Call) -> Answer:
    error, message = Error.COORDINATOR_NOT_AVAILABLE, _ABSENCE
    if request.key_type not in (_GROUP, _TRANSACTION, _SHARE):
        error, message = Error.INVALID_REQUEST, f"unknown key type {request.key_type}"
    return FindCoordinatorResponse(
        error_code=error,
        error_message=message,
        node_id=-1,
        host="",
        port=-1,
        coordinators=[
            Coordinator(
                key=key, node_id=-1, host="", port=-1, error_code=error, error_message=message
            )
            for key in request.coordinator_keys
        ],
    )


HANDLER = Handler(key=10, versions=(0, 6), request=FindCoordinatorRequest, handle=handle)
