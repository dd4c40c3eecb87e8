"""What a transactional write needs before it may enter a log (KIP-890).

A producer of transactions v1 has added the partition before, and the coordinator is asked whether
that is so. Under transactions v2 the first write to a partition adds it. Either way a write that
arrives after the end of its transaction is refused instead of opening one that nobody ends. With
`transaction.partition.verification.enable=false` a producer of transactions v1 is not checked.

`admit` is what a coordinator on this broker says, at once or when its own record is committed;
`headrace.broker.transactions.remote` asks the others. `Admission` puts the question for a produce,
wherever the coordinator is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.coordinator.effects import Effects, ProducerIdentity
from headrace.coordinator.host import HostState
from headrace.errors import ClientFault, Error
from headrace.records.batch import ATTRIBUTES_AT, HEADER_SIZE, TRANSACTIONAL_BIT, producer_of
from headrace.types import ZERO_UUID, TopicPartition

if TYPE_CHECKING:
    from uuid import UUID

    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.storage.storage import Storage
    from headrace.broker.transactions.remote import RemoteTransactions
    from headrace.broker.transactions.transactions import TransactionHost, Transactions
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.coordinator.transaction.metadata import TransactionMetadata
    from headrace.wire.messages.produce import ProduceRequest, TopicProduceData

# Transient: the producer gets NOT_ENOUGH_REPLICAS, which every client retries.
_AGAIN: Final = (
    Error.CONCURRENT_TRANSACTIONS,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
    Error.NETWORK_EXCEPTION,  # it is on another broker, which did not answer
    Error.OPERATION_NOT_ATTEMPTED,  # it does not know another partition of the same write yet
)


_ABORTABLE_SINCE: Final = 11
_ADDS_SINCE: Final = 12

Refused = dict[TopicPartition, ClientFault]
NONE_REFUSED: Final[Refused] = {}


class Unsettled(NamedTuple):
    """What a coordinator on this broker knows of a transaction, but has not committed yet."""

    host: TransactionHost
    metadata: TransactionMetadata | None
    end: int  # of the coordinator's log

    @property
    def is_committed(self) -> bool:
        return self.host.partition.high_watermark >= self.end

    async def wait(self) -> None:
        """Wait until it is committed, or cannot be any more. The caller sets the time limit."""
        committed = asyncio.Event()
        self.host.partition.when_committed(self.end, committed.set)
        await committed.wait()


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
        # Clients retry this without a new look-up of their coordinator.
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


def topic_name(metadata: Metadata, name: str, topic_id: UUID) -> tuple[str, ClientFault | None]:
    """The name of a topic that a produce names by its name, or from v13 on by its id."""
    if topic_id == ZERO_UUID:
        return name, None
    known = metadata.image.topic_names.get(topic_id)
    if known is None:
        return "", ClientFault(Error.UNKNOWN_TOPIC_ID, f"no topic has the id {topic_id}")
    return known, None


class Admission:
    """Which partitions of a produce must not be written, by the word of its coordinator."""

    def __init__(
        self,
        metadata: Metadata,
        storage: Storage,
        transactions: Transactions,
        remote: RemoteTransactions | None,
    ) -> None:
        self._metadata = metadata
        self._storage = storage
        self._transactions = transactions
        self._remote = remote

    def is_elsewhere(self, transactional_id: str) -> bool:
        """Whether another broker has to be asked."""
        return self._remote is not None and self._remote.is_elsewhere(transactional_id)

    def ask(
        self, request: ProduceRequest, call: Call, awaited: Unsettled | None = None
    ) -> tuple[Refused, Unsettled | None]:
        """What a coordinator on this broker says, and what must be committed first."""
        assert request.transactional_id is not None
        refused: dict[TopicPartition, Error] = {}
        unsettled = None
        for producer, partitions in self._unknown(request, call).items():
            errors, later = admit(
                self._transactions,
                request.transactional_id,
                producer,
                partitions,
                adds=call.version >= _ADDS_SINCE,
                awaited=awaited,
            )
            unsettled = later or unsettled
            refused |= errors
        return _told(refused, call), unsettled

    async def ask_until_settled(
        self, request: ProduceRequest, call: Call, unsettled: Unsettled | None
    ) -> Refused:
        """What the coordinator says, wherever it is. Write before the next `await`.

        `unsettled` is what `ask` has returned before.
        """
        if request.transactional_id is None:
            return NONE_REFUSED
        while not self.is_elsewhere(request.transactional_id):
            if unsettled is not None:
                await unsettled.wait()
            # What was true before the wait may not be true any more.
            refused, unsettled = self.ask(request, call, unsettled)
            if unsettled is None:
                return refused
        assert self._remote is not None
        errors: dict[TopicPartition, Error] = {}
        for producer, partitions in self._unknown(request, call).items():
            errors |= await self._remote.admit_remote(
                request.transactional_id, producer, partitions, adds=call.version >= _ADDS_SINCE
            )
        return _told(errors, call)

    def too_late(self, request: ProduceRequest) -> Refused:
        """Nothing was written, because what it waited for did not come in time: try again."""
        if request.transactional_id is None:
            fault = ClientFault(
                Error.REQUEST_TIMED_OUT,
                f"earlier writes of the connection took longer than {request.timeout_ms} ms; retry",
            )
        else:
            fault = ClientFault(
                Error.NOT_ENOUGH_REPLICAS,
                f"the transaction coordinator did not answer within {request.timeout_ms} ms; retry",
            )
        return {
            TopicPartition(self._name(topic)[0], data.index): fault
            for topic in request.topic_data
            for data in topic.partition_data
        }

    def _name(self, topic: TopicProduceData) -> tuple[str, ClientFault | None]:
        return topic_name(self._metadata, topic.name, topic.topic_id)

    def _unknown(
        self, request: ProduceRequest, call: Call
    ) -> dict[ProducerIdentity, list[TopicPartition]]:
        """The partitions that are not known to be part of their producer's transaction."""
        wanted: dict[ProducerIdentity, list[TopicPartition]] = {}
        if not must_ask(self._metadata.settings.config, adds=call.version >= _ADDS_SINCE):
            return wanted
        for topic in request.topic_data:
            name, fault = self._name(topic)
            for data in topic.partition_data:
                records = data.records
                if fault is not None or records is None or len(records) < HEADER_SIZE:
                    continue  # refused for this when it is appended
                if not records[ATTRIBUTES_AT] & TRANSACTIONAL_BIT:
                    continue
                producer = ProducerIdentity(*producer_of(records))
                partition = self._storage.partitions.get(TopicPartition(name, data.index))
                if (
                    partition is not None
                    and partition.is_leader
                    and not partition.log.producers.has_open_transaction(*producer)
                ):
                    wanted.setdefault(producer, []).append(partition.topic_partition)
        return wanted


def _told(errors: dict[TopicPartition, Error], call: Call) -> Refused:
    knows_abortable = call.version >= _ABORTABLE_SINCE
    return {
        where: ClientFault(
            as_told_to_producer(error, knows_abortable=knows_abortable),
            f"the transaction does not take {where}",
        )
        for where, error in errors.items()
        if error
    }
