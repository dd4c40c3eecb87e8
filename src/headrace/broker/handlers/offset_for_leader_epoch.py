"""OffsetForLeaderEpoch, v2-v4.

Behaviour: the end offset of the asked epoch, or of the largest epoch below it that the log knows
(KIP-101, KIP-279); -1/-1 when it knows none. Clients find out with it whether their position was
truncated away (KIP-320), and so do followers that are older than KIP-595. Only the leader answers.

Version notes: v2 current leader epoch · v3 replica id · v4 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.errors import ClientFault, Error
from headrace.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.storage.storage import Storage


def handle(
    storage: Storage, request: OffsetForLeaderEpochRequest, call: Call
) -> Answer[OffsetForLeaderEpochResponse]:
    topics = []
    for topic in request.topics:
        answers = []
        for asked in topic.partitions:
            answer = EpochEndOffset(
                error_code=0, partition=asked.partition, leader_epoch=-1, end_offset=-1
            )
            try:
                partition = storage.find(topic.topic, asked.partition)
                partition.check_leader_epoch(asked.current_leader_epoch)
                if not partition.is_leader:
                    raise ClientFault(Error.NOT_LEADER_OR_FOLLOWER)
                log = partition.log
                answer.leader_epoch, answer.end_offset = log.leader_epochs.end_offset_for(
                    asked.leader_epoch, log.log_end_offset
                )
            except ClientFault as fault:
                answer.error_code = fault.error
            answers.append(answer)
        topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers))
    return OffsetForLeaderEpochResponse(topics=topics)


HANDLER = Handler(
    request=OffsetForLeaderEpochRequest,
    handle=handle,
    portions=Portions("topics", "topics", ("partitions", "partitions")),
)
