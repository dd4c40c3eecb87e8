"""Markers on their way to brokers that lead the partitions, gathered into WriteTxnMarkers.

Nothing is repeated here: a `Recipient` hears of the outcome and asks again, perhaps another broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from headrace.broker.net.peers import PeerUnreachable, error_named
from headrace.broker.transactions.outbox import Outbox
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


class _Letter(NamedTuple):
    """The partitions of one transaction that a broker leads; its answer names producers."""

    recipient: Recipient
    partitions: list[TopicPartition]

    @property
    def name(self) -> int:
        return self.recipient.wanted.producer.producer_id


class MarkerOutboxes:
    """One outbox for each broker that leads partitions of transactions which end."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._outbox = Outbox(self._send)

    def put(self, broker_id: int, recipient: Recipient, partition: TopicPartition) -> None:
        letter = self._outbox.letter(broker_id, recipient, lambda: _Letter(recipient, []))
        letter.partitions.append(partition)

    async def _send(self, broker_id: int, letters: list[_Letter]) -> None:
        batch = [each for each in letters if each.recipient.is_current]
        if not batch:
            return
        request = WriteTxnMarkersRequest(
            markers=[_marker(each.recipient.wanted, each.partitions) for each in batch]
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
        for letter in batch:
            errors = answers.get(letter.name, {})
            letter.recipient.on_outcome(
                {each: errors.get(each, Error.NETWORK_EXCEPTION) for each in letter.partitions}
            )


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
