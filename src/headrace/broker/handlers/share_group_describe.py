"""ShareGroupDescribe, v1 (KIP-932).

Behaviour: epochs, assignor, members with what they may fetch from. A group of another kind, or
none, is GROUP_ID_NOT_FOUND.

Version notes: v0 was a preview and is not served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker import authorized_operations
from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.cluster.features import SHARE_VERSION
from headrace.coordinator.group.share.groups import refused_description
from headrace.errors import Error
from headrace.wire.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call


def handle(
    metadata: Metadata, groups: Groups, request: ShareGroupDescribeRequest, call: Call
) -> Answer[ShareGroupDescribeResponse]:
    names = request.group_ids
    if metadata.image.feature_level(SHARE_VERSION) < 1:
        refused = [refused_description(name, Error.UNSUPPORTED_VERSION) for name in names]
        return ShareGroupDescribeResponse(groups=refused)

    def combine(groups: list[DescribedGroup]) -> ShareGroupDescribeResponse:
        for group in groups:
            if request.include_authorized_operations and not group.error_code:
                group.authorized_operations = authorized_operations.ON_GROUP
        return ShareGroupDescribeResponse(groups=groups)

    return groups.ask_each(
        names,
        call,
        lambda index, shard, who, now_ms: shard.share.handle_describe(names[index], who, now_ms),
        lambda index, error: refused_description(names[index], error),
        combine,
    )


HANDLER = Handler(
    request=ShareGroupDescribeRequest,
    handle=handle,
    portions=Portions("group_ids", "groups"),
)
