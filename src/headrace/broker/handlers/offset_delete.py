"""OffsetDelete, v0 (KIP-496).

Behaviour: forgets the offsets of a group for single partitions; GROUP_SUBSCRIBED_TO_TOPIC where a
member still reads the topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.errors import Error
from headrace.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call


def handle(
    groups: Groups, request: OffsetDeleteRequest, call: Call
) -> Answer[OffsetDeleteResponse]:
    return groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.handle_offset_delete(request, who, now_ms),
        _refused,
    )


def _refused(error: Error) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error, topics=[])


HANDLER = Handler(request=OffsetDeleteRequest, handle=handle)
