"""acks as it is written and as it is sent, and what acks=0 loses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Message, Producer

from tests.clients.contract import eventually
from tests.clients.drivers.driver import TIMEOUT_SECONDS
from tests.clients.drivers.program import ForeignClient
from tests.clients.producer.gateway import Api, Gateway, Loss
from tests.clients.producer.java_producer import JavaProducer
from tests.clients.producer.written import end_of, values
from tests.clients.raw import Connection

NewJava = Callable[..., JavaProducer]


@pytest.mark.spec("slides:C18")
@pytest.mark.parametrize(
    ("acks", "sent"), [(None, -1), ("all", -1), ("-1", -1), ("1", 1), ("0", 0)]
)
def test_every_value_of_acks(
    new_java: NewJava,
    java_producers: ForeignClient,
    gateway: Gateway,
    topic: str,
    acks: str | None,
    sent: int,
) -> None:
    """all and -1 are the same, and the default; the request carries the number."""
    assert java_producers.call("defaults")["acks"] == "all"
    settings = {} if acks is None else {"acks": acks}
    java = new_java(bootstrap=gateway.bootstrap, **settings)
    java.send({"topic": topic, "value": "v"})
    assert [each["exception"] for each in java.reports(1)] == [None]
    other = Producer({"bootstrap.servers": gateway.bootstrap, "log_level": 0, **settings})
    other.produce(topic, "v")
    assert other.flush(TIMEOUT_SECONDS) == 0
    requests = gateway.await_requests(Api.PRODUCE, 2)
    assert [each.message.acks for each in requests] == [sent, sent]


@pytest.mark.spec("book2:O-06", "book2:A11-05")
def test_a_record_that_nobody_waits_for_is_lost_with_its_receiver(
    gateway: Gateway, connection: Connection, topic: str
) -> None:
    """acks=0: received, not stored, and gone; it counts as delivered and is not sent again."""
    told: list[tuple[KafkaError | None, int | None]] = []

    def note(error: KafkaError | None, message: Message) -> None:
        told.append((error, message.offset()))

    producer = Producer({"bootstrap.servers": gateway.bootstrap, "log_level": 0, "acks": 0})

    def send(value: str) -> None:
        producer.produce(topic, value, partition=0, on_delivery=note)
        assert producer.flush(TIMEOUT_SECONDS) == 0

    gateway.fail_next(None, Loss.REQUEST)
    send("arrives")
    greetings = len(gateway.of(Api.API_VERSIONS))
    send("is lost")
    gateway.await_requests(Api.API_VERSIONS, greetings + 1)  # on a new connection
    send("arrives too")
    assert told == [(None, None)] * 3
    eventually(lambda: end_of(connection, topic) == 2, "the last one, which nobody confirms")
    assert len(gateway.of(Api.PRODUCE)) == 3
    assert values(connection, topic) == ["arrives", "arrives too"]
