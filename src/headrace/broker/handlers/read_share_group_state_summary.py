"""ReadShareGroupStateSummary, v0-v1. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- gives epochs, start offsets and the number of delivered records, for those who describe offsets.

Version notes: v1 the number of delivered records (KIP-1226).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.sharing import operations as share_operations
from headrace.wire.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
)

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.sharing.coordinators import Shares


def handle(
    shares: Shares, request: ReadShareGroupStateSummaryRequest, call: Call
) -> Answer[ReadShareGroupStateSummaryResponse]:
    return share_operations.answer(share_operations.SUMMARY, shares, request, call)


HANDLER = Handler(request=ReadShareGroupStateSummaryRequest, handle=handle)
