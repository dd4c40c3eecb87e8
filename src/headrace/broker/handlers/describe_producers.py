"""DescribeProducers, v0 (KIP-664).

Behaviour: the producers that a partition remembers, and since which offset each has an open
transaction; what finds a hanging transaction. Followers answer as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.errors import ClientFault
from headrace.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.storage.storage import Storage


def handle(
    storage: Storage, request: DescribeProducersRequest, call: Call
) -> Answer[DescribeProducersResponse]:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    _describe(storage, topic.name, index) for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _describe(storage: Storage, topic: str, index: int) -> PartitionResponse:
    try:
        log = storage.find(topic, index).log
    except ClientFault as fault:
        return PartitionResponse(
            partition_index=index,
            error_code=fault.error,
            error_message=fault.message or None,
            active_producers=[],
        )
    return PartitionResponse(
        partition_index=index,
        error_code=0,
        active_producers=[
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.current_txn_first_offset,
            )
            for entry in log.producers.active_producers()
        ],
    )


HANDLER = Handler(
    request=DescribeProducersRequest,
    handle=handle,
    portions=Portions("topics", "topics", ("partition_indexes", "partitions")),
)
