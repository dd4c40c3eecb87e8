"""WriteShareGroupState, v0-v1. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- keeps what became of records, as an update or, after a number of them, as a snapshot;
- FENCED_LEADER_EPOCH and FENCED_STATE_EPOCH refuse leaders and states of earlier days.

Version notes: v1 the number of delivered records (KIP-1226).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.sharing import operations as share_operations
from headrace.wire.messages.write_share_group_state import (
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
)

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.sharing.coordinators import Shares


def handle(
    shares: Shares, request: WriteShareGroupStateRequest, call: Call
) -> Answer[WriteShareGroupStateResponse]:
    return share_operations.answer(share_operations.WRITE, shares, request, call)


HANDLER = Handler(request=WriteShareGroupStateRequest, handle=handle)
