"""ShareGroupHeartbeat, v1 (KIP-932).

Behaviour: the whole protocol of share groups in one request: joining, leaving, subscriptions; the
answer carries the member's epoch and, when it changes, its assignment. A group of another kind is
GROUP_ID_NOT_FOUND. While the state of its partitions is being prepared a member is asked to come
back within a quarter of a second, so that it gets them at once and not after an interval.

Version notes: v0 was a preview and is not served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.features import SHARE_VERSION
from headrace.errors import Error
from headrace.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call


def handle(
    metadata: Metadata, groups: Groups, request: ShareGroupHeartbeatRequest, call: Call
) -> Answer[ShareGroupHeartbeatResponse]:
    if metadata.image.feature_level(SHARE_VERSION) < 1:
        return _refused(Error.UNSUPPORTED_VERSION)
    return groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.share.handle_heartbeat(request, who, now_ms),
        _refused,
    )


def _refused(error: Error) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=error, member_epoch=0, heartbeat_interval_ms=0)


HANDLER = Handler(request=ShareGroupHeartbeatRequest, handle=handle)
