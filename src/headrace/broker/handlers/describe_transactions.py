"""DescribeTransactions, v0 (KIP-664).

Behaviour: the state, producer and partitions of each transactional id;
TRANSACTIONAL_ID_NOT_FOUND for one that was never used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.transaction.shard import TransactionEffects, TransactionShard
from headrace.errors import Error
from headrace.types import NO_EPOCH, NO_PRODUCER_ID
from headrace.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.transactions.transactions import Transactions


def handle(
    transactions: Transactions, request: DescribeTransactionsRequest, call: Call
) -> Answer[DescribeTransactionsResponse]:
    names = request.transactional_ids

    def work(
        index: int, shard: TransactionShard, who: Caller[TransactionState], now_ms: int
    ) -> TransactionEffects:
        description = shard.handle_describe_transactions(names[index])
        return Effects(replies=[who.reply(description)])

    def refusal(index: int, error: Error) -> TransactionState:
        return TransactionState(
            error_code=error,
            transactional_id=names[index],
            transaction_state="",
            transaction_timeout_ms=0,
            transaction_start_time_ms=-1,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_EPOCH,
            topics=[],
        )

    return transactions.ask_each(
        names,
        call,
        work,
        refusal,
        lambda states: DescribeTransactionsResponse(transaction_states=states),
    )


HANDLER = Handler(
    request=DescribeTransactionsRequest,
    handle=handle,
    portions=Portions("transactional_ids", "transaction_states"),
)
