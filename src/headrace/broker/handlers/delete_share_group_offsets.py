"""DeleteShareGroupOffsets, v0 (KIP-932).

Behaviour: lets a share group without members forget topics, as if it had never read them.
NON_EMPTY_GROUP while it has members, GROUP_ID_NOT_FOUND if there is no such share group;
UNKNOWN_TOPIC_OR_PARTITION for topics that do not exist or that it has not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.features import SHARE_VERSION
from headrace.errors import Error
from headrace.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call


def handle(
    metadata: Metadata, groups: Groups, request: DeleteShareGroupOffsetsRequest, call: Call
) -> Answer[DeleteShareGroupOffsetsResponse]:
    if metadata.image.feature_level(SHARE_VERSION) < 1:
        return _refused(Error.UNSUPPORTED_VERSION)
    return groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.share.handle_delete_offsets(request, who, now_ms),
        _refused,
    )


def _refused(error: Error) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=error, responses=[])


HANDLER = Handler(request=DeleteShareGroupOffsetsRequest, handle=handle)
