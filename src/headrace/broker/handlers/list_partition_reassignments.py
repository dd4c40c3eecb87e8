"""ListPartitionReassignments, v0 (KIP-455).

Behaviour: the partitions that are being reassigned, and nothing of all others: unknown topics
and partitions are left out as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.reassignments import ongoing
from headrace.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call


def handle(
    metadata: Metadata, request: ListPartitionReassignmentsRequest, call: Call
) -> Answer[ListPartitionReassignmentsResponse]:
    asked = None
    if request.topics is not None:
        asked = {
            (topic.name, index) for topic in request.topics for index in topic.partition_indexes
        }
    topics: dict[str, OngoingTopicReassignment] = {}
    for (name, index), image in sorted(ongoing(metadata.image).items()):
        if asked is None or (name, index) in asked:
            topic = topics.setdefault(name, OngoingTopicReassignment(name=name, partitions=[]))
            topic.partitions.append(
                OngoingPartitionReassignment(
                    partition_index=index,
                    replicas=list(image.replicas),
                    adding_replicas=list(image.adding),
                    removing_replicas=list(image.removing),
                )
            )
    return ListPartitionReassignmentsResponse(
        error_code=0, error_message=None, topics=list(topics.values())
    )


HANDLER = Handler(request=ListPartitionReassignmentsRequest, handle=handle)
