"""AddOffsetsToTxn, v0-v4.

Behaviour: makes the partition of `__consumer_offsets` that keeps a group's offsets part of a
transaction. Clients of transactions v2 leave this to TxnOffsetCommit (KIP-890). The others ask this
before they look for the group's coordinator, so the topic is made here if it does not exist yet.

Version notes: v2 PRODUCER_FENCED (KIP-588) · v3 flexible · v4 TRANSACTION_ABORTABLE (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler, Outcome
from headrace.errors import ClientFault, Error
from headrace.types import TopicPartition
from headrace.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call
    from headrace.broker.transactions.transactions import Transactions


def handle(
    groups: Groups, transactions: Transactions, request: AddOffsetsToTxnRequest, call: Call
) -> Answer[AddOffsetsToTxnResponse]:
    if not groups.partition_count:
        return _create_then_add(groups, transactions, request, call)
    return _add(groups, transactions, request, call)


async def _create_then_add(
    groups: Groups, transactions: Transactions, request: AddOffsetsToTxnRequest, call: Call
) -> Outcome[AddOffsetsToTxnResponse]:
    try:
        await groups.create_topic()
    except ClientFault:
        return _refused(Error.COORDINATOR_NOT_AVAILABLE)
    return _add(groups, transactions, request, call)


def _add(
    groups: Groups, transactions: Transactions, request: AddOffsetsToTxnRequest, call: Call
) -> Outcome[AddOffsetsToTxnResponse]:
    offsets = TopicPartition(groups.topic_name, groups.index_of(request.group_id))

    return transactions.ask(
        request.transactional_id,
        call,
        lambda shard, who, now_ms: shard.handle_add_offsets_to_txn(request, who, offsets, now_ms),
        _refused,
    )


def _refused(error: Error) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=error)


HANDLER = Handler(request=AddOffsetsToTxnRequest, handle=handle)
