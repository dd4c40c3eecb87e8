"""Who a transactional producer is from now on (KIP-98), also if it says who it was (KIP-360).

A producer that starts says nothing of itself: it gets the next epoch, which fences every earlier
one. A producer that goes on after an error names the identity it has: it gets the next epoch only
if nobody else was initialized since, and the same answer again if it asks again.

Kafka keeps whom it answered last in memory only, and so does the shard: a producer that repeats its
request to a coordinator that restarted is fenced, which is safe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from headrace.coordinator.effects import ProducerIdentity
from headrace.coordinator.transaction.ending import fence_and_abort
from headrace.coordinator.transaction.metadata import TransactionMetadata
from headrace.coordinator.transaction.settings import TransactionSettings
from headrace.coordinator.transaction.state import TransactionState
from headrace.errors import ClientFault, Error
from headrace.types import NO_EPOCH, NO_PRODUCER_ID
from headrace.wire.messages.init_producer_id import InitProducerIdRequest


class Succession(NamedTuple):
    """`now` is the answer that a producer got which named itself `before`."""

    before: ProducerIdentity
    now: ProducerIdentity


def named_producer(request: InitProducerIdRequest) -> ProducerIdentity | None:
    """Who the producer says it was; None if it starts."""
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        raise ClientFault(Error.INVALID_REQUEST, "a producer id comes with an epoch, or neither")
    if request.producer_id == NO_PRODUCER_ID:
        return None
    return ProducerIdentity(request.producer_id, request.producer_epoch)


def initialize(
    known: TransactionMetadata | None,
    request: InitProducerIdRequest,
    last: Succession | None,
    settings: TransactionSettings,
    now_ms: int,
    fresh_producer_id: Callable[[], int],
) -> TransactionMetadata:
    """The metadata with the producer's new identity, or ClientFault.

    If a transaction is open, the metadata says that it is being aborted instead, and the producer
    has to come again.
    """
    named = named_producer(request)
    if not request.transactional_id:
        raise ClientFault(Error.INVALID_REQUEST, "an empty transactional id")
    timeout_ms = request.transaction_timeout_ms
    if not 0 < timeout_ms <= settings.transaction_max_timeout_ms:
        raise ClientFault(
            Error.INVALID_TRANSACTION_TIMEOUT,
            f"{timeout_ms} ms; transaction.max.timeout.ms is {settings.transaction_max_timeout_ms}",
        )
    if known is None:
        # Kafka too takes whatever a producer says of itself if the transactional id expired.
        producer = ProducerIdentity(fresh_producer_id(), 0)
        new = TransactionMetadata(request.transactional_id, producer, timeout_ms, now_ms)
        return new.with_producer(producer, timeout_ms, now_ms)
    if known.is_ending:
        raise ClientFault(Error.CONCURRENT_TRANSACTIONS)
    if known.state is TransactionState.ONGOING:
        if named is not None and named.producer_id != known.producer.producer_id:
            raise ClientFault(Error.PRODUCER_FENCED)
        return fence_and_abort(known, settings.transaction_version, now_ms, fresh_producer_id)
    producer = _next_producer(known, named, last, fresh_producer_id)
    return known.with_producer(producer, timeout_ms, now_ms)


def _next_producer(
    known: TransactionMetadata,
    named: ProducerIdentity | None,
    last: Succession | None,
    fresh_producer_id: Callable[[], int],
) -> ProducerIdentity:
    if named is None or named == known.producer:
        if known.is_epoch_exhausted:
            return ProducerIdentity(fresh_producer_id(), 0)
        producer_id, epoch = known.producer
        return ProducerIdentity(producer_id, epoch + 1)
    is_repeated = last is not None and last == Succession(named, known.producer)
    if is_repeated or named == known.ended_by:
        return known.producer
    raise ClientFault(Error.PRODUCER_FENCED)
