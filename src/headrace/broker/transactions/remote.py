"""Questions of transactional writes to transaction coordinators on other brokers (KIP-890).

The leader of a partition must know that a write belongs to an open transaction. Where the
transaction coordinator lives on another broker it is asked with AddPartitionsToTxn: to verify for
producers of transactions v1, to add for those of v2. No write waits longer than `_TIMEOUT_MS`,
which includes the time to connect and to wait for an earlier question.

Between the coordinator's answer and the write the transaction may end here. A guard (see
`verification_guards`) is opened before the question; an answer behind a broken one is void.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.broker.net.peers import PeerUnreachable, error_named
from headrace.broker.transactions.outbox import Outbox
from headrace.broker.watching import logs
from headrace.errors import ClientFault, Error
from headrace.types import TopicPartition
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from headrace.broker.net.peers import Peers
    from headrace.broker.storage.storage import Storage
    from headrace.broker.transactions.transactions import Transactions
    from headrace.broker.transactions.verification_guards import Guards
    from headrace.coordinator.effects import ProducerIdentity

CHANNEL: Final = "add-partitions-manager"
# Shorter than a client's request.timeout.ms, so that the client is told to come again in time.
_TIMEOUT_MS: Final = 10_000

Errors = dict[TopicPartition, Error]


@dataclass(eq=False, slots=True)
class _Question:
    """What one or several writes of one transaction want to know."""

    transactional_id: str
    producer: ProducerIdentity
    adds: bool
    partitions: dict[TopicPartition, None]  # in order, each once
    answer: asyncio.Future[Errors]

    @property
    def name(self) -> str:
        return self.transactional_id


class RemoteTransactions:
    """See the module."""

    def __init__(
        self, peers: Peers, storage: Storage, transactions: Transactions, guards: Guards
    ) -> None:
        self._peers = peers
        self._storage = storage
        self._transactions = transactions
        self._guards = guards
        self._outbox = Outbox(self._send)

    def is_elsewhere(self, transactional_id: str) -> bool:
        """Whether another broker coordinates this transactional id."""
        try:
            return self._transactions.leader_of(transactional_id) != self._storage.broker_id
        except ClientFault:
            return False

    async def admit_remote(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
        *,
        adds: bool,
    ) -> Errors:
        """Why each partition must not be written. Write before the next `await`."""
        try:
            coordinator = self._transactions.leader_of(transactional_id)
        except ClientFault as fault:
            return dict.fromkeys(partitions, fault.error)
        found = {each: self._storage.partitions.get(each) for each in partitions}
        guards = {
            each: self._guards.open(partition, producer.producer_id)
            for each, partition in found.items()
            if partition is not None
        }
        try:
            async with asyncio.timeout(_TIMEOUT_MS / 1000):
                told = await self._ask(coordinator, transactional_id, producer, partitions, adds)
            errors = {each: told[each] for each in partitions}
            for each, guard in guards.items():
                if not errors[each]:
                    errors[each] = guard.fault
            return errors
        except TimeoutError:
            return dict.fromkeys(partitions, _LOST)
        finally:
            for guard in guards.values():
                guard.close()

    # -- gathering --------------------------------------------------------------------------------

    async def _ask(
        self,
        coordinator: int,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
        adds: bool,
    ) -> Errors:
        def new() -> _Question:
            answer: asyncio.Future[Errors] = asyncio.get_running_loop().create_future()
            return _Question(transactional_id, producer, adds, {}, answer)

        key = (transactional_id, producer, adds)
        question = self._outbox.letter(coordinator, key, new)
        question.partitions.update(dict.fromkeys(partitions))
        return await asyncio.shield(question.answer)

    async def _send(self, coordinator: int, batch: list[_Question]) -> None:
        answers = await self._ask_peer(coordinator, batch)
        for question in batch:
            question.answer.set_result(
                {
                    each: answers.get((question.transactional_id, each), _LOST)
                    for each in question.partitions
                }
            )

    async def _ask_peer(
        self, coordinator: int, batch: list[_Question]
    ) -> dict[tuple[str, TopicPartition], Error]:
        request = AddPartitionsToTxnRequest(transactions=[_entry(each) for each in batch])
        try:
            response: AddPartitionsToTxnResponse = await self._peers.ask(
                coordinator, request, timeout_ms=_TIMEOUT_MS, channel=CHANNEL
            )
        except PeerUnreachable as fault:
            logs.COORDINATOR.warning("Transactions cannot be verified: %s", fault)
            return {}
        if response.error_code:
            error = error_named(response.error_code)
            return {(q.transactional_id, each): error for q in batch for each in q.partitions}
        return {
            (
                result.transactional_id,
                TopicPartition(topic.name, partition.partition_index),
            ): error_named(partition.partition_error_code)
            for result in response.results_by_transaction
            for topic in result.topic_results
            for partition in topic.results_by_partition
        }


_LOST: Final = Error.NETWORK_EXCEPTION


def _entry(question: _Question) -> AddPartitionsToTxnTransaction:
    topics: dict[str, list[int]] = {}
    for topic, index in question.partitions:
        topics.setdefault(topic, []).append(index)
    return AddPartitionsToTxnTransaction(
        transactional_id=question.transactional_id,
        producer_id=question.producer.producer_id,
        producer_epoch=question.producer.producer_epoch,
        verify_only=not question.adds,
        topics=[
            AddPartitionsToTxnTopic(name=name, partitions=indexes)
            for name, indexes in topics.items()
        ],
    )
