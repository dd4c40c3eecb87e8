"""How a transaction ends: by its producer, or by the coordinator that fences the producer.

The decision is final with the record that says so; markers follow until every partition has one.
A producer that asks again gets the same answer, and never one that contradicts the record.

    transactions v2      ABORT               COMMIT
                         repeated  current   repeated  current
    Empty                fenced    ends      fenced    invalid
    CompleteAbort        as told   ends      invalid   invalid
    CompleteCommit       invalid   ends      as told   invalid

Under transactions v1 the epoch stays, so that a repeated end looks like a current one: it is
answered as told if the outcome is the same, and invalid otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.coordinator.effects import ProducerIdentity
from headrace.coordinator.transaction.metadata import (
    TRANSACTIONS_V1,
    TRANSACTIONS_V2,
    TransactionMetadata,
)
from headrace.coordinator.transaction.partitions import unknown_id
from headrace.coordinator.transaction.state import TransactionState
from headrace.errors import Error
from headrace.types import NO_PRODUCER_ID


def end_with_same_epoch(
    transactional_id: str,
    known: TransactionMetadata | None,
    producer: ProducerIdentity,
    commit: bool,
    now_ms: int,
) -> TransactionMetadata | Error:
    """What a producer of transactions v1 gets; NONE if its transaction ended so before."""
    if known is None:
        return unknown_id(transactional_id)
    if known.producer.producer_id != producer.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if known.producer.producer_epoch != producer.producer_epoch:
        return Error.PRODUCER_FENCED
    if known.is_ending:
        return Error.CONCURRENT_TRANSACTIONS
    if known.state is TransactionState.ONGOING:
        return known.prepared(commit=commit, version=TRANSACTIONS_V1, now_ms=now_ms)
    return Error.NONE if _ended_so(known, commit) else Error.INVALID_TXN_STATE


def end_with_next_epoch(
    transactional_id: str,
    known: TransactionMetadata | None,
    producer: ProducerIdentity,
    commit: bool,
    now_ms: int,
    fresh_producer_id: Callable[[], int],
) -> TransactionMetadata | Error:
    """What a producer of transactions v2 gets; NONE if its transaction ended so before."""
    if known is None:
        return unknown_id(transactional_id)
    if known.is_ending:
        return Error.CONCURRENT_TRANSACTIONS
    if producer == known.ended_by:
        return Error.NONE if _ended_so(known, commit) else Error.INVALID_TXN_STATE
    if known.producer.producer_id != producer.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if known.producer.producer_epoch != producer.producer_epoch:
        return Error.PRODUCER_FENCED
    if commit and known.is_idle:
        return Error.INVALID_TXN_STATE
    return _prepared_with_next_epoch(known, commit, now_ms, fresh_producer_id)


def fence_and_abort(
    known: TransactionMetadata,
    transaction_version: int,
    now_ms: int,
    fresh_producer_id: Callable[[], int],
) -> TransactionMetadata:
    """The open transaction aborted and its producer fenced, by the coordinator's own decision.

    No client decides here, so the level of the feature transaction.version counts.
    """
    if transaction_version < TRANSACTIONS_V2:
        fenced = known.fenced(TRANSACTIONS_V1)
        return fenced.prepared(commit=False, version=TRANSACTIONS_V1, now_ms=now_ms)
    fenced = known.fenced(TRANSACTIONS_V2)
    return _prepared_with_next_epoch(fenced, False, now_ms, fresh_producer_id)


def _prepared_with_next_epoch(
    known: TransactionMetadata, commit: bool, now_ms: int, fresh_producer_id: Callable[[], int]
) -> TransactionMetadata:
    return known.prepared(
        commit=commit,
        version=TRANSACTIONS_V2,
        now_ms=now_ms,
        next_producer_id=fresh_producer_id() if known.is_epoch_exhausted else NO_PRODUCER_ID,
    )


def _ended_so(known: TransactionMetadata, commit: bool) -> bool:
    outcome = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
    return known.state is outcome
