"""What the coordinator knows of one transactional id, and how it changes.

The metadata is a value: a transition makes a new one, a record carries it to the log, and `replay`
puts it in place. Whether a producer may ask for a transition is decided elsewhere; here is only
what follows from it, and that no state follows another out of turn.

Two things are Kafka's and easily overlooked. Every transition writes the producer id it found as
the previous one. And under transactions v2 (KIP-890) each end of a transaction raises the epoch; an
epoch that cannot be raised any more is replaced, with the completion of the transaction, by a fresh
producer id at epoch 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, Final, NamedTuple

from headrace.coordinator.effects import ProducerIdentity, StateRecord
from headrace.coordinator.transaction.records import (
    TransactionLogKey,
    TransactionLogValue,
    TransactionRecord,
    TransactionTopic,
)
from headrace.coordinator.transaction.state import TRANSITIONS, TransactionState
from headrace.errors import CorruptData, InvariantViolated
from headrace.types import NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition

# What clients of either protocol are called in records; Kafka writes 0 for transactions v1.
TRANSACTIONS_V1: Final = 0
TRANSACTIONS_V2: Final = 2

MAX_PRODUCER_EPOCH: Final = 32767
# The last epoch that a client may hold: the coordinator keeps one more to fence it with.
LAST_CLIENT_EPOCH: Final = MAX_PRODUCER_EPOCH - 1

_PREPARED: Final = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
_COMPLETE: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
_OPEN: Final = (TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE)
_NEVER_WRITTEN: Final = (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)


class TransactionMetadata(NamedTuple):
    """One transactional id. `partitions` take part in its transaction, if there is one."""

    transactional_id: str
    producer: ProducerIdentity
    timeout_ms: int
    last_update_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIMESTAMP
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_transaction_version: int = TRANSACTIONS_V1

    @property
    def is_ending(self) -> bool:
        """Whether the outcome is decided and not yet written everywhere."""
        return self.state in _PREPARED

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open."""
        return self.state is TransactionState.EMPTY or self.state in _COMPLETE

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.producer.producer_epoch >= LAST_CLIENT_EPOCH

    @property
    def ended_by(self) -> ProducerIdentity | None:
        """Who ended the last transaction, if its end changed who the producer is.

        A producer that asks again as this identity did not get the answer; any other one that is
        not the current identity is fenced.
        """
        if self.state not in _COMPLETE or self.client_transaction_version < TRANSACTIONS_V2:
            return None
        producer_id, epoch = self.producer
        if epoch == 0:
            return ProducerIdentity(self.previous_producer_id, LAST_CLIENT_EPOCH)
        return ProducerIdentity(producer_id, epoch - 1)

    @property
    def successor(self) -> ProducerIdentity:
        """Who the producer is when the transaction that is ending is complete."""
        if self.next_producer_id == NO_PRODUCER_ID:
            return self.producer
        return ProducerIdentity(self.next_producer_id, 0)

    def with_producer(
        self, producer: ProducerIdentity, timeout_ms: int, now_ms: int
    ) -> TransactionMetadata:
        """A producer was initialized; it has no transaction."""
        return self._become(
            TransactionState.EMPTY,
            producer=producer,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_ms=NO_TIMESTAMP,
            last_update_ms=now_ms,
        )

    def with_partitions(
        self, partitions: Iterable[TopicPartition], client_version: int, now_ms: int
    ) -> TransactionMetadata:
        """Partitions take part from now on; the first of them begin the transaction."""
        return self._become(
            TransactionState.ONGOING,
            partitions=self.partitions.union(partitions),
            start_ms=now_ms if self.is_idle else self.start_ms,
            last_update_ms=now_ms,
            client_transaction_version=client_version,
        )

    def fenced(self, version: int) -> TransactionMetadata:
        """The producer is shut out. Under transactions v2 the abort that follows does it."""
        producer = self.producer if version >= TRANSACTIONS_V2 else _raised(self.producer)
        return self._become(TransactionState.PREPARE_EPOCH_FENCE, producer=producer)

    def prepared(
        self, *, commit: bool, version: int, now_ms: int, next_producer_id: int = NO_PRODUCER_ID
    ) -> TransactionMetadata:
        """The outcome is decided. An abort without a transaction begins and ends now."""
        return self._become(
            TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
            producer=_raised(self.producer) if version >= TRANSACTIONS_V2 else self.producer,
            next_producer_id=next_producer_id,
            start_ms=self.start_ms if self.state in _OPEN else now_ms,
            last_update_ms=now_ms,
            client_transaction_version=version,
        )

    def completed(self, now_ms: int) -> TransactionMetadata:
        """The outcome is written everywhere; a fresh producer id takes over if there is one."""
        commit = self.state is TransactionState.PREPARE_COMMIT
        return self._become(
            TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT,
            producer=self.successor,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
            last_update_ms=now_ms,
        )

    def dead(self) -> TransactionMetadata:
        """Nobody used the transactional id for so long that it is forgotten."""
        return self._become(TransactionState.DEAD)

    def _become(self, state: TransactionState, **changes: Any) -> TransactionMetadata:
        if state not in TRANSITIONS[self.state]:
            raise InvariantViolated(
                f"transactional id {self.transactional_id!r} cannot become {state.label}: "
                f"it is {self.state.label}"
            )
        return self._replace(state=state, previous_producer_id=self.producer.producer_id, **changes)


def _raised(producer: ProducerIdentity) -> ProducerIdentity:
    """The next epoch. The last one stays: it is no client's, so it fences everybody already."""
    return producer._replace(producer_epoch=min(producer.producer_epoch + 1, MAX_PRODUCER_EPOCH))


def by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    """Topics with the numbers of their partitions, both in order."""
    grouped = groupby(sorted(partitions), key=lambda partition: partition.topic)
    return [(topic, [each.partition for each in group]) for topic, group in grouped]


def to_record(metadata: TransactionMetadata) -> TransactionRecord:
    """The metadata as a record of `__transaction_state`."""
    topics = None
    if metadata.state is not TransactionState.EMPTY:
        topics = [
            TransactionTopic(topic=topic, partition_ids=numbers)
            for topic, numbers in by_topic(metadata.partitions)
        ]
    value = TransactionLogValue(
        producer_id=metadata.producer.producer_id,
        previous_producer_id=metadata.previous_producer_id,
        next_producer_id=metadata.next_producer_id,
        producer_epoch=metadata.producer.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=int(metadata.state),
        transaction_partitions=topics,
        transaction_last_update_timestamp_ms=metadata.last_update_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
        client_transaction_version=metadata.client_transaction_version,
    )
    return StateRecord(TransactionLogKey(transactional_id=metadata.transactional_id), value)


def to_tombstone(metadata: TransactionMetadata) -> TransactionRecord:
    """The record after which the transactional id is unknown; it must have expired."""
    dead = metadata.dead()
    return StateRecord(TransactionLogKey(transactional_id=dead.transactional_id), None)


def from_record(key: TransactionLogKey, value: TransactionLogValue) -> TransactionMetadata:
    """What a record says; CorruptData if no coordinator can have written it."""
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        state = TransactionState.DEAD
    if state in _NEVER_WRITTEN:
        raise CorruptData(
            f"__transaction_state: transactional id {key.transactional_id!r} in state "
            f"{value.transaction_status}, which is never written"
        )
    return TransactionMetadata(
        transactional_id=key.transactional_id,
        producer=ProducerIdentity(value.producer_id, value.producer_epoch),
        timeout_ms=value.transaction_timeout_ms,
        last_update_ms=value.transaction_last_update_timestamp_ms,
        state=state,
        partitions=frozenset(
            TopicPartition(topic.topic, number)
            for topic in value.transaction_partitions or ()
            for number in topic.partition_ids
        ),
        start_ms=value.transaction_start_timestamp_ms,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_transaction_version=value.client_transaction_version,
    )
