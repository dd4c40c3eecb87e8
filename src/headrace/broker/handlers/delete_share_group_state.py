"""DeleteShareGroupState, v0. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- forgets states; one that is not known is as good as forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.sharing import operations as share_operations
from headrace.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
)

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.sharing.coordinators import Shares


def handle(
    shares: Shares, request: DeleteShareGroupStateRequest, call: Call
) -> Answer[DeleteShareGroupStateResponse]:
    return share_operations.answer(share_operations.DELETE, shares, request, call)


HANDLER = Handler(request=DeleteShareGroupStateRequest, handle=handle)
