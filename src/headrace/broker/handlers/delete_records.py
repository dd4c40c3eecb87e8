"""DeleteRecords, v0-v2.

Behaviour: moves the log start of each partition up to an offset (-1 = the high watermark); whole
segments below it are removed later. Beyond the high watermark is OFFSET_OUT_OF_RANGE; a topic with
`cleanup.policy=compact` alone refuses with POLICY_VIOLATION (KIP-107).

Version notes: v2 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.dispatch import Answer, Handler
from headrace.errors import ClientFault, Error
from headrace.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.connection import Call


def handle(broker: Broker, request: DeleteRecordsRequest, call: Call) -> Answer:
    topics = []
    for topic in request.topics:
        answers = []
        for asked in topic.partitions:
            answer = DeleteRecordsPartitionResult(
                partition_index=asked.partition_index, low_watermark=-1, error_code=0
            )
            try:
                answer.low_watermark = _delete(
                    broker, topic.name, asked.partition_index, asked.offset
                )
            except ClientFault as fault:
                answer.error_code = fault.error
            answers.append(answer)
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=answers))
    return DeleteRecordsResponse(topics=topics)


def _delete(broker: Broker, topic: str, index: int, offset: int) -> int:
    """Move the log start; returns the new low watermark."""
    partition = broker.storage.find(topic, index)
    log = partition.log
    if "delete" not in log.config.cleanup_policy:
        raise ClientFault(Error.POLICY_VIOLATION)
    return log.delete_records_before(offset)


HANDLER = Handler(key=21, versions=(0, 2), request=DeleteRecordsRequest, handle=handle)
