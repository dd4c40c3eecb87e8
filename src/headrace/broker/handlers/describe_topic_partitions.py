"""DescribeTopicPartitions, v0 (KIP-966).

Behaviour: partitions of the asked topics (all topics when none is named) in the order of their
names, at most `response_partition_limit` of them; the cursor tells where the next page begins.

Not done: eligible leader replicas. A leader comes from the in-sync ones, so the lists are empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.broker.membership.partition_view import view
from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.topic_names import INTERNAL_TOPICS, name_problem
from headrace.errors import Error
from headrace.types import ZERO_UUID
from headrace.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.storage.storage import Storage
    from headrace.cluster.image import TopicImage

_MOST_PARTITIONS: Final = 2000  # max.request.partition.size.limit


def handle(
    metadata: Metadata, storage: Storage, request: DescribeTopicPartitionsRequest, call: Call
) -> Answer[DescribeTopicPartitionsResponse]:
    image = metadata.image
    limit = max(1, min(request.response_partition_limit, _MOST_PARTITIONS))
    names = sorted({topic.name for topic in request.topics} or set(image.topics))
    first = 0
    if request.cursor is not None:
        names = [name for name in names if name >= request.cursor.topic_name]
        if names and names[0] == request.cursor.topic_name:
            first = max(0, request.cursor.partition_index)
    topics = []
    next_cursor = None
    for name in names:
        if limit == 0:
            next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = image.topics.get(name)
        if topic is None:
            topics.append(
                DescribeTopicPartitionsResponseTopic(
                    error_code=Error.UNKNOWN_TOPIC_OR_PARTITION
                    if name_problem(name) is None
                    else Error.INVALID_TOPIC_EXCEPTION,
                    name=name,
                    topic_id=ZERO_UUID,
                    partitions=[],
                )
            )
            continue
        page = range(first, min(len(topic.partitions), first + limit))
        topics.append(
            DescribeTopicPartitionsResponseTopic(
                error_code=0,
                name=name,
                topic_id=topic.id,
                is_internal=name in INTERNAL_TOPICS,
                partitions=[_partition(metadata, storage, topic, index, call) for index in page],
            )
        )
        limit -= len(page)
        if page.stop < len(topic.partitions):
            next_cursor = Cursor(topic_name=name, partition_index=page.stop)
            break
        first = 0
    return DescribeTopicPartitionsResponse(topics=topics, next_cursor=next_cursor)


def _partition(
    metadata: Metadata, storage: Storage, topic: TopicImage, index: int, call: Call
) -> DescribeTopicPartitionsResponsePartition:
    seen = view(metadata, storage, topic, index, call.connection.listener.name)
    return DescribeTopicPartitionsResponsePartition(
        error_code=seen.error,
        partition_index=index,
        leader_id=seen.leader,
        leader_epoch=seen.leader_epoch,
        replica_nodes=seen.replicas,
        isr_nodes=seen.isr,
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=seen.offline_replicas,
    )


HANDLER = Handler(request=DescribeTopicPartitionsRequest, handle=handle)
