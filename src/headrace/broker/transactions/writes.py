"""What a transactional write needs before it may enter a log (KIP-890).

A producer of transactions v1 has added the partition before, and the coordinator is asked whether
that is so. Under transactions v2 the first write to a partition adds it. Either way a write that
arrives after the end of its transaction is refused instead of opening one that nobody ends. With
`transaction.partition.verification.enable=false` a producer of transactions v1 is not checked.

Here is what a coordinator on this broker says; `headrace.broker.transactions.remote` asks the
others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.coordinator.effects import Effects, ProducerIdentity
from headrace.coordinator.host import HostState
from headrace.errors import ClientFault, Error

if TYPE_CHECKING:
    from headrace.broker.transactions.transactions import TransactionHost, Transactions
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.coordinator.transaction.metadata import TransactionMetadata
    from headrace.types import TopicPartition

# The coordinator cannot tell now; the producer shall come again, which every client does for this.
_AGAIN: Final = (
    Error.CONCURRENT_TRANSACTIONS,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
    Error.NETWORK_EXCEPTION,  # it is on another broker, which did not answer
    Error.OPERATION_NOT_ATTEMPTED,  # it does not know another partition of the same write yet
)


class Unsettled(NamedTuple):
    """What a coordinator on this broker knows of a transaction, but has not committed yet."""

    host: TransactionHost
    metadata: TransactionMetadata | None
    end: int  # of the coordinator's log

    @property
    def is_committed(self) -> bool:
        return self.host.partition.high_watermark >= self.end


def must_ask(config: BrokerConfig, *, adds: bool) -> bool:
    """Whether a write needs the coordinator: always to add its partition, and to verify it unless
    the operator trusts producers of transactions v1.
    """
    return adds or config.get_bool("transaction.partition.verification.enable")


def admit(
    transactions: Transactions,
    transactional_id: str,
    producer: ProducerIdentity,
    partitions: Collection[TopicPartition],
    *,
    adds: bool,
    awaited: Unsettled | None = None,
) -> tuple[dict[TopicPartition, Error], Unsettled | None]:
    """Why each partition must not be written, and what must be committed first.

    `awaited` is what an earlier question had to wait for. If the transaction is still the same,
    what others have written since then need not be awaited.
    """
    try:
        host = transactions.host_of(transactional_id)
    except ClientFault as fault:
        return dict.fromkeys(partitions, fault.error), None
    shard = host.shard
    if not adds:
        return shard.verify_partitions(transactional_id, producer, partitions), None
    now_ms = transactions.now_ms()
    error, records = shard.add_partitions(transactional_id, producer, partitions, now_ms)
    if records:
        transactions.perform(host, Effects(records=records), now_ms)
        if host.state is not HostState.ACTIVE or host.shard is not shard:
            return dict.fromkeys(partitions, Error.COORDINATOR_NOT_AVAILABLE), None
    metadata = shard.transactions.get(transactional_id)
    if awaited is not None and awaited.metadata is metadata and awaited.is_committed:
        return dict.fromkeys(partitions, error), None
    unsettled = Unsettled(host, metadata, host.partition.log.log_end_offset)
    return dict.fromkeys(partitions, error), None if unsettled.is_committed else unsettled


async def settled(unsettled: Unsettled) -> None:
    """Wait until what the coordinator has written is committed, or cannot be any more. The caller
    sets the time limit.
    """
    committed = asyncio.Event()
    unsettled.host.partition.when_committed(unsettled.end, committed.set)
    await committed.wait()


def as_told_to_producer(error: Error, *, knows_abortable: bool) -> Error:
    """The error of a coordinator in the words that Produce has for it."""
    if error in _AGAIN:
        return Error.NOT_ENOUGH_REPLICAS
    if error is Error.PRODUCER_FENCED:
        return Error.INVALID_PRODUCER_EPOCH
    if error is Error.TRANSACTION_ABORTABLE and not knows_abortable:
        return Error.INVALID_TXN_STATE
    return error


def as_told_to_committer(error: Error, *, knows_abortable: bool) -> Error:
    """The error of a coordinator in the words that TxnOffsetCommit has for it."""
    if error in (Error.CONCURRENT_TRANSACTIONS, Error.NOT_COORDINATOR, Error.NETWORK_EXCEPTION):
        # Committers come again for this without looking for their coordinator anew.
        return Error.COORDINATOR_LOAD_IN_PROGRESS
    if error is Error.UNKNOWN_TOPIC_OR_PARTITION:
        return Error.COORDINATOR_NOT_AVAILABLE
    if error is Error.NOT_LEADER_OR_FOLLOWER:
        return Error.NOT_COORDINATOR
    if error is Error.PRODUCER_FENCED:
        return Error.INVALID_PRODUCER_EPOCH
    if error is Error.TRANSACTION_ABORTABLE and not knows_abortable:
        return Error.INVALID_TXN_STATE
    return error
