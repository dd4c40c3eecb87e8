"""Which partitions of a transactional produce must not be written, by the word of its coordinator.

The coordinator may be on this broker, where its answer is there at once or when its own record is
committed, or on another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.broker.transactions.writes import (
    Unsettled,
    admit,
    as_told_to_producer,
    must_ask,
    settled,
)
from headrace.coordinator.effects import ProducerIdentity
from headrace.errors import ClientFault, Error
from headrace.records.batch import ATTRIBUTES_AT, HEADER_SIZE, TRANSACTIONAL_BIT, producer_of
from headrace.types import ZERO_UUID, TopicPartition

if TYPE_CHECKING:
    from uuid import UUID

    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.storage.storage import Storage
    from headrace.broker.transactions.remote import RemoteTransactions
    from headrace.broker.transactions.transactions import Transactions
    from headrace.wire.messages.produce import ProduceRequest, TopicProduceData

_ABORTABLE_SINCE: Final = 11
_ADDS_SINCE: Final = 12

Refused = dict[TopicPartition, ClientFault]
NONE_REFUSED: Final[Refused] = {}


def topic_name(metadata: Metadata, name: str, topic_id: UUID) -> tuple[str, ClientFault | None]:
    """The name of a topic that a produce names by its name, or from v13 on by its id."""
    if topic_id == ZERO_UUID:
        return name, None
    known = metadata.image.topic_names.get(topic_id)
    if known is None:
        return "", ClientFault(Error.UNKNOWN_TOPIC_ID, f"no topic has the id {topic_id}")
    return known, None


class Admission:
    """See the module."""

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
                await settled(unsettled)
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
