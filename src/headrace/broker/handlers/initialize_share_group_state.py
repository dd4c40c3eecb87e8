"""InitializeShareGroupState, v0. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- starts the states of share partitions again, in a state epoch that the group coordinator gives;
  FENCED_STATE_EPOCH if there is a later one.
"""

from __future__ import annotations

from headrace.broker.net.handler import Handler
from headrace.broker.sharing.operations import INITIALIZE
from headrace.wire.messages.initialize_share_group_state import InitializeShareGroupStateRequest

HANDLER = Handler(request=InitializeShareGroupStateRequest, handle=INITIALIZE.answer)
