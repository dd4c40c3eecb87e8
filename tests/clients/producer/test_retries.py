"""What a producer sends again, how often, when, and what that does to the order of records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer

from headrace.errors import Error
from tests.clients.drivers.driver import TIMEOUT_SECONDS
from tests.clients.drivers.program import ForeignClient
from tests.clients.producer.gateway import Api, Fault, Gateway, Loss
from tests.clients.producer.java_producer import JavaProducer
from tests.clients.producer.written import values
from tests.clients.raw import Connection

NewJava = Callable[..., JavaProducer]
TRANSIENT = (
    Loss.REQUEST,
    Error.LEADER_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER,
    Error.REQUEST_TIMED_OUT,
    Error.NOT_ENOUGH_REPLICAS,
    Error.NETWORK_EXCEPTION,
)
FINAL = {
    Error.INVALID_RECORD: "InvalidRecordException",
    Error.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    Error.INVALID_REQUIRED_ACKS: "InvalidRequiredAcksException",
}


def name_of(fault: Fault) -> str:
    return fault.name.lower() if fault else "none"


@pytest.mark.spec("slides:C33", "book1:P-07", "book1:P-11", "admin:PR-17")
@pytest.mark.parametrize("fault", TRANSIENT, ids=name_of)
def test_a_transient_fault_is_tried_again(
    new_java: NewJava, gateway: Gateway, connection: Connection, topic: str, fault: Fault
) -> None:
    """A broken connection, a leader that moves, a time-out: the record arrives, nobody is told."""
    producer = new_java(bootstrap=gateway.bootstrap, retry_backoff_ms=10)
    gateway.fail_next(fault, fault)
    producer.send({"topic": topic, "value": "v"})
    assert [each["exception"] for each in producer.reports(1)] == [None]
    assert len(gateway.of(Api.PRODUCE)) == 3
    assert values(connection, topic) == ["v"]


@pytest.mark.spec("slides:C33", "book1:P-07", "book1:P-11")
@pytest.mark.parametrize("fault", FINAL, ids=name_of)
def test_a_final_fault_is_told_at_once(
    new_java: NewJava, gateway: Gateway, connection: Connection, topic: str, fault: Error
) -> None:
    """What cannot get better is an exception after one request, whatever retries says."""
    producer = new_java(bootstrap=gateway.bootstrap)
    gateway.fail_next(fault)
    producer.send({"topic": topic, "value": "v"})
    assert [each["exception"] for each in producer.reports(1)] == [FINAL[fault]]
    assert len(gateway.of(Api.PRODUCE)) == 1
    assert values(connection, topic) == []


@pytest.mark.spec("slides:C33", "book1:P-07")
@pytest.mark.parametrize("retries", [0, 2])
def test_retries_are_counted(
    new_java: NewJava, java_producers: ForeignClient, gateway: Gateway, topic: str, retries: int
) -> None:
    """One request and so many retries; without bound since Kafka 2.1, but for the time (KIP-91)."""
    defaults = java_producers.call("defaults")
    assert (defaults["retries"], defaults["delivery.timeout.ms"]) == ("2147483647", "120000")
    settings = {"retries": retries, "enable_idempotence": False, "retry_backoff_ms": 10}
    producer = new_java(bootstrap=gateway.bootstrap, **settings)
    gateway.fail_next(*[Error.NOT_ENOUGH_REPLICAS] * 5)
    producer.send({"topic": topic, "value": "v"})
    assert [each["exception"] for each in producer.reports(1)] == ["NotEnoughReplicasException"]
    assert len(gateway.of(Api.PRODUCE)) == 1 + retries


@pytest.mark.spec("admin:PR-17")
def test_without_retries_a_lost_leader_is_an_exception(
    new_java: NewJava, gateway: Gateway, topic: str
) -> None:
    """NetworkException in the callback; librdkafka calls it _TRANSPORT."""
    java = new_java(bootstrap=gateway.bootstrap, retries=0, enable_idempotence=False)
    gateway.fail_next(Loss.REQUEST)
    java.send({"topic": topic, "value": "v"})
    assert [each["exception"] for each in java.reports(1)] == ["NetworkException"]
    errors: list[KafkaError | None] = []

    def note(error: KafkaError | None, _: Message) -> None:
        errors.append(error)

    settings = {"bootstrap.servers": gateway.bootstrap, "log_level": 0}
    producer = Producer({**settings, "retries": 0, "enable.idempotence": False})
    gateway.fail_next(Loss.REQUEST)
    producer.produce(topic, "v", on_delivery=note)
    assert producer.flush(TIMEOUT_SECONDS) == 0
    assert [error and error.code() for error in errors] == [KafkaError._TRANSPORT]


@pytest.mark.spec("slides:C34")
def test_a_retry_waits(
    new_java: NewJava, java_producers: ForeignClient, gateway: Gateway, topic: str
) -> None:
    """retry.backoff.ms, 100 by default, with a fifth of it for chance (KIP-580)."""
    assert java_producers.call("defaults")["retry.backoff.ms"] == "100"
    producer = new_java(bootstrap=gateway.bootstrap, retry_backoff_ms=300, retry_backoff_max_ms=300)
    producer.partitions_for(topic)
    gateway.fail_next(Error.NOT_ENOUGH_REPLICAS)
    producer.send({"topic": topic, "value": "v"})
    producer.reports(1)
    first, second = gateway.of(Api.PRODUCE)
    assert second.at_seconds - first.at_seconds >= 0.24


@pytest.mark.spec("slides:C31", "slides:C32", "slides:C44")
def test_an_answer_is_awaited_for_request_timeout_ms(
    new_java: NewJava, java_producers: ForeignClient, gateway: Gateway, topic: str
) -> None:
    """30 s by default; the broker is told how long it may wait for followers: as long.

    Without an answer it is a TimeoutException, under the name timeout.ms once had.
    """
    assert java_producers.call("defaults")["request.timeout.ms"] == "30000"
    new_java(bootstrap=gateway.bootstrap).send_and_get({"topic": topic, "value": "v"})
    settings = {"retries": 0, "enable_idempotence": False, "request_timeout_ms": 400}
    producer = new_java(bootstrap=gateway.bootstrap, delivery_timeout_ms=30_000, **settings)
    producer.partitions_for(topic)
    with gateway.holding_answers():
        producer.send({"topic": topic, "value": "v"})
        assert [each["exception"] for each in producer.reports(1)] == ["TimeoutException"]
    assert [each.message.timeout_ms for each in gateway.of(Api.PRODUCE)] == [30_000, 400]


@pytest.mark.spec("slides:C33", "slides:C31")
def test_a_timeout_is_transient(
    new_java: NewJava, gateway: Gateway, connection: Connection, topic: str
) -> None:
    """A request that nobody answered is sent again; the broker knows an idempotent repeat."""
    producer = new_java(bootstrap=gateway.bootstrap, request_timeout_ms=400)
    producer.partitions_for(topic)
    with gateway.holding_answers():
        producer.send({"topic": topic, "value": "v"})
        gateway.await_requests(Api.PRODUCE, 2)
    assert [(each["exception"], each["offset"]) for each in producer.reports(1)] == [(None, 0)]
    assert values(connection, topic) == ["v"]


# How many requests may be under way, whether the producer is idempotent, what is in the log when
# the first of two requests fails and is sent again.
WINDOWS: dict[str, tuple[int, bool, list[str]]] = {
    "two in flight may change places": (2, False, ["known", "second", "first"]),
    "one in flight keeps the order": (1, False, ["known", "first", "second"]),
    "an idempotent producer keeps the order": (5, True, ["known", "first", "second"]),
}


@pytest.mark.spec("slides:C30", "admin:PR-18", "book1:P-27")
@pytest.mark.parametrize("window", WINDOWS)
def test_order_under_retries(
    new_java: NewJava, gateway: Gateway, connection: Connection, topic: str, window: str
) -> None:
    """Of a producer that it knows, the broker refuses a sequence ahead of its turn (KIP-98)."""
    in_flight, idempotent, expected = WINDOWS[window]
    producer = new_java(
        bootstrap=gateway.bootstrap,
        max_in_flight_requests_per_connection=in_flight,
        enable_idempotence=idempotent,
        linger_ms=0,
        retry_backoff_ms=10,
    )
    producer.send_and_get({"topic": topic, "partition": 0, "value": "known"})
    gateway.fail_next(Error.NOT_ENOUGH_REPLICAS)
    with gateway.holding_answers():
        producer.send({"topic": topic, "partition": 0, "value": "first"})
        gateway.await_requests(Api.PRODUCE, 2)
        producer.send({"topic": topic, "partition": 0, "value": "second"})
        gateway.await_requests(Api.PRODUCE, min(1 + in_flight, 3))
    assert {each["exception"] for each in producer.reports(2)} == {None}
    assert values(connection, topic) == expected


@pytest.mark.spec("admin:PR-18")
def test_librdkafka_keeps_the_order_where_it_is_idempotent(
    gateway: Gateway, connection: Connection, topic: str
) -> None:
    """The same loss, the same order."""
    settings: dict[str, Any] = {"linger.ms": 0, "retry.backoff.ms": 10, "log_level": 0}
    producer = Producer(
        {"bootstrap.servers": gateway.bootstrap, "enable.idempotence": True, **settings}
    )
    producer.produce(topic, "known", partition=0)
    assert producer.flush(TIMEOUT_SECONDS) == 0
    gateway.fail_next(Error.NOT_ENOUGH_REPLICAS)
    with gateway.holding_answers():
        producer.produce(topic, "first", partition=0)
        gateway.await_requests(Api.PRODUCE, 2)
        producer.produce(topic, "second", partition=0)
        gateway.await_requests(Api.PRODUCE, 3)
    assert producer.flush(TIMEOUT_SECONDS) == 0
    assert values(connection, topic) == ["known", "first", "second"]


@pytest.mark.spec("slides:C30", "admin:PR-18", "book1:P-27")
@pytest.mark.parametrize("window", [1, 3, None])
def test_as_many_requests_are_under_way_as_allowed(
    new_java: NewJava,
    java_producers: ForeignClient,
    gateway: Gateway,
    connection: Connection,
    topic: str,
    window: int | None,
) -> None:
    """Five by default; a further one leaves when an answer has come."""
    assert java_producers.call("defaults")["max.in.flight.requests.per.connection"] == "5"
    settings = {} if window is None else {"max_in_flight_requests_per_connection": window}
    producer = new_java(bootstrap=gateway.bootstrap, batch_size=0, linger_ms=0, **settings)
    producer.partitions_for(topic)
    with gateway.holding_answers():
        producer.send(*({"topic": topic, "partition": 0, "value": "v" * 50} for _ in range(10)))
        gateway.await_requests(Api.PRODUCE, window or 5)
    assert {each["exception"] for each in producer.reports(10)} == {None}
    assert gateway.peak_in_flight == (window or 5)
    assert len(values(connection, topic)) == 10
