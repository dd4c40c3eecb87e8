"""Which partitions take part in a transaction, and who may add to them.

Under transactions v1 a producer adds partitions before it writes to them, and brokers verify that
it did (KIP-890, part 1). Under transactions v2 the first write to a partition adds it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from headrace.coordinator.effects import ProducerIdentity
from headrace.coordinator.transaction.metadata import TransactionMetadata
from headrace.coordinator.transaction.state import TransactionState
from headrace.errors import Error
from headrace.types import TopicPartition
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)


def add_partitions(
    transactional_id: str,
    known: TransactionMetadata | None,
    producer: ProducerIdentity,
    partitions: Collection[TopicPartition],
    client_version: int,
    now_ms: int,
) -> TransactionMetadata | Error:
    """The metadata with these partitions, or why not; NONE if there is nothing to change."""
    if known is None:
        return unknown_id(transactional_id)
    # Before the identity is looked at: the end of a transaction may be giving the producer a fresh
    # id that it uses already, and it must come again instead of being fenced (KAFKA-18660).
    if known.is_ending:
        return Error.CONCURRENT_TRANSACTIONS
    if known.producer.producer_id != producer.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if known.producer.producer_epoch != producer.producer_epoch:
        return Error.PRODUCER_FENCED
    if known.state is TransactionState.ONGOING and known.partitions.issuperset(partitions):
        return Error.NONE
    return known.with_partitions(partitions, client_version, now_ms)


def verify_partitions(
    transactional_id: str,
    known: TransactionMetadata | None,
    producer: ProducerIdentity,
    partitions: Collection[TopicPartition],
) -> dict[TopicPartition, Error]:
    """For each partition whether this producer may write to it in its open transaction."""
    if known is None:
        error = unknown_id(transactional_id)
    elif known.producer.producer_id != producer.producer_id:
        error = Error.INVALID_PRODUCER_ID_MAPPING
    elif known.producer.producer_epoch != producer.producer_epoch:
        error = Error.PRODUCER_FENCED
    elif known.is_ending:
        error = Error.CONCURRENT_TRANSACTIONS
    else:
        return {
            each: Error.NONE if each in known.partitions else Error.TRANSACTION_ABORTABLE
            for each in partitions
        }
    return dict.fromkeys(partitions, error)


def unknown_id(transactional_id: str) -> Error:
    """What a producer is told whose transactional id nobody initialized, or is forgotten."""
    return Error.INVALID_PRODUCER_ID_MAPPING if transactional_id else Error.INVALID_REQUEST


def flattened(topics: Collection[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    """The partitions of a request."""
    return [TopicPartition(topic.name, number) for topic in topics for number in topic.partitions]


def topic_results(
    topics: Collection[AddPartitionsToTxnTopic], errors: Mapping[TopicPartition, Error]
) -> list[AddPartitionsToTxnTopicResult]:
    """The answer for the partitions of a request, in their order."""
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=number,
                    partition_error_code=errors[TopicPartition(topic.name, number)],
                )
                for number in topic.partitions
            ],
        )
        for topic in topics
    ]
