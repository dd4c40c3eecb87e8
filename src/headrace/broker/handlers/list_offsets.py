"""ListOffsets, v1-v11.

Behaviour:
- a timestamp gives the first record at or after it, across batches and segments, and -1/-1 when
  there is none;
- -1 is the end (high watermark, or last stable offset for read_committed), -2 the start,
  -3 the record with the largest timestamp (KIP-734), -4 the start of the local log (KIP-405),
  -5 and -6 the tiered end and the first offset not tiered (KIP-1005, KIP-1023), which without
  tiered storage are unknown;
- only the leader answers, but for a debugger's replica id (-2). A new leader does not know yet what
  its predecessor had committed: until its high watermark has reached the start of its epoch, the
  end, and times that lie beyond, are OFFSET_NOT_AVAILABLE (before v5 LEADER_NOT_AVAILABLE).

Version notes: v2 isolation level · v4 leader epoch (KIP-320) · v6 flexible · v7 largest timestamp ·
v8 local start · v9 tiered end · v10 time-out · v11 earliest pending upload.

Not done: tiered storage.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.broker.storage.time_lookups import Run, Unread, Work, at_once, with_reading
from headrace.errors import ClientFault, Error
from headrace.log import Look, TimestampOffset
from headrace.types import NO_EPOCH
from headrace.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.net.inspections import Inspections
    from headrace.broker.storage.storage import Storage
    from headrace.log import PartitionLog
    from headrace.replica.partition import Partition

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_SINCE: Final = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_READ_COMMITTED: Final = 1
_DEBUGGER: Final = -2
_NOT_AVAILABLE_SINCE: Final = 5
_UNKNOWN: Final = (-1, -1, -1)
_TIMEOUT_MS: Final = 30_000  # of requests before v10, which name none


Place = tuple[int, int, int]
"""Timestamp, offset and leader epoch."""
_Question = tuple[str, ListOffsetsPartition, ListOffsetsPartitionResponse]
"""Topic, partition and the answer to be filled."""


def handle(
    storage: Storage, inspections: Inspections, request: ListOffsetsRequest, call: Call
) -> Answer[ListOffsetsResponse]:
    topics = []
    unread: list[_Question] = []
    for topic in request.topics:
        answers = []
        seen: set[int] = set()
        for asked in topic.partitions:
            answer = ListOffsetsPartitionResponse(
                partition_index=asked.partition_index, error_code=0
            )
            question = topic.name, asked, answer
            try:
                if asked.partition_index in seen:
                    raise ClientFault(Error.INVALID_REQUEST)
                seen.add(asked.partition_index)
                if unread and _reads_records(asked):
                    unread.append(question)  # one batch at a time
                else:
                    _fill(answer, at_once(_search(storage, request, call, topic.name, asked)))
            except (ClientFault, OSError) as fault:
                answer.error_code = _error_of(storage, topic.name, asked, fault)
            except Unread:
                unread.append(question)
            answers.append(answer)
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    response = ListOffsetsResponse(topics=topics)
    if not unread:
        return response

    async def read() -> ListOffsetsResponse:
        for name, asked, answer in unread:
            try:
                search = _search(storage, request, call, name, asked)
                _fill(answer, await with_reading(search, _runner(inspections, request, call)))
            except (ClientFault, OSError) as fault:
                answer.error_code = _error_of(storage, name, asked, fault)
            await asyncio.sleep(0)
        return response

    return read()


def _reads_records(asked: ListOffsetsPartition) -> bool:
    return asked.timestamp >= 0 or asked.timestamp == MAX_TIMESTAMP


def _error_of(
    storage: Storage, topic: str, asked: ListOffsetsPartition, fault: ClientFault | OSError
) -> Error:
    if isinstance(fault, OSError):
        fault = storage.on_disk_fault(topic, asked.partition_index, fault)
    return fault.error


def _fill(answer: ListOffsetsPartitionResponse, place: Place) -> None:
    answer.timestamp, answer.offset, answer.leader_epoch = place


def _runner(inspections: Inspections, request: ListOffsetsRequest, call: Call) -> Run:
    timeout_ms = request.timeout_ms or _TIMEOUT_MS

    async def run(work: Work) -> TimestampOffset | None:
        return await inspections.run(call.connection, work, timeout_ms)

    return run


def _search(
    storage: Storage,
    request: ListOffsetsRequest,
    call: Call,
    topic: str,
    asked: ListOffsetsPartition,
) -> Callable[[Look], Place]:
    committed_only = request.isolation_level == _READ_COMMITTED
    return partial(_look_up, storage, request, topic, asked, call.version, committed_only)


def _look_up(
    storage: Storage,
    request: ListOffsetsRequest,
    topic: str,
    asked: ListOffsetsPartition,
    version: int,
    committed_only: bool,
    look: Look,
) -> Place:
    """Where a timestamp leads; `look` opens a batch."""
    partition = storage.find(topic, asked.partition_index)
    partition.check_leader_epoch(asked.current_leader_epoch)
    if not partition.is_leader and request.replica_id != _DEBUGGER:
        raise ClientFault(Error.NOT_LEADER_OR_FOLLOWER)
    log = partition.log
    timestamp = asked.timestamp
    up_to = log.last_stable_offset if committed_only else log.high_watermark
    if version < _SINCE.get(timestamp, 0):
        raise ClientFault(Error.UNSUPPORTED_VERSION)
    if timestamp == LATEST:
        _check_is_known(partition, version)
        return -1, up_to, partition.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return -1, log.log_start_offset, _epoch_at(log, log.log_start_offset)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _UNKNOWN
    if timestamp < 0 and timestamp != MAX_TIMESTAMP:
        raise ClientFault(Error.UNSUPPORTED_VERSION)
    found = (
        log.offset_of_max_timestamp(look=look)
        if timestamp == MAX_TIMESTAMP
        else log.offset_for_time(timestamp, up_to=up_to, look=look)
    )
    if found is None or found.offset >= up_to:
        _check_is_known(partition, version)
        return _UNKNOWN
    return found.timestamp, found.offset, _epoch_at(log, found.offset)


def _check_is_known(partition: Partition, version: int) -> None:
    """Refuse to name an end that may lie before one that clients have been told already."""
    if partition.is_leader and partition.high_watermark < partition.epoch_start_offset:
        raise ClientFault(
            Error.OFFSET_NOT_AVAILABLE
            if version >= _NOT_AVAILABLE_SINCE
            else Error.LEADER_NOT_AVAILABLE
        )


def _epoch_at(log: PartitionLog, offset: int) -> int:
    epoch = log.leader_epochs.epoch_at(offset)
    return NO_EPOCH if epoch is None else epoch


HANDLER = Handler(
    request=ListOffsetsRequest,
    handle=handle,
    portions=Portions("topics", "topics", ("partitions", "partitions")),
)
