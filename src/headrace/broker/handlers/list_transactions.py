"""ListTransactions, v0-v2 (KIP-664).

Behaviour: the transactional ids of this broker that pass the filters; names of states that do not
exist are returned.

Version notes: v1 duration (KIP-994) · v2 pattern of transactional ids (KIP-1152).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.coordinator.host import HostState
from headrace.coordinator.transaction.listing import listed
from headrace.errors import Error
from headrace.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.transactions.transactions import Transactions


def handle(
    transactions: Transactions, request: ListTransactionsRequest, call: Call
) -> Answer[ListTransactionsResponse]:
    if any(host.state is HostState.LOADING for host in transactions.hosts.values()):
        return ListTransactionsResponse(
            error_code=Error.COORDINATOR_LOAD_IN_PROGRESS,
            unknown_state_filters=[],
            transaction_states=[],
        )
    known = (each for host in transactions.active() for each in host.shard.transactions.values())
    return listed(known, request, transactions.now_ms())


HANDLER = Handler(request=ListTransactionsRequest, handle=handle)
