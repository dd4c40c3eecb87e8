"""ReadShareGroupStateSummary, v0-v1. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- gives epochs, start offsets and the number of delivered records, for those who describe offsets.

Version notes: v1 the number of delivered records (KIP-1226).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker import share_operations
from headrace.broker.dispatch import Answer, Handler
from headrace.wire.messages.read_share_group_state_summary import ReadShareGroupStateSummaryRequest

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.call import Call


def handle(broker: Broker, request: ReadShareGroupStateSummaryRequest, call: Call) -> Answer:
    return share_operations.handle(share_operations.SUMMARY, broker, request, call)


HANDLER = Handler(key=87, versions=(0, 1), request=ReadShareGroupStateSummaryRequest, handle=handle)
