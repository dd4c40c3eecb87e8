"""InitProducerId, v0-v5.

Behaviour: a fresh producer id with epoch 0 for an idempotent producer; ids come in blocks that the
cluster's tree hands out, so no two producers ever share one. A producer that names its id and epoch
gets a new id, as Kafka does without a transactional id (KIP-360); one without the other is
INVALID_REQUEST.

Version notes: v2 flexible · v3 producer id and epoch (KIP-360) · v5 transactions v2 (KIP-890).

Not done: transactional ids (refused with COORDINATOR_NOT_AVAILABLE, which clients retry, until the
transaction coordinator is part of the broker).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.dispatch import Answer, Handler
from headrace.errors import Error
from headrace.types import NO_EPOCH, NO_PRODUCER_ID
from headrace.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.connection import Call


def handle(broker: Broker, request: InitProducerIdRequest, call: Call) -> Answer:
    if request.transactional_id is not None:
        error = (
            Error.INVALID_REQUEST
            if not request.transactional_id
            else Error.COORDINATOR_NOT_AVAILABLE
        )
        return InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        return InitProducerIdResponse(
            error_code=Error.INVALID_REQUEST, producer_id=-1, producer_epoch=-1
        )
    return _hand_out(broker)


async def _hand_out(broker: Broker) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=0, producer_id=await broker.producer_ids.next_id(), producer_epoch=0
    )


HANDLER = Handler(key=22, versions=(0, 5), request=InitProducerIdRequest, handle=handle)
