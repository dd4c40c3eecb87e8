"""DeleteRecords, v0-v2.

Behaviour: moves the log start of each partition up to an offset (-1 = the high watermark); whole
segments below it are removed later. Beyond the high watermark is OFFSET_OUT_OF_RANGE; a topic with
`cleanup.policy=compact` alone refuses with POLICY_VIOLATION (KIP-107). Only the leader does it, and
answers when every living replica has followed; what takes longer than the request's time-out is
REQUEST_TIMED_OUT. The low watermark is the lowest log start of these replicas.

Version notes: v2 flexible.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.errors import ClientFault, Error
from headrace.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.storage.storage import Storage
    from headrace.replica.partition import Partition
    from headrace.runtime.clock import Clock

_LOOK_AGAIN_S: Final = 0.02

Unfollowed = list[tuple["Partition", int, DeleteRecordsPartitionResult]]


def handle(
    metadata: Metadata, storage: Storage, clock: Clock, request: DeleteRecordsRequest, call: Call
) -> Answer[DeleteRecordsResponse]:
    topics = []
    unfollowed: Unfollowed = []
    for topic in request.topics:
        answers = []
        for asked in topic.partitions:
            answer = DeleteRecordsPartitionResult(
                partition_index=asked.partition_index, low_watermark=-1, error_code=0
            )
            try:
                partition = storage.find_leader(topic.name, asked.partition_index)
                start = _delete(partition, asked.offset)
                answer.low_watermark = start
                if len(partition.leadership.replicas) > 1:
                    unfollowed.append((partition, start, answer))
            except (ClientFault, OSError) as fault:
                if isinstance(fault, OSError):
                    storage = storage
                    fault = storage.on_disk_fault(topic.name, asked.partition_index, fault)
                answer.error_code = fault.error
            answers.append(answer)
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=answers))
    response = DeleteRecordsResponse(topics=topics)
    if not unfollowed:
        return response
    return _when_followed(metadata, clock, response, unfollowed, request.timeout_ms)


def _delete(partition: Partition, offset: int) -> int:
    """Move the log start; returns the new one."""
    log = partition.log
    if "delete" not in log.config.cleanup_policy:
        raise ClientFault(Error.POLICY_VIOLATION)
    start = log.delete_records_before(offset)
    for waiter in tuple(partition.replica_waiters):
        waiter.release()  # The answer tells followers where the log begins now.
    return start


async def _when_followed(
    metadata: Metadata,
    clock: Clock,
    response: DeleteRecordsResponse,
    unfollowed: Unfollowed,
    timeout_ms: int,
) -> DeleteRecordsResponse:
    deadline_ms = clock.monotonic_ms() + timeout_ms
    while unfollowed:
        waiting = []
        for partition, start, answer in unfollowed:
            if not partition.is_leader:
                answer.error_code = Error.NOT_LEADER_OR_FOLLOWER
                continue
            answer.low_watermark = min([start, *_log_starts(metadata, partition)])
            if answer.low_watermark < start:
                waiting.append((partition, start, answer))
        unfollowed = waiting
        if unfollowed and clock.monotonic_ms() >= deadline_ms:
            for _, _, answer in unfollowed:
                answer.error_code = Error.REQUEST_TIMED_OUT
            break
        if unfollowed:
            await asyncio.sleep(_LOOK_AGAIN_S)
    return response


def _log_starts(metadata: Metadata, partition: Partition) -> Iterator[int]:
    """Where the logs of living followers begin, as far as they have told."""
    brokers = metadata.image.brokers
    for broker_id, follower in partition.followers.items():
        if broker_id in brokers:
            yield follower.log_start_offset


HANDLER = Handler(
    request=DeleteRecordsRequest,
    handle=handle,
    portions=Portions("topics", "topics", ("partitions", "partitions")),
)
