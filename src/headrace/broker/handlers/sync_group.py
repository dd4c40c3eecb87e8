"""SyncGroup, v0-v5.

Behaviour: the leader brings the assignment, which is persisted before anybody hears of it; the
others wait for it.

Version notes: v3 static members (KIP-345) · v4 flexible · v5 protocol type and name (KIP-559).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.coordinator.group.answers import sync_refused
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call


def handle(groups: Groups, request: SyncGroupRequest, call: Call) -> Answer[SyncGroupResponse]:
    return groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.handle_sync_group(request, who, now_ms),
        sync_refused,
    )


HANDLER = Handler(request=SyncGroupRequest, handle=handle)
