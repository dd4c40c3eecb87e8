"""ReadShareGroupStateSummary, v0-v1. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- gives epochs, start offsets and the number of delivered records, for those who describe offsets.

Version notes: v1 the number of delivered records (KIP-1226).
"""

from __future__ import annotations

from headrace.broker.net.handler import Handler
from headrace.broker.sharing.operations import SUMMARY
from headrace.wire.messages.read_share_group_state_summary import ReadShareGroupStateSummaryRequest

HANDLER = Handler(request=ReadShareGroupStateSummaryRequest, handle=SUMMARY.answer)
