"""WriteShareGroupState, v0-v1. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- keeps what became of records, as an update or, after a number of them, as a snapshot;
- FENCED_LEADER_EPOCH and FENCED_STATE_EPOCH refuse leaders and states of earlier days.

Version notes: v1 the number of delivered records (KIP-1226).
"""

from __future__ import annotations

from headrace.broker.net.handler import Handler
from headrace.broker.sharing.operations import WRITE
from headrace.wire.messages.write_share_group_state import WriteShareGroupStateRequest

HANDLER = Handler(request=WriteShareGroupStateRequest, handle=WRITE.answer)
