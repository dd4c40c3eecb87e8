"""DeleteShareGroupOffsets, v0 (KIP-932).

Behaviour: lets a share group without members forget topics, as if it had never read them.
NON_EMPTY_GROUP while it has members, GROUP_ID_NOT_FOUND if there is no such share group;
UNKNOWN_TOPIC_OR_PARTITION for topics that do not exist or that it has not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.dispatch import Answer, Handler
from headrace.cluster.features import SHARE_VERSION
from headrace.errors import Error
from headrace.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.call import Call


def handle(broker: Broker, request: DeleteShareGroupOffsetsRequest, call: Call) -> Answer:
    if broker.metadata.image.feature_level(SHARE_VERSION) < 1:
        return _refused(Error.UNSUPPORTED_VERSION)
    return broker.groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.share.handle_delete_offsets(request, who, now_ms),
        _refused,
    )


def _refused(error: Error) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=error, responses=[])


HANDLER = Handler(key=92, versions=(0, 0), request=DeleteShareGroupOffsetsRequest, handle=handle)
