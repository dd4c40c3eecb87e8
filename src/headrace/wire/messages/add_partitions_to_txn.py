"""AddPartitionsToTxn (key 24): partitions that a transaction is about to write to (KIP-98)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int16, Int32, Int64


@request(key=24, versions="0-5", flexible=3)
class AddPartitionsToTxnRequest:
    """Producers send up to v3 for one transaction, brokers from v4 on for several.

    v1 throttled after the answer (KIP-219) · v2 PRODUCER_FENCED may come back (KIP-588) · v3
    flexible · v4 several transactions, and asking without adding (KIP-890) · v5
    TRANSACTION_ABORTABLE may come back (KIP-890)
    """

    transactions: list[AddPartitionsToTxnTransaction] = v(4, default=[])
    v3_and_below_transactional_id: str = v(0, 3, default="")
    v3_and_below_producer_id: Int64 = v(0, 3, default=0)
    v3_and_below_producer_epoch: Int16 = v(0, 3, default=0)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = v(0, 3, default=[])


@struct
class AddPartitionsToTxnTransaction:
    """One transaction; `verify_only` asks whether the partitions are in it."""

    transactional_id: str
    producer_id: Int64
    producer_epoch: Int16
    verify_only: Bool = False
    topics: list[AddPartitionsToTxnTopic]


@struct
class AddPartitionsToTxnTopic:
    """Partitions of one topic."""

    name: str
    partitions: list[Int32]


@response(key=24, versions="0-5", flexible=3)
class AddPartitionsToTxnResponse:
    """The outcome per partition. v3 flexible · v4 by transaction, an error for the whole."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = v(4, default=0)
    results_by_transaction: list[AddPartitionsToTxnResult] = v(4, default=[])
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = v(0, 3, default=[])


@struct
class AddPartitionsToTxnResult:
    """The outcome for one transaction."""

    transactional_id: str
    topic_results: list[AddPartitionsToTxnTopicResult]


@struct
class AddPartitionsToTxnTopicResult:
    """The outcome for one topic."""

    name: str
    results_by_partition: list[AddPartitionsToTxnPartitionResult]


@struct
class AddPartitionsToTxnPartitionResult:
    """The outcome for one partition."""

    partition_index: Int32
    partition_error_code: Int16
