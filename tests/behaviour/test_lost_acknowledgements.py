"""An acknowledgement is lost: what at most once, at least once and exactly once make of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message

from headrace.records.batch import split_batches
from headrace.records.record import iterate
from headrace.testing import Broker
from tests.behaviour.application import TIMEOUT_SECONDS, new_producer
from tests.behaviour.lossy_network import Loss, LossyNetwork, lossy_network
from tests.clients.raw import Connection
from tests.clients.requests import create_topic, fetched


@pytest.fixture(scope="module")
def network() -> Iterator[LossyNetwork]:
    with lossy_network() as between:
        yield between


@pytest.fixture(scope="module")
def distant_broker(network: LossyNetwork) -> Iterator[Broker]:
    """A broker that its clients reach through the network only."""
    with Broker({"advertised.listeners": f"PLAINTEXT://{network.address}"}) as broker:
        network.broker_port = broker.port
        yield broker


@pytest.fixture
def payments(distant_broker: Broker, topic_name: str) -> str:
    """A topic with one partition."""
    with Connection(distant_broker.bootstrap_servers) as connection:
        create_topic(connection, topic_name)
    return topic_name


class Sender:
    """A producer on the far side of the network, and what it was told."""

    def __init__(self, network: LossyNetwork, **settings: Any) -> None:
        self._producer = new_producer(network.address, acks="all", **settings)
        self.told: list[tuple[bool, int | None]] = []

    def send(self, topic: str, value: bytes) -> None:
        self._producer.produce(topic, value, partition=0, on_delivery=self._note)
        assert self._producer.flush(TIMEOUT_SECONDS) == 0

    def _note(self, error: KafkaError | None, message: Message) -> None:
        self.told.append((error is None, message.offset()))


def stored(broker: Broker, topic: str) -> list[bytes | None]:
    """The values in the log, asked for on the near side."""
    with Connection(broker.bootstrap_servers) as connection:
        records = fetched(connection, topic, 0).records
    return [
        record.value
        for header, batch in split_batches(records)
        for record in iterate(header, batch)
    ]


@pytest.mark.spec("admin:TX-08", "admin:PR-16", "book2:O-01")
@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.name.lower())
def test_at_most_once_never_sends_again(
    network: LossyNetwork, distant_broker: Broker, payments: str, loss: Loss
) -> None:
    """Without retries nothing is written twice, and a request that is lost stays lost."""
    sender = Sender(network, retries=0, enable_idempotence=False)
    sender.send(payments, b"first")
    network.next_loss = loss
    sender.send(payments, b"second")
    sender.send(payments, b"third")
    assert [success for success, _ in sender.told] == [True, False, True]
    arrived = [b"second"] if loss is Loss.ACKNOWLEDGEMENT else []
    assert stored(distant_broker, payments) == [b"first", *arrived, b"third"]


@pytest.mark.spec(
    "admin:TX-01",
    "admin:TX-08",
    "admin:PR-16",
    "slides:C35",
    "book1:P-08",
    "book2:O-02",
    "book2:O-04",
    "book2:A11-05",
)
@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.name.lower())
def test_at_least_once_may_write_twice(
    network: LossyNetwork, distant_broker: Broker, payments: str, loss: Loss
) -> None:
    """With retries nothing is lost; where only the acknowledgement was, there are two copies."""
    sender = Sender(network, retries=5, enable_idempotence=False)
    sender.send(payments, b"first")
    network.next_loss = loss
    sender.send(payments, b"second")
    assert [success for success, _ in sender.told] == [True, True]
    copies = 2 if loss is Loss.ACKNOWLEDGEMENT else 1
    assert stored(distant_broker, payments) == [b"first"] + copies * [b"second"]


@pytest.mark.spec("admin:TX-02", "admin:TX-08", "slides:E04", "book2:O-09")
@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.name.lower())
def test_an_idempotent_producer_writes_once(
    network: LossyNetwork, distant_broker: Broker, payments: str, loss: Loss
) -> None:
    """The broker knows the repeated batch and answers with the offset that it already has."""
    sender = Sender(network, enable_idempotence=True)
    sender.send(payments, b"first")
    network.next_loss = loss
    sender.send(payments, b"second")
    sender.send(payments, b"third")
    assert sender.told == [(True, 0), (True, 1), (True, 2)]
    assert stored(distant_broker, payments) == [b"first", b"second", b"third"]


@pytest.mark.spec("admin:TX-03")
def test_an_application_that_sends_twice_writes_twice(
    network: LossyNetwork, distant_broker: Broker, payments: str
) -> None:
    """Idempotence covers the producer's own retries, and nothing above it."""
    sender = Sender(network, enable_idempotence=True)
    sender.send(payments, b"same")
    sender.send(payments, b"same")
    assert sender.told == [(True, 0), (True, 1)]
    assert stored(distant_broker, payments) == [b"same", b"same"]
