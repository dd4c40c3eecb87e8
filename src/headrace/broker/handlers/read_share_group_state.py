"""ReadShareGroupState, v0. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- gives the leader of a partition its state, and fences the leaders before it from writing;
- INVALID_REQUEST if there is no state; FENCED_LEADER_EPOCH if a later leader has read it.
"""

from __future__ import annotations

from headrace.broker.net.handler import Handler
from headrace.broker.sharing.operations import READ
from headrace.wire.messages.read_share_group_state import ReadShareGroupStateRequest

HANDLER = Handler(request=ReadShareGroupStateRequest, handle=READ.answer)
