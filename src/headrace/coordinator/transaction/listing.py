"""What tools ask of transactional ids: one in full (DescribeTransactions), all in short
(ListTransactions, KIP-664, KIP-994, KIP-1152).

A pattern is one of RE2 and stands for whole ids. The engine is the one that chooses topics for
groups; an id with a character that no topic can have matches no pattern.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from headrace.coordinator.patterns import InvalidRegex, compile_regex
from headrace.coordinator.transaction.metadata import TransactionMetadata, by_topic
from headrace.coordinator.transaction.state import LABELS
from headrace.errors import Error
from headrace.types import TopicPartition
from headrace.wire.messages import describe_transactions, list_transactions
from headrace.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)

_STATES: Final = {label: state for state, label in LABELS.items()}


def described(
    transactional_id: str,
    known: TransactionMetadata | None,
    outstanding: Collection[TopicPartition],
) -> describe_transactions.TransactionState:
    """One transactional id; `outstanding` are the partitions whose markers are not written."""
    if known is None:
        missing = Error.TRANSACTIONAL_ID_NOT_FOUND if transactional_id else Error.INVALID_REQUEST
        return describe_transactions.TransactionState(
            error_code=missing,
            transactional_id=transactional_id,
            transaction_state="",
            transaction_timeout_ms=0,
            transaction_start_time_ms=0,
            producer_id=0,
            producer_epoch=0,
            topics=[],
        )
    return describe_transactions.TransactionState(
        error_code=Error.NONE,
        transactional_id=transactional_id,
        transaction_state=known.state.label,
        transaction_timeout_ms=known.timeout_ms,
        transaction_start_time_ms=known.start_ms,
        producer_id=known.producer.producer_id,
        producer_epoch=known.producer.producer_epoch,
        topics=[
            describe_transactions.TopicData(topic=topic, partitions=numbers)
            for topic, numbers in by_topic(outstanding)
        ],
    )


def listed(
    transactions: Iterable[TransactionMetadata], request: ListTransactionsRequest, now_ms: int
) -> ListTransactionsResponse:
    """Those of a broker's transactional ids that pass every filter of the request."""
    response = ListTransactionsResponse(
        error_code=Error.NONE,
        unknown_state_filters=[name for name in request.state_filters if name not in _STATES],
        transaction_states=[],
    )
    pattern = None
    if request.transactional_id_pattern:
        try:
            pattern = compile_regex(request.transactional_id_pattern)
        except InvalidRegex:
            response.error_code = Error.INVALID_REGULAR_EXPRESSION
            return response
    states = {_STATES[name] for name in request.state_filters if name in _STATES}
    producer_ids = set(request.producer_id_filters)
    for known in transactions:
        if request.state_filters and known.state not in states:
            continue
        if producer_ids and known.producer.producer_id not in producer_ids:
            continue
        if request.duration_filter >= 0 and now_ms - known.start_ms <= request.duration_filter:
            continue
        if pattern is not None and not pattern.matches(known.transactional_id):
            continue
        response.transaction_states.append(
            list_transactions.TransactionState(
                transactional_id=known.transactional_id,
                producer_id=known.producer.producer_id,
                transaction_state=known.state.label,
            )
        )
    return response
