"""DeleteShareGroupState, v0. Sent by brokers to share coordinators (KIP-932).

Behaviour:
- forgets states; one that is not known is as good as forgotten.
"""

from __future__ import annotations

from headrace.broker.net.handler import Handler
from headrace.broker.sharing.operations import DELETE
from headrace.wire.messages.delete_share_group_state import DeleteShareGroupStateRequest

HANDLER = Handler(request=DeleteShareGroupStateRequest, handle=DELETE.answer)
