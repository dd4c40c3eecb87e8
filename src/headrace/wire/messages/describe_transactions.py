"""DescribeTransactions (key 65): what coordinators know of transactional ids (KIP-664)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32, Int64


@request(key=65, versions="0", flexible=0)
class DescribeTransactionsRequest:
    """The transactional ids of interest."""

    transactional_ids: list[str]


@response(key=65, versions="0", flexible=0)
class DescribeTransactionsResponse:
    """One entry per transactional id."""

    throttle_time_ms: Int32 = 0
    transaction_states: list[TransactionState]


@struct
class TransactionState:
    """One transactional id; the start time is -1 while no transaction is open."""

    error_code: Int16
    transactional_id: str
    transaction_state: str
    transaction_timeout_ms: Int32
    transaction_start_time_ms: Int64
    producer_id: Int64
    producer_epoch: Int16
    topics: list[TopicData]


@struct
class TopicData:
    """Partitions of one topic that the transaction wrote to."""

    topic: str
    partitions: list[Int32]
