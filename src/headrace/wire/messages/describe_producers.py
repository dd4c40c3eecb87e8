"""DescribeProducers (key 61): who writes to partitions, in which open transaction (KIP-664)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32, Int64


@request(key=61, versions="0", flexible=0)
class DescribeProducersRequest:
    """The partitions of interest."""

    topics: list[TopicRequest]


@struct
class TopicRequest:
    """Partitions of one topic."""

    name: str
    partition_indexes: list[Int32]


@response(key=61, versions="0", flexible=0)
class DescribeProducersResponse:
    """One entry per partition."""

    throttle_time_ms: Int32 = 0
    topics: list[TopicResponse]


@struct
class TopicResponse:
    """The partitions of one topic."""

    name: str
    partitions: list[PartitionResponse]


@struct
class PartitionResponse:
    """The producers that the log remembers."""

    partition_index: Int32
    error_code: Int16
    error_message: str | None = None
    active_producers: list[ProducerState]


@struct
class ProducerState:
    """One producer; its epoch has four bytes here and two everywhere else."""

    producer_id: Int64
    producer_epoch: Int32
    last_sequence: Int32 = -1
    last_timestamp: Int64 = -1
    coordinator_epoch: Int32
    current_txn_start_offset: Int64 = -1
