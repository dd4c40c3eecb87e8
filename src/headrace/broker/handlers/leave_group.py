"""LeaveGroup, v0-v5.

Behaviour: one member leaves, or from v3 on several, each with an answer of its own; a static member
may be named by its instance id alone.

Version notes: v3 several members (KIP-345) · v4 flexible · v5 reason (KIP-800).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.errors import Error
from headrace.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call


def handle(groups: Groups, request: LeaveGroupRequest, call: Call) -> Answer[LeaveGroupResponse]:
    return groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.handle_leave_group(request, who, now_ms),
        _refused,
    )


def _refused(error: Error) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error)


HANDLER = Handler(request=LeaveGroupRequest, handle=handle)
