"""Heartbeat, v0-v4.

Behaviour: keeps a member of the classic protocol alive; REBALANCE_IN_PROGRESS tells it to join
again.

Version notes: v3 static members (KIP-345) · v4 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.errors import Error
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call


def handle(groups: Groups, request: HeartbeatRequest, call: Call) -> Answer[HeartbeatResponse]:
    return groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.handle_heartbeat(request, who, now_ms),
        _refused,
    )


def _refused(error: Error) -> HeartbeatResponse:
    # A member whose group is still being loaded is alive as far as anybody knows.
    if error is Error.COORDINATOR_LOAD_IN_PROGRESS:
        error = Error.NONE
    return HeartbeatResponse(error_code=error)


HANDLER = Handler(request=HeartbeatRequest, handle=handle)
