"""Clients that ask too much, or take nothing: the others are served as if they were alone."""

from __future__ import annotations

import contextlib
import itertools
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headrace.testing import Broker
from headrace.wire.header import encode_request
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.fetch import FetchRequest
from headrace.wire.messages.metadata import MetadataRequest
from tests.broker.metrics.scraping import scrape
from tests.clients.raw import Connection, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import (
    CREATE_TOPICS_VERSION,
    LATEST,
    LIST_OFFSETS_VERSION,
    METADATA_VERSION,
    create_topics_request,
    fetch_request,
    list_offsets_request,
    metadata_request,
    produce_request,
    produced,
)
from tests.robustness.memory import peak_rss_mb, rss_mb

WIDE = "wide"  # a topic whose description costs the broker milliseconds
PARTITIONS = 1_000
FLOODED = "flooded"
BURST_BYTES = 128 * 1024
# What a busy machine with two cores may need for one answer; the burst takes several times that.
STALL_S = 5
MEMORY_MB = 64
PATIENCE_S = 30


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(metrics=True) as running:
        create(running, WIDE, PARTITIONS)
        create(running, FLOODED, 1)
        yield running


def create(broker: Broker, topic: str, partitions: int) -> None:
    with Connection(broker.bootstrap_servers) as connection:
        request = create_topics_request(topic, partitions=partitions)
        (answer,) = connection.ask(request, CREATE_TOPICS_VERSION).topics
        assert answer.error_code == 0


def slowest_answer_s(broker: Broker, count: int = 20) -> float:
    """A client that asks one small question after the other."""
    took = []
    with Connection(broker.bootstrap_servers) as connection:
        for _ in range(count):
            began = time.monotonic()
            connection.ask(ApiVersionsRequest(), 0)
            took.append(time.monotonic() - began)
    return max(took)


def frames_of_wide_topic() -> bytes:
    frame = b"".join(encode_request(1, None, METADATA_VERSION, metadata_request(WIDE)))
    return frame * (BURST_BYTES // len(frame))


@contextmanager
def drained(sock: socket.socket) -> Iterator[None]:
    """Somebody takes all that arrives."""

    def read() -> None:
        with contextlib.suppress(OSError):
            while sock.recv(1 << 20):
                pass

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        reader.join()


@contextmanager
def flood(broker: Broker, data: bytes) -> Iterator[None]:
    """A client that sends the same bytes for as long as it can."""
    with socket.create_connection(("127.0.0.1", broker.port)) as sock:

        def send() -> None:
            with contextlib.suppress(OSError):
                while True:
                    sock.sendall(data)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sender.join()


def test_a_burst_of_requests_does_not_delay_other_clients(broker: Broker) -> None:
    """One write of 128 KB asks for twenty seconds of work; another client does not wait for it."""
    with (
        socket.create_connection(("127.0.0.1", broker.port)) as greedy,
        drained(greedy),
    ):
        greedy.sendall(frames_of_wide_topic())
        assert slowest_answer_s(broker) < STALL_S


def test_floods_without_acknowledgement_leave_turns_to_others(broker: Broker) -> None:
    """Between two answers to a client, four floods of acks=0 get a turn or two each, not thousands
    of requests. Half of the answers are looked at: this process may have to wait, too.
    """
    frame = b"".join(
        encode_request(1, None, 7, produce_request(FLOODED, batch_of(numbered_records(1)), acks=0))
    )
    data = frame * (BURST_BYTES // len(frame))
    request = list_offsets_request(FLOODED, LATEST)
    ends: list[int] = []
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(flood(broker, data))
        polite = stack.enter_context(Connection(broker.bootstrap_servers))
        deadline = time.monotonic() + PATIENCE_S
        while len(ends) < 100:
            (topic,) = polite.ask(request, LIST_OFFSETS_VERSION).topics
            if topic.partitions[0].offset > 0:
                ends.append(topic.partitions[0].offset)
            assert time.monotonic() < deadline
    served = [after - before for before, after in itertools.pairwise(ends)]
    assert statistics.median(served) < 2_000


def test_answers_keep_the_order_of_requests_over_many_turns(broker: Broker) -> None:
    """Thousands of requests in one write, some of which have to wait: answers come in order."""
    waits = fetch_request(WIDE, 0, max_wait_ms=100)
    with Connection(broker.bootstrap_servers) as connection:
        sent = []
        data = b""
        for number in range(1_500):
            request = waits if number % 500 == 250 else ApiVersionsRequest()
            version = 4 if request is waits else 0
            data += b"".join(encode_request(number, None, version, request))
            sent.append((number, type(request), version))
        connection.send_bytes(data)
        for number, kind, version in sent:
            assert connection.answer(number, kind, version).error_code == 0


def test_a_client_that_takes_no_answers_is_bounded_and_closed() -> None:
    """More than a megabyte of requests, no answer taken: the broker stops to serve them, and closes
    the connection after connections.max.idle.ms.
    """
    with Broker({"connections.max.idle.ms": 1000}) as broker:
        create(broker, WIDE, 200)
        idle_mb = rss_mb(broker.pid)
        with socket.create_connection(("127.0.0.1", broker.port)) as sleeper:
            sleeper.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for _ in range(9):
                    sleeper.send(frames_of_wide_topic())
            broker.await_output("its client took no bytes of its answers", PATIENCE_S)
        assert peak_rss_mb(broker.pid) < 2 * idle_mb + MEMORY_MB


def test_answers_that_wait_for_an_earlier_one_are_bounded(broker: Broker) -> None:
    """A fetch waits; what was asked behind it is not all answered into memory meanwhile, and comes
    in order when the fetch is answered.
    """
    create(broker, "quiet", 1)
    before = -1.0
    while (now := metadata_requests(broker)) != before:  # of clients of earlier tests
        before = now
        slowest_answer_s(broker, 50)
    fetch = fetch_request("quiet", 0, max_wait_ms=PATIENCE_S * 1000)
    data = b"".join(encode_request(0, None, 4, fetch))
    for number in range(1, 151):
        data += b"".join(encode_request(number, None, METADATA_VERSION, metadata_request(WIDE)))
    with Connection(broker.bootstrap_servers) as patient:
        patient.send_bytes(data)
        # Nothing else is to do for the broker: if it went on to serve them, it would now.
        assert slowest_answer_s(broker, 200) < STALL_S
        assert 0 < metadata_requests(broker) - before < 75
        with Connection(broker.bootstrap_servers) as producer:
            produced(producer, "quiet", numbered_records(1))
        assert patient.answer(0, FetchRequest, 4).error_code == 0
        for number in range(1, 151):
            (topic,) = patient.answer(number, MetadataRequest, METADATA_VERSION).topics
            assert len(topic.partitions) == PARTITIONS


def metadata_requests(broker: Broker) -> float:
    """How many have been served."""
    scraped = scrape(broker.metrics_url)
    return scraped.total("kafka_network_requestmetrics_requests_total", request="Metadata")


def test_requests_of_a_client_that_has_gone_are_not_served(broker: Broker) -> None:
    """A burst whose sender closes at once costs no more than its turns until then."""
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", broker.port)) as greedy:
            greedy.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            greedy.sendall(frames_of_wide_topic())
    assert slowest_answer_s(broker) < STALL_S
