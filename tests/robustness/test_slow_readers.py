"""A reader inside of a fetch while its topic goes: it gets the bytes that it asked for, or none."""

from __future__ import annotations

import socket
import struct

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.header import encode_request
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.clients.raw import Connection
from tests.clients.records import Record
from tests.clients.requests import (
    METADATA_VERSION,
    create_topic,
    fetch_request,
    metadata_request,
    produced,
)

PATIENCE_S = 30
VALUE_BYTES = 900_000
BATCHES = 24  # more than both ends of a connection buffer
RECEIVE_BUFFER = 16 * 1024


def fill(connection: Connection, topic: str, byte: bytes) -> None:
    for _ in range(BATCHES):
        produced(connection, topic, [Record(b"key", byte * VALUE_BYTES, 1_700_000_000_000)])


def begin_fetch(broker: Broker, topic: str) -> tuple[socket.socket, int]:
    """Ask for the whole topic and read only how large the answer is."""
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    reader.settimeout(PATIENCE_S)
    reader.connect(("127.0.0.1", broker.port))
    request = fetch_request(topic, 0, partition_max_bytes=1 << 30)
    reader.sendall(b"".join(encode_request(1, "slow", 12, request)))
    size = b""
    while len(size) < 4:
        size += reader.recv(4 - len(size))
    return reader, int(struct.unpack(">i", size)[0])


def rest_of(reader: socket.socket, size: int) -> bytes:
    """What is left of the answer, up to its end or to the end of the connection."""
    received = bytearray()
    try:
        while len(received) < size and (chunk := reader.recv(1 << 20)):
            received += chunk
    except ConnectionResetError:
        pass
    return bytes(received)


def test_a_topic_that_is_created_again_does_not_finish_the_old_ones_fetch() -> None:
    """The folder of the deleted topic has the new one's files: its reader must never see them."""
    with Broker({"fetch.max.bytes": 1 << 30}) as broker:
        with Connection(broker.bootstrap_servers) as connection:
            create_topic(connection, "orders")
            fill(connection, "orders", b"a")
            reader, size = begin_fetch(broker, "orders")
            with reader:
                assert size > BATCHES * VALUE_BYTES
                deletion = DeleteTopicsRequest(
                    topics=[DeleteTopicState(name="orders")], timeout_ms=PATIENCE_S * 1000
                )
                (deleted,) = connection.ask(deletion, 6).responses
                assert deleted.error_code == Error.NONE
                create_topic(connection, "orders")
                fill(connection, "orders", b"b")
                received = rest_of(reader, size)
        assert b"b" * 100 not in received
        assert len(received) < size, "more was buffered than the test is made for"
        with Connection(broker.bootstrap_servers) as other:
            (topic,) = other.ask(metadata_request("orders"), METADATA_VERSION).topics
            assert topic.error_code == Error.NONE
