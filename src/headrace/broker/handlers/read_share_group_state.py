"""ReadShareGroupState, v0. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- gives the leader of a partition its state, and fences the leaders before it from writing;
- INVALID_REQUEST if there is no state; FENCED_LEADER_EPOCH if a later leader has read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker import share_operations
from headrace.broker.dispatch import Answer, Handler
from headrace.wire.messages.read_share_group_state import ReadShareGroupStateRequest

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.call import Call


def handle(broker: Broker, request: ReadShareGroupStateRequest, call: Call) -> Answer:
    return share_operations.handle(share_operations.READ, broker, request, call)


HANDLER = Handler(key=84, versions=(0, 0), request=ReadShareGroupStateRequest, handle=handle)
