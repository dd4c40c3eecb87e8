"""AlterShareGroupOffsets, v0 (KIP-932).

Behaviour: lets a share group without members go on elsewhere; one that does not exist begins there.
NON_EMPTY_GROUP while it has members. The answer waits until the share coordinators have written it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.features import SHARE_VERSION
from headrace.errors import Error
from headrace.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call


def handle(
    metadata: Metadata, groups: Groups, request: AlterShareGroupOffsetsRequest, call: Call
) -> Answer[AlterShareGroupOffsetsResponse]:
    if metadata.image.feature_level(SHARE_VERSION) < 1:
        return _refused(Error.UNSUPPORTED_VERSION)
    return groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.share.handle_alter_offsets(request, who, now_ms),
        _refused,
    )


def _refused(error: Error) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(error_code=error, responses=[])


HANDLER = Handler(request=AlterShareGroupOffsetsRequest, handle=handle)
