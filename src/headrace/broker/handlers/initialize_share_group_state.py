"""InitializeShareGroupState, v0. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- starts the states of share partitions again, in a state epoch that the group coordinator gives;
  FENCED_STATE_EPOCH if there is a later one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.sharing import operations as share_operations
from headrace.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
)

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.sharing.coordinators import Shares


def handle(
    shares: Shares, request: InitializeShareGroupStateRequest, call: Call
) -> Answer[InitializeShareGroupStateResponse]:
    return share_operations.answer(share_operations.INITIALIZE, shares, request, call)


HANDLER = Handler(request=InitializeShareGroupStateRequest, handle=handle)
