"""InitProducerId, v0-v5.

Behaviour: a fresh producer id with epoch 0 for an idempotent producer; ids come in blocks that the
cluster's tree hands out, so no two producers ever share one. A producer that names its id and epoch
gets a new id, as Kafka does without a transactional id (KIP-360); one without the other is
INVALID_REQUEST. A transactional id keeps its producer id; every start raises the epoch, which
fences the instance before, and an open transaction is aborted first.

Version notes: v2 flexible · v3 producer id and epoch (KIP-360) · v4 PRODUCER_FENCED (KIP-588) · v5
transactions v2 (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler, Outcome
from headrace.errors import ClientFault, Error
from headrace.types import NO_EPOCH, NO_PRODUCER_ID
from headrace.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.transactions.producer_ids import ProducerIds
    from headrace.broker.transactions.transactions import Transactions


def handle(
    transactions: Transactions,
    producer_ids: ProducerIds,
    request: InitProducerIdRequest,
    call: Call,
) -> Answer[InitProducerIdResponse]:
    if request.transactional_id is None:
        if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
            return _refused(Error.INVALID_REQUEST)
        return _hand_out(producer_ids)
    if not request.transactional_id:
        return _refused(Error.INVALID_REQUEST)
    if not producer_ids.is_ready:
        return _when_ready(transactions, producer_ids, request, call)
    return _ask(transactions, request, call)


async def _when_ready(
    transactions: Transactions,
    producer_ids: ProducerIds,
    request: InitProducerIdRequest,
    call: Call,
) -> Outcome[InitProducerIdResponse]:
    try:
        await producer_ids.refill()
    except ClientFault as fault:
        return _refused(fault.error)
    return _ask(transactions, request, call)


def _ask(
    transactions: Transactions, request: InitProducerIdRequest, call: Call
) -> Outcome[InitProducerIdResponse]:
    assert request.transactional_id is not None
    return transactions.ask(
        request.transactional_id,
        call,
        lambda shard, who, now_ms: shard.handle_init_producer_id(request, who, now_ms),
        _refused,
    )


def _refused(error: Error) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)


async def _hand_out(producer_ids: ProducerIds) -> InitProducerIdResponse:
    try:
        producer_id = await producer_ids.next_id()
    except ClientFault as fault:
        return _refused(fault.error)
    return InitProducerIdResponse(error_code=0, producer_id=producer_id, producer_epoch=0)


HANDLER = Handler(request=InitProducerIdRequest, handle=handle)
