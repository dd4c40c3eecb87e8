"""DeleteShareGroupState, v0. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- forgets states; one that is not known is as good as forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker import share_operations
from headrace.broker.dispatch import Answer, Handler
from headrace.wire.messages.delete_share_group_state import DeleteShareGroupStateRequest

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.call import Call


def handle(broker: Broker, request: DeleteShareGroupStateRequest, call: Call) -> Answer:
    return share_operations.handle(share_operations.DELETE, broker, request, call)


HANDLER = Handler(key=86, versions=(0, 0), request=DeleteShareGroupStateRequest, handle=handle)
