"""WriteTxnMarkers (key 27): the coordinator ends transactions in the logs of others (KIP-98)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int8, Int16, Int32, Int64


@request(key=27, versions="1-2", flexible=1)
class WriteTxnMarkersRequest:
    """Markers for any number of transactions.

    v1 flexible · v2 transaction version, so that the log knows what epochs may come (KIP-1228)
    """

    markers: list[WritableTxnMarker]


@struct
class WritableTxnMarker:
    """The end of one transaction; `transaction_result` is true for a commit."""

    producer_id: Int64
    producer_epoch: Int16
    transaction_result: Bool
    topics: list[WritableTxnMarkerTopic]
    coordinator_epoch: Int32
    transaction_version: Int8 = v(2, default=0, ignorable=True)


@struct
class WritableTxnMarkerTopic:
    """Partitions of one topic that the transaction wrote to."""

    name: str
    partition_indexes: list[Int32]


@response(key=27, versions="1-2", flexible=1)
class WriteTxnMarkersResponse:
    """The outcome per marker and partition; this answer has no throttle time."""

    markers: list[WritableTxnMarkerResult]


@struct
class WritableTxnMarkerResult:
    """The outcome for the transaction of one producer."""

    producer_id: Int64
    topics: list[WritableTxnMarkerTopicResult]


@struct
class WritableTxnMarkerTopicResult:
    """The outcome for one topic."""

    name: str
    partitions: list[WritableTxnMarkerPartitionResult]


@struct
class WritableTxnMarkerPartitionResult:
    """The outcome for one partition."""

    partition_index: Int32
    error_code: Int16
