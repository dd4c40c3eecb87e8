"""ReadShareGroupState, v0. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- gives the leader of a partition its state, and fences the leaders before it from writing;
- INVALID_REQUEST if there is no state; FENCED_LEADER_EPOCH if a later leader has read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.sharing import operations as share_operations
from headrace.wire.messages.read_share_group_state import (
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
)

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.sharing.coordinators import Shares


def handle(
    shares: Shares, request: ReadShareGroupStateRequest, call: Call
) -> Answer[ReadShareGroupStateResponse]:
    return share_operations.answer(share_operations.READ, shares, request, call)


HANDLER = Handler(request=ReadShareGroupStateRequest, handle=handle)
