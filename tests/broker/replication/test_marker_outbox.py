"""Markers on their way to other brokers: gathered, answered one by one, never lost silently."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.broker.net.dialling import Dialler, PeerSettings
from headrace.broker.net.peers import Peers
from headrace.broker.transactions.marker_outbox import MarkerOutboxes
from headrace.coordinator.effects import ProducerIdentity, TransactionMarkers
from headrace.errors import Error
from headrace.types import TopicPartition
from headrace.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.broker.replication.fake_broker import LISTENER, fake_broker, image_of, run


@dataclass(eq=False)
class Ending:
    """One transaction that ends."""

    wanted: TransactionMarkers
    is_current: bool = True
    outcomes: list[Mapping[TopicPartition, Error]] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    def on_outcome(self, outcome: Mapping[TopicPartition, Error]) -> None:
        self.outcomes.append(outcome)
        self.heard.set()


def ending(producer_id: int, *, commit: bool = True) -> Ending:
    producer = ProducerIdentity(producer_id, 3)
    return Ending(TransactionMarkers(f"id-{producer_id}", producer, commit, 5, 2, ()))


def orders(partition: int) -> TopicPartition:
    return TopicPartition("orders", partition)


def all_written(
    request: WriteTxnMarkersRequest, errors: Mapping[int, Error] | None = None
) -> WriteTxnMarkersResponse:
    """Every marker is written, but for partitions with an error."""
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(
                                partition_index=index,
                                error_code=(errors or {}).get(index, Error.NONE),
                            )
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in reversed(request.markers)
        ]
    )


def test_what_gathers_while_a_request_is_under_way_leaves_together() -> None:
    """One request at a time; each transaction hears of its own partitions, error by error."""

    async def story() -> None:
        async def answer(request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
            await go_on.wait()
            return all_written(request, {9: Error.NOT_LEADER_OR_FOLLOWER})

        go_on = asyncio.Event()
        async with fake_broker({WriteTxnMarkersRequest: answer}) as fake:
            image = image_of({2: fake.port})
            peers = Peers(1, lambda: image, PeerSettings(LISTENER), Dialler().connect)
            outboxes = MarkerOutboxes(peers)
            first = ending(1)
            outboxes.put(2, first, orders(0))
            await fake.until(lambda: len(fake.heard) == 2)
            others = [ending(producer_id) for producer_id in (2, 3)]
            for each in others:
                outboxes.put(2, each, orders(each.wanted.producer.producer_id))
                outboxes.put(2, each, orders(9))
            go_on.set()
            for each in others:
                await each.heard.wait()
            assert first.outcomes == [{orders(0): Error.NONE}]
            refused = Error.NOT_LEADER_OR_FOLLOWER
            assert others[0].outcomes == [{orders(2): Error.NONE, orders(9): refused}]
            assert others[1].outcomes == [{orders(3): Error.NONE, orders(9): refused}]
            client_id, _, request = fake.heard[2]
            assert client_id == "broker-1-txn-marker-sender"
            assert len(fake.heard) == 3
            marker = request.markers[0]
            assert (marker.producer_id, marker.producer_epoch) == (2, 3)
            assert (marker.transaction_result, marker.coordinator_epoch) == (True, 5)
            assert marker.transaction_version == 2
            await peers.close()

    run(story())


def test_a_broker_that_cannot_be_reached_is_told_to_the_sender() -> None:
    """Nothing is repeated here: every partition comes back with NETWORK_EXCEPTION."""

    async def story() -> None:
        peers = Peers(1, lambda: image_of({}), PeerSettings(LISTENER), Dialler().connect)
        outboxes = MarkerOutboxes(peers)
        each = ending(1)
        outboxes.put(2, each, orders(0))
        outboxes.put(2, each, orders(1))
        await each.heard.wait()
        lost = Error.NETWORK_EXCEPTION
        assert each.outcomes == [{orders(0): lost, orders(1): lost}]
        await peers.close()

    run(story())


def test_a_coordinator_that_resigned_sends_no_more() -> None:
    """Markers that wait in the box are dropped with the coordinator that wanted them."""

    async def story() -> None:
        async def answer(request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
            return all_written(request)

        async with fake_broker({WriteTxnMarkersRequest: answer}) as fake:
            image = image_of({2: fake.port})
            peers = Peers(1, lambda: image, PeerSettings(LISTENER), Dialler().connect)
            outboxes = MarkerOutboxes(peers)
            resigned, current = ending(1), ending(2)
            outboxes.put(2, resigned, orders(0))
            outboxes.put(2, current, orders(0))
            resigned.is_current = False
            await current.heard.wait()
            assert [marker.producer_id for marker in fake.heard[1][2].markers] == [2]
            assert not resigned.outcomes
            await peers.close()

    run(story())


def test_two_transactions_of_one_producer_need_two_requests() -> None:
    """An answer names producers, so each occurs once in a request."""

    async def story() -> None:
        async def answer(request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
            return all_written(request)

        async with fake_broker({WriteTxnMarkersRequest: answer}) as fake:
            image = image_of({2: fake.port})
            peers = Peers(1, lambda: image, PeerSettings(LISTENER), Dialler().connect)
            outboxes = MarkerOutboxes(peers)
            both = [ending(1), ending(1, commit=False)]
            for each in both:
                outboxes.put(2, each, orders(0))
            for each in both:
                await each.heard.wait()
            assert [len(request.markers) for _, _, request in fake.heard[1:]] == [1, 1]
            await peers.close()

    run(story())
