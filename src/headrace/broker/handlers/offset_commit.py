"""OffsetCommit, v2-v10.

Behaviour: offsets of a member, checked by its generation or epoch, or of anybody who assigns
partitions by hand. Offsets are answered when they are committed to `__consumer_offsets`.

Version notes: v2-v4 retention time · v6 leader epoch (KIP-320) · v7 static members (KIP-345) · v8
flexible · v9 consumer protocol (KIP-848) · v10 topic ids (KIP-516).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.errors import Error
from headrace.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call


def handle(
    groups: Groups, request: OffsetCommitRequest, call: Call
) -> Answer[OffsetCommitResponse]:
    def refusal(error: Error) -> OffsetCommitResponse:
        return OffsetCommitResponse(
            topics=[
                OffsetCommitResponseTopic(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partitions=[
                        OffsetCommitResponsePartition(
                            partition_index=partition.partition_index, error_code=error
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    return groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.handle_offset_commit(request, who, now_ms),
        refusal,
    )


HANDLER = Handler(request=OffsetCommitRequest, handle=handle)
