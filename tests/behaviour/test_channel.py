"""The broker as a channel between a sender and a receiver: bytes, latency, modes of transfer."""

from __future__ import annotations

import socket
import statistics
import struct
import threading
import time
from collections.abc import Callable

import crc32c
import pytest
from confluent_kafka import KafkaError, Message

from headrace.testing import Broker
from headrace.wire.messages.fetch import FetchRequest
from tests.behaviour.application import (
    TIMEOUT_SECONDS,
    new_producer,
    numbered,
    offsets,
    read,
    reader,
    take,
    values,
    write,
)
from tests.clients.raw import Connection, batch_headers, batch_of
from tests.clients.records import FIRST_TIMESTAMP_MS, Record
from tests.clients.requests import fetch_request, fetched, produced, produced_bytes

PRODUCE, VERSION, CORRELATION_ID, ACKS_ALL = 0, 3, 77, -1
TRANSITS = 31


def text(value: str) -> bytes:
    """A string as the protocol writes it."""
    return struct.pack(">h", len(value)) + value.encode()


def hand_made_batch(key: bytes, value: bytes) -> bytes:
    """One record in a batch of message format 2, by the book; lengths below 64 are one byte."""
    record = bytes((0, 0, 0, 2 * len(key))) + key + bytes((2 * len(value),)) + value + b"\0"
    records = bytes((2 * len(record),)) + record
    fields = (0, 0, FIRST_TIMESTAMP_MS, FIRST_TIMESTAMP_MS, -1, -1, -1, 1)
    covered = struct.pack(">hiqqqhii", *fields) + records
    checked = struct.pack(">ibI", -1, 2, crc32c.crc32c(covered)) + covered
    return struct.pack(">qi", 0, len(checked)) + checked


@pytest.mark.spec("book1:M-06", "book1:M-09")
def test_a_message_is_bytes_on_a_socket(broker: Broker, topic: str) -> None:
    """Open a socket, write a frame made by hand, read the acknowledgement back.

    What the sender wrapped into a frame, a request and a batch, the receiver unwraps again.
    """
    batch = hand_made_batch(b"key", b"payload")
    request = struct.pack(">hhi", PRODUCE, VERSION, CORRELATION_ID) + text("by hand")
    request += struct.pack(">hhi", -1, ACKS_ALL, 10_000)  # no transaction, acks, time-out
    request += struct.pack(">i", 1) + text(topic) + struct.pack(">iii", 1, 0, len(batch)) + batch
    with (
        socket.create_connection(("127.0.0.1", broker.port), TIMEOUT_SECONDS) as sock,
        sock.makefile("rb") as stream,
    ):
        sock.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", stream.read(4))
        answer = stream.read(size)
    expected = struct.pack(">ii", CORRELATION_ID, 1) + text(topic)
    expected += struct.pack(">iihqq", 1, 0, 0, 0, -1)  # partition 0: no error, offset 0
    assert answer == expected + struct.pack(">i", 0)  # not throttled
    (message,) = read(broker.bootstrap_servers, topic, 1)
    assert (message.key(), message.value(), message.offset()) == (b"key", b"payload", 0)


@pytest.mark.spec("book1:M-03", "book1:M-05", "book1:M-32")
def test_a_record_reaches_a_waiting_reader_at_once(broker: Broker, topic: str) -> None:
    """From send to receipt takes milliseconds, although the reader is ready to wait for long."""
    producer = new_producer(broker.bootstrap_servers, linger_ms=0)
    transits = []
    with reader(broker.bootstrap_servers, topic, fetch_wait_max_ms=5000) as consumer:
        for value in numbered(TRANSITS):
            began = time.monotonic()
            producer.produce(topic, value, partition=0)
            producer.poll(0)
            assert values(take(consumer, 1)) == [value]
            transits.append(time.monotonic() - began)
    assert producer.flush(TIMEOUT_SECONDS) == 0
    assert statistics.median(transits) < 0.1


@pytest.mark.spec("book1:M-08", "book1:M-23")
def test_a_poll_loop_is_fed_over_one_connection(
    broker: Broker, connection: Connection, topic: str
) -> None:
    """A receiver asks before there is anything; each record answers the fetch that waits for it."""
    with Connection(broker.bootstrap_servers) as sender:
        for offset in range(20):
            waiting = fetch_request(topic, offset, max_wait_ms=20_000, min_bytes=1)
            correlation_id = connection.send(waiting, 12)
            batch = batch_of([Record(None, str(offset).encode(), FIRST_TIMESTAMP_MS)])
            produced_bytes(sender, topic, batch)
            (found,) = connection.answer(correlation_id, FetchRequest, 12).responses[0].partitions
            assert [each.base_offset for each in batch_headers(found.records)] == [offset]
            assert bytes(found.records)[16:] == bytes(batch)[16:]


@pytest.mark.spec("book1:M-07", "book1:M-10")
def test_one_at_a_time_in_the_background_or_in_batches(
    broker: Broker, connection: Connection, new_topic: Callable[..., str]
) -> None:
    """Synchronous, asynchronous and batched sends all arrive, in order, as sent."""
    one_by_one, background, together = new_topic(), new_topic(), new_topic()
    producer = new_producer(broker.bootstrap_servers, linger_ms=0)
    for value in numbered(10):
        producer.produce(one_by_one, value, partition=0)
        assert producer.flush(TIMEOUT_SECONDS) == 0
    told: list[Message] = []

    def note(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        told.append(message)

    for value in numbered(10):
        producer.produce(background, value, partition=0, on_delivery=note)
    while len(told) < 10:
        assert producer.poll(TIMEOUT_SECONDS) > 0, "no acknowledgement came"
    write(broker.bootstrap_servers, together, numbered(10), linger_ms=1000, know_leader=True)
    for topic in (one_by_one, background, together):
        assert values(read(broker.bootstrap_servers, topic, 10)) == numbered(10)
    assert offsets(told) == list(range(10))
    assert len(batch_headers(fetched(connection, one_by_one, 0).records)) == 10
    assert len(batch_headers(fetched(connection, together, 0).records)) == 1


@pytest.mark.spec("book1:M-17")
def test_a_request_waits_for_its_reply(broker: Broker, new_topic: Callable[..., str]) -> None:
    """Send on one topic, block on another; the service is another kind of client altogether."""
    requests, replies = new_topic(), new_topic()

    def serve() -> None:
        with Connection(broker.bootstrap_servers) as service:
            for offset in range(3):
                asked = fetched(service, requests, offset, max_wait_ms=20_000, min_bytes=1)
                (header,) = batch_headers(asked.records)
                # The reply tells the offset of its request.
                reply = Record(str(header.base_offset).encode(), b"done", FIRST_TIMESTAMP_MS)
                produced(service, replies, [reply])

    service = threading.Thread(target=serve)
    service.start()
    with reader(broker.bootstrap_servers, replies, fetch_wait_max_ms=5000) as inbox:
        for number in range(3):
            (sent,) = write(broker.bootstrap_servers, requests, [f"do {number}".encode()])
            (reply,) = take(inbox, 1)
            assert (reply.key(), reply.value()) == (str(sent.offset()).encode(), b"done")
    service.join(TIMEOUT_SECONDS)


def test_the_hand_made_batch_is_what_the_library_makes() -> None:
    """The bytes above are no other format than the one that all tests write."""
    record = Record(b"key", b"payload", FIRST_TIMESTAMP_MS)
    assert hand_made_batch(b"key", b"payload") == bytes(batch_of([record]))
