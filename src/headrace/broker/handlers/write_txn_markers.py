"""WriteTxnMarkers, v1-v2.

Behaviour: writes the ends of transactions into partitions that this broker leads. Coordinators of
other brokers send it, and so do tools that abort a hanging transaction. The answer waits until
every marker is committed.

Version notes: v1 flexible · v2 the version of the transaction (KIP-1228).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headrace.broker.dispatch import LATER, Answer, Handler, reply
from headrace.coordinator.effects import ProducerIdentity, TransactionMarkers
from headrace.errors import ClientFault, Error
from headrace.replica.waiters import CommitWaiter
from headrace.types import TopicPartition
from headrace.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.connection import Call
    from headrace.replica.partition import Partition

Uncommitted = list[tuple["Partition", int, WritableTxnMarkerPartitionResult]]


def handle(broker: Broker, request: WriteTxnMarkersRequest, call: Call) -> Answer:
    uncommitted: Uncommitted = []
    response = WriteTxnMarkersResponse(
        markers=[_write(broker, marker, uncommitted) for marker in request.markers]
    )
    if not uncommitted:
        return response
    waiter = CommitWaiter(partial(_finish, call, response, uncommitted))
    for partition, required, _ in uncommitted:
        partition.await_commit(required, waiter)
    return LATER


def _write(
    broker: Broker, marker: WritableTxnMarker, uncommitted: Uncommitted
) -> WritableTxnMarkerResult:
    markers = TransactionMarkers(
        transactional_id="",
        producer=ProducerIdentity(marker.producer_id, marker.producer_epoch),
        commit=marker.transaction_result,
        coordinator_epoch=marker.coordinator_epoch,
        transaction_version=marker.transaction_version,
        partitions=(),
    )
    return WritableTxnMarkerResult(
        producer_id=marker.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    _write_one(broker, TopicPartition(topic.name, index), markers, uncommitted)
                    for index in topic.partition_indexes
                ],
            )
            for topic in marker.topics
        ],
    )


def _write_one(
    broker: Broker, where: TopicPartition, markers: TransactionMarkers, uncommitted: Uncommitted
) -> WritableTxnMarkerPartitionResult:
    result = WritableTxnMarkerPartitionResult(partition_index=where.partition, error_code=0)
    try:
        partition = broker.storage.find(*where)
        broker.markers.write(partition, markers)
    except ClientFault as fault:
        result.error_code = fault.error
        return result
    required = partition.log.log_end_offset
    if partition.high_watermark < required:
        uncommitted.append((partition, required, result))
    return result


def _finish(call: Call, response: WriteTxnMarkersResponse, uncommitted: Uncommitted) -> None:
    for partition, required, result in uncommitted:
        if partition.high_watermark < required:
            result.error_code = Error.KAFKA_STORAGE_ERROR
    reply(call, response)


HANDLER = Handler(key=27, versions=(1, 2), request=WriteTxnMarkersRequest, handle=handle)
