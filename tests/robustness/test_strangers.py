"""Bytes that are no Kafka request: the connection at fault is closed, the rest goes on."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest

from headrace.testing import Broker
from headrace.wire.messages.api_versions import ApiVersionsRequest
from tests.clients.raw import Connection

PATIENCE_S = 10


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"socket.request.max.bytes": 1 << 20}) as running:
        yield running


def is_closed_after(broker: Broker, data: bytes) -> bool:
    with socket.create_connection(("127.0.0.1", broker.port), PATIENCE_S) as sock:
        sock.sendall(data)
        try:
            return sock.recv(1) == b""
        except ConnectionResetError:
            return True


def is_well(broker: Broker) -> bool:
    with Connection(broker.bootstrap_servers) as connection:
        return bool(connection.ask(ApiVersionsRequest(), 0).api_keys)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), "TLS"),
        (b"ruok", "ZooKeeper"),
        (struct.pack(">i", 2**31 - 1), "socket.request.max.bytes"),
        (struct.pack(">i", (1 << 20) + 1), "socket.request.max.bytes"),
        (struct.pack(">i", -5), "below"),
        (struct.pack(">ihhih", 10, 999, 0, 1, -1), "999"),
        (struct.pack(">ihhih", 10, 3, 99, 1, -1), "v99"),
        (struct.pack(">ihhih", 10, 0, 1, 1, -1), "v1"),
        (struct.pack(">ihhih", 12, 3, 1, 1, 500) + b"xx", "header"),
    ],
    ids=["http", "tls", "zookeeper", "2GB", "1MB", "negative", "key", "version", "v1", "short"],
)
def test_nonsense_closes_its_own_connection_and_says_why(
    broker: Broker, data: bytes, told: str
) -> None:
    """HTTP, TLS, lying lengths, unknown keys and versions: closed, named in the log, no harm."""
    assert is_closed_after(broker, data)
    broker.await_output(told)
    assert is_well(broker)


@pytest.mark.spec("book1:B-27", "admin:RQ-18")
def test_a_newer_api_versions_keeps_the_connection() -> None:
    """KIP-511: a version that we do not know is answered in the oldest layout, on any header."""
    with Broker() as broker, Connection(broker.bootstrap_servers) as connection:
        body = struct.pack(">hhi", 18, 77, 5) + b"\xff\x00\x01 a header of the future"
        connection.send_bytes(struct.pack(">i", len(body)) + body)
        frame = connection.receive_frame()
        correlation_id, error, count, key, lowest, highest = struct.unpack(">ihihhh", frame)
        assert (correlation_id, error, count, key, lowest, highest) == (5, 35, 1, 18, 0, 4)
        assert connection.ask(ApiVersionsRequest(), 0).error_code == 0


def test_a_half_sent_frame_keeps_nobody_waiting(broker: Broker) -> None:
    """A client that stops in the middle of a frame costs a connection, nothing else."""
    with socket.create_connection(("127.0.0.1", broker.port), PATIENCE_S) as sock:
        sock.sendall(struct.pack(">ihh", 1000, 3, 1))
        assert is_well(broker)


def test_a_request_that_ends_too_early_closes_the_connection(broker: Broker) -> None:
    """A frame whose content is shorter than its own counts is malformed."""
    body = struct.pack(">hhih", 3, 1, 1, -1) + struct.pack(">i", 1000)
    assert is_closed_after(broker, struct.pack(">i", len(body)) + body)
