"""EndTxn, v0-v5.

Behaviour: commits or aborts a transaction. The answer leaves when the decision is committed; the
markers follow. A repeated request is answered as the first one was.

Version notes: v2 PRODUCER_FENCED (KIP-588) · v3 flexible · v5 every end raises the producer's epoch
and the answer tells it (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.errors import Error
from headrace.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.transactions.transactions import Transactions


def handle(
    transactions: Transactions, request: EndTxnRequest, call: Call
) -> Answer[EndTxnResponse]:
    return transactions.ask(
        request.transactional_id,
        call,
        lambda shard, who, now_ms: shard.handle_end_txn(request, who, now_ms),
        _refused,
    )


def _refused(error: Error) -> EndTxnResponse:
    return EndTxnResponse(error_code=error)


HANDLER = Handler(request=EndTxnRequest, handle=handle)
