"""JoinGroup, v0-v9.

Behaviour: a member joins a group of the classic protocol, or goes on as a classic member of a
consumer group; the answer waits until everybody has joined or the rebalance timeout is over.

Version notes: v1 rebalance timeout · v4 the first join is answered with MEMBER_ID_REQUIRED
(KIP-394) · v5 static members (KIP-345) · v6 flexible · v7 protocol type · v8 reason (KIP-800) · v9
the leader may be asked to skip the assignment (KIP-814).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.coordinator.group.answers import join_refused
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call


def handle(groups: Groups, request: JoinGroupRequest, call: Call) -> Answer[JoinGroupResponse]:
    return groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.handle_join_group(request, who, now_ms),
        lambda error: join_refused(error, request.member_id),
    )


HANDLER = Handler(request=JoinGroupRequest, handle=handle)
