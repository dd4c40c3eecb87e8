"""InitializeShareGroupState, v0. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- starts the states of share partitions again, in a state epoch that the group coordinator gives;
  FENCED_STATE_EPOCH if there is a later one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker import share_operations
from headrace.broker.dispatch import Answer, Handler
from headrace.wire.messages.initialize_share_group_state import InitializeShareGroupStateRequest

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.call import Call


def handle(broker: Broker, request: InitializeShareGroupStateRequest, call: Call) -> Answer:
    return share_operations.handle(share_operations.INITIALIZE, broker, request, call)


HANDLER = Handler(key=83, versions=(0, 0), request=InitializeShareGroupStateRequest, handle=handle)
