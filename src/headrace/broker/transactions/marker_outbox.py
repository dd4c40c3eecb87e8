"""Markers on their way to brokers that lead the partitions, gathered into WriteTxnMarkers.

One request at a time is under way to each broker; what comes meanwhile leaves with the next one, so
a busy coordinator sends few and large requests. Nothing is repeated here: a `Recipient` hears of
the outcome and asks again, perhaps another broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

from headrace.broker.net.peers import PeerUnreachable, error_named
from headrace.broker.watching import logs
from headrace.errors import Error
from headrace.types import TopicPartition
from headrace.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from headrace.broker.net.peers import Peers
    from headrace.coordinator.effects import TransactionMarkers

CHANNEL: Final = "txn-marker-sender"
_TIMEOUT_MS: Final = 30_000


class Recipient(Protocol):
    """One transaction whose markers are sent."""

    wanted: TransactionMarkers

    @property
    def is_current(self) -> bool: ...

    def on_outcome(self, outcome: Mapping[TopicPartition, Error]) -> None: ...


class MarkerOutboxes:
    """One outbox for each broker that leads partitions of transactions which end."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._waiting: dict[int, dict[Recipient, list[TopicPartition]]] = {}
        self._senders: dict[int, asyncio.Task[None]] = {}

    def put(self, broker_id: int, recipient: Recipient, partition: TopicPartition) -> None:
        self._waiting.setdefault(broker_id, {}).setdefault(recipient, []).append(partition)
        if broker_id not in self._senders:
            # The task begins on the next turn of the loop: what this turn ends leaves together.
            task = asyncio.get_running_loop().create_task(self._send_all(broker_id))
            self._senders[broker_id] = task

    async def _send_all(self, broker_id: int) -> None:
        try:
            while self._waiting.get(broker_id):
                batch = _take(self._waiting[broker_id])
                if batch:
                    await self._send(broker_id, batch)
        finally:
            del self._senders[broker_id]

    async def _send(self, broker_id: int, batch: dict[Recipient, list[TopicPartition]]) -> None:
        request = WriteTxnMarkersRequest(
            markers=[_marker(each.wanted, partitions) for each, partitions in batch.items()]
        )
        try:
            response = await self._peers.ask(
                broker_id, request, timeout_ms=_TIMEOUT_MS, channel=CHANNEL
            )
        except PeerUnreachable as fault:
            logs.COORDINATOR.debug("Markers for broker %d are sent again: %s", broker_id, fault)
            answers = {}
        else:
            answers = _errors_by_producer(response)
        for recipient, partitions in batch.items():
            errors = answers.get(recipient.wanted.producer.producer_id, {})
            recipient.on_outcome(
                {each: errors.get(each, Error.NETWORK_EXCEPTION) for each in partitions}
            )


def _take(
    waiting: dict[Recipient, list[TopicPartition]],
) -> dict[Recipient, list[TopicPartition]]:
    """What the next request carries: an answer names producers, so each may occur once."""
    batch: dict[Recipient, list[TopicPartition]] = {}
    producers = set()
    for recipient in list(waiting):
        producer_id = recipient.wanted.producer.producer_id
        if not recipient.is_current:
            del waiting[recipient]
        elif producer_id not in producers:
            producers.add(producer_id)
            batch[recipient] = waiting.pop(recipient)
    return batch


def _marker(wanted: TransactionMarkers, partitions: list[TopicPartition]) -> WritableTxnMarker:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return WritableTxnMarker(
        producer_id=wanted.producer.producer_id,
        producer_epoch=wanted.producer.producer_epoch,
        transaction_result=wanted.commit,
        topics=[
            WritableTxnMarkerTopic(name=name, partition_indexes=indexes)
            for name, indexes in topics.items()
        ],
        coordinator_epoch=wanted.coordinator_epoch,
        transaction_version=wanted.transaction_version,
    )


def _errors_by_producer(
    response: WriteTxnMarkersResponse,
) -> dict[int, dict[TopicPartition, Error]]:
    return {
        marker.producer_id: {
            TopicPartition(topic.name, result.partition_index): error_named(result.error_code)
            for topic in marker.topics
            for result in topic.partitions
        }
        for marker in response.markers
    }
