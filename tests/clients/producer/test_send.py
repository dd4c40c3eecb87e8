"""send, its future and its callback, flush and close."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from headrace.errors import Error
from tests.clients.drivers.driver import TIMEOUT_SECONDS, Refused
from tests.clients.drivers.program import ForeignClient
from tests.clients.producer.gateway import Api, Gateway
from tests.clients.producer.java_producer import JavaProducer
from tests.clients.producer.written import end_of, records, values
from tests.clients.raw import Connection

NewJava = Callable[..., JavaProducer]
NewTopic = Callable[..., str]
LONG_LINGER_MS = 60_000
IO_THREAD = "kafka-producer-network-thread"


@pytest.mark.spec("book2:N-08")
@pytest.mark.spec("slides:C02", "slides:C03", "admin:PR-04", "book1:P-17")
def test_send_returns_before_the_broker_has_answered(
    new_java: NewJava, gateway: Gateway, topic: str
) -> None:
    """The record is in a buffer, its future is open; a thread of the client sends it."""
    producer = new_java(bootstrap=gateway.bootstrap)
    producer.partitions_for(topic)
    with gateway.holding_answers():
        outcomes = producer.send(*({"topic": topic, "value": str(n)} for n in range(3)))
        gateway.await_requests(Api.PRODUCE, 1)
        assert [each["is_done"] for each in outcomes] == [False, False, False]
        assert producer.reports() == []
    told = producer.reports(3)
    assert [each["offset"] for each in told] == [0, 1, 2]
    assert all(each["thread"].startswith(IO_THREAD) for each in told)


@pytest.mark.spec("slides:C06", "book1:P-16")
def test_get_waits_for_the_acknowledgement(new_java: NewJava, gateway: Gateway, topic: str) -> None:
    """send(record).get() returns the metadata when the broker has answered, and not before."""
    producer = new_java(bootstrap=gateway.bootstrap)
    got: list[dict[str, object]] = []
    waiting = threading.Thread(
        target=lambda: got.extend(producer.send_and_get({"topic": topic, "value": "v"}))
    )
    with gateway.holding_answers():
        waiting.start()
        gateway.await_requests(Api.PRODUCE, 1)
        assert waiting.is_alive()
        assert got == []
    waiting.join(TIMEOUT_SECONDS)
    assert [each["offset"] for each in got] == [0]


@pytest.mark.spec("book1:P-16", "slides:C44")
def test_get_raises_what_the_broker_refused(new_java: NewJava, new_topic: NewTopic) -> None:
    """The same call fails with the broker's error where there is one."""
    topic = new_topic(config={"max.message.bytes": "1000"})
    with pytest.raises(Refused, match="RecordTooLargeException") as refusal:
        new_java().send_and_get({"topic": topic, "value": "v" * 2000})
    assert refusal.value.code == Error.MESSAGE_TOO_LARGE


@pytest.mark.spec("slides:C04", "slides:C05", "admin:PR-14", "book1:P-18", "slides:C44")
def test_a_callback_has_an_offset_or_an_exception(new_java: NewJava, new_topic: NewTopic) -> None:
    """Never both, never neither; on the I/O thread, and in the order of each partition."""
    topic = new_topic(partitions=2, config={"cleanup.policy": "compact"})
    keyless = {7, 13}  # which a compacted topic refuses
    producer = new_java()
    for number in range(40):
        key = None if number in keyless else "k"
        producer.send(
            {"topic": topic, "partition": number % 2, "key": key, "value": "v", "note": number}
        )
        if number in keyless or number + 2 in keyless:
            producer.flush()  # a batch fails as a whole
    told = producer.reports(40)
    assert all((each["exception"] is None) != (each["offset"] is None) for each in told)
    failed = {int(each["note"]): each["exception"] for each in told if each["exception"]}
    assert failed == dict.fromkeys(keyless, "InvalidRecordException")
    for partition in (0, 1):
        notes = [int(each["note"]) for each in told if each["partition"] == partition]
        assert notes == list(range(partition, 40, 2))
    assert {each["thread"].partition(" | ")[0] for each in told} == {IO_THREAD}


@pytest.mark.spec("slides:C01", "book1:P-29")
def test_threads_share_a_producer(new_java: NewJava, connection: Connection, topic: str) -> None:
    """Every record of every thread arrives once, in the order of its thread (Java)."""
    producer = new_java()
    producer.send_from_threads(topic, threads=8, count=100)
    producer.flush()
    assert {each["exception"] for each in producer.reports(800)} == {None}
    _assert_threads_kept_order(connection, topic)


@pytest.mark.spec("slides:C01", "book1:P-29")
def test_threads_share_a_producer_of_librdkafka(
    bootstrap: str, connection: Connection, topic: str
) -> None:
    """Every record of every thread arrives once, in the order of its thread (librdkafka)."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})

    def send(name: str) -> None:
        for number in range(100):
            producer.produce(topic, str(number), name, partition=0)

    threads = [threading.Thread(target=send, args=(f"thread-{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_SECONDS)
    assert producer.flush(TIMEOUT_SECONDS) == 0
    _assert_threads_kept_order(connection, topic)


def _assert_threads_kept_order(connection: Connection, topic: str) -> None:
    by_thread: dict[bytes | None, list[bytes | None]] = {}
    for record in records(connection, topic):
        by_thread.setdefault(record.key, []).append(record.value)
    assert len(by_thread) == 8
    assert all(found == [b"%d" % n for n in range(100)] for found in by_thread.values())


@pytest.mark.spec("slides:C09")
def test_flush_does_not_linger(
    new_java: NewJava, gateway: Gateway, connection: Connection, topic: str
) -> None:
    """What is buffered leaves at once; flush returns when all of it is acknowledged."""
    producer = new_java(bootstrap=gateway.bootstrap, linger_ms=LONG_LINGER_MS)
    producer.send(*({"topic": topic, "value": str(n)} for n in range(3)))
    assert end_of(connection, topic) == 0
    flushing = threading.Thread(target=producer.flush)
    with gateway.holding_answers():
        flushing.start()
        gateway.await_requests(Api.PRODUCE, 1)
        assert flushing.is_alive()
    flushing.join(TIMEOUT_SECONDS)
    assert [each["offset"] for each in producer.reports()] == [0, 1, 2]
    assert values(connection, topic) == ["0", "1", "2"]


@pytest.mark.spec("slides:C10", "slides:C47", "admin:PR-01")
@pytest.mark.parametrize("timeout_ms", [None, 10_000], ids=["endless", "ten seconds"])
def test_close_waits_for_what_is_under_way(
    new_java: NewJava,
    java_producers: ForeignClient,
    connection: Connection,
    topic: str,
    timeout_ms: int | None,
) -> None:
    """Nothing that was sent is lost; the thread is gone, and send raises from then on."""
    producer = new_java(linger_ms=LONG_LINGER_MS, client_id=f"closing-{topic}")
    producer.send(*({"topic": topic, "value": str(n)} for n in range(3)))
    assert f"{IO_THREAD} | closing-{topic}" in java_producers.call("io_threads")
    producer.close(timeout_ms=timeout_ms)
    assert [each["offset"] for each in producer.reports()] == [0, 1, 2]
    assert values(connection, topic) == ["0", "1", "2"]
    assert f"{IO_THREAD} | closing-{topic}" not in java_producers.call("io_threads")
    (late,) = producer.send({"topic": topic, "value": "late"})
    assert late["thrown"] == "IllegalStateException"


@pytest.mark.spec("slides:C10")
def test_close_with_a_bound_fails_what_is_left(
    new_java: NewJava, gateway: Gateway, topic: str
) -> None:
    """When the time is over, records without an answer fail; close returns."""
    producer = new_java(bootstrap=gateway.bootstrap)
    with gateway.holding_answers():
        producer.send({"topic": topic, "value": "v"})
        gateway.await_requests(Api.PRODUCE, 1)
        producer.close(timeout_ms=200)
    (told,) = producer.reports(1)
    assert (told["exception"], told["offset"]) == ("KafkaException", None)
