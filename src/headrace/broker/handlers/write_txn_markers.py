"""WriteTxnMarkers, v1-v2.

Behaviour: writes the ends of transactions into partitions that this broker leads. Coordinators of
other brokers send it, and so do tools that abort a hanging transaction. The answer waits until
every marker is committed; what takes longer than a moment is answered with REQUEST_TIMED_OUT, so
that a partition whose replicas are in trouble does not hold up the others of its sender. A
partition led elsewhere, or a group coordinator that is loading, is NOT_LEADER_OR_FOLLOWER.

Version notes: v1 flexible · v2 the version of the transaction (KIP-1228).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from headrace.broker.net.call import LATER
from headrace.broker.net.handler import Answer, Handler
from headrace.coordinator.effects import ProducerIdentity, TransactionMarkers
from headrace.errors import ClientFault, Error
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
    from headrace.broker.net.call import Call
    from headrace.broker.storage.storage import Storage
    from headrace.broker.transactions.markers import Markers
    from headrace.replica.partition import Partition

_LONGEST_WAIT_S: Final = 2.0
# Words of a group coordinator for what is here a partition that cannot be written.
_NOT_WRITABLE_HERE: Final = (
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
)


def handle(
    storage: Storage, markers: Markers, request: WriteTxnMarkersRequest, call: Call
) -> Answer[WriteTxnMarkersResponse]:
    return _Writing(storage, markers, call).begin(request)


class _Writing:
    """One request from its first marker to its answer."""

    def __init__(self, storage: Storage, markers: Markers, call: Call) -> None:
        self._storage = storage
        self._markers = markers
        self._call = call
        self._response = WriteTxnMarkersResponse(markers=[])
        self._uncommitted: dict[int, WritableTxnMarkerPartitionResult] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, request: WriteTxnMarkersRequest) -> Answer[WriteTxnMarkersResponse]:
        self._response.markers = [self._write(marker) for marker in request.markers]
        if not self._uncommitted:
            return self._response
        self._timer = asyncio.get_running_loop().call_later(_LONGEST_WAIT_S, self._on_time)
        return LATER

    def _write(self, marker: WritableTxnMarker) -> WritableTxnMarkerResult:
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
                        self._write_one(TopicPartition(topic.name, index), markers)
                        for index in topic.partition_indexes
                    ],
                )
                for topic in marker.topics
            ],
        )

    def _write_one(
        self, where: TopicPartition, markers: TransactionMarkers
    ) -> WritableTxnMarkerPartitionResult:
        result = WritableTxnMarkerPartitionResult(partition_index=where.partition, error_code=0)
        try:
            partition = self._storage.find_leader(*where)
            self._markers.write(partition, markers)
        except ClientFault as fault:
            result.error_code = (
                Error.NOT_LEADER_OR_FOLLOWER if fault.error in _NOT_WRITABLE_HERE else fault.error
            )
            return result
        required = partition.log.log_end_offset
        if partition.high_watermark < required:
            self._uncommitted[id(result)] = result
            partition.when_committed(
                required, lambda: self._on_committed(partition, required, result)
            )
        return result

    def _on_committed(
        self, partition: Partition, required: int, result: WritableTxnMarkerPartitionResult
    ) -> None:
        # Asked now and not when all are there: until then other records may stand at this offset.
        if self._uncommitted.pop(id(result), None) is None:
            return  # The answer has left without it.
        result.error_code = partition.commit_fault(required) or Error.NONE
        if not self._uncommitted and self._timer is not None:
            self._timer.cancel()
            self._call.reply(self._response)

    def _on_time(self) -> None:
        for result in self._uncommitted.values():
            result.error_code = Error.REQUEST_TIMED_OUT
        self._uncommitted.clear()
        self._call.reply(self._response)


HANDLER = Handler(request=WriteTxnMarkersRequest, handle=handle)
