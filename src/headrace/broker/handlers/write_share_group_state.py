"""WriteShareGroupState, v0-v1. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- keeps what became of records, as an update or, after a number of them, as a snapshot;
- FENCED_LEADER_EPOCH and FENCED_STATE_EPOCH refuse leaders and states of earlier days.

Version notes: v1 the number of delivered records (KIP-1226).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker import share_operations
from headrace.broker.dispatch import Answer, Handler
from headrace.wire.messages.write_share_group_state import WriteShareGroupStateRequest

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.call import Call


def handle(broker: Broker, request: WriteShareGroupStateRequest, call: Call) -> Answer:
    return share_operations.handle(share_operations.WRITE, broker, request, call)


HANDLER = Handler(key=85, versions=(0, 1), request=WriteShareGroupStateRequest, handle=handle)
