"""Clients that send without waiting for answers (acks=0) and leave: all that arrived is written."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from headrace.records.compression import Codec
from headrace.testing import Broker
from headrace.wire.header import encode_request
from headrace.wire.messages.metadata import MetadataRequest
from headrace.wire.messages.produce import PartitionProduceData
from tests.clients.contract import eventually
from tests.clients.raw import Connection, batch_headers, batch_of
from tests.clients.records import Record, incompressible, numbered_records
from tests.clients.requests import (
    LATEST,
    METADATA_VERSION,
    PRODUCE_VERSION,
    create_topic,
    fetched,
    offset_at,
    produce_request,
)

PARTITIONS = 500  # a client that asks for them all has something to leave unread
FRAMES = 300  # several turns, and no more than a socket holds
RESET = struct.pack("ii", 1, 0)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running, Connection(running.bootstrap_servers) as connection:
        create_topic(connection, "wide", partitions=PARTITIONS)
        yield running


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).translate(str.maketrans("[] ", "---"))
    with Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, name)
    return name


def end(sock: socket.socket) -> None:
    """The client has read everything: it says that it will send no more."""


def reset(sock: socket.socket) -> None:
    """The client's machine breaks the connection off."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def leave_unread(sock: socket.socket) -> None:
    """The client closes with an answer unread, which its machine tells by a reset as well."""
    frame = encode_request(1, None, METADATA_VERSION, MetadataRequest(topics=None))
    sock.sendall(b"".join(frame))


def frame_of(topic: str, batch: memoryview) -> bytes:
    request = produce_request(topic, batch, acks=0)
    return b"".join(encode_request(1, None, PRODUCE_VERSION, request))


def send(broker: Broker, data: bytes, leave: Callable[[socket.socket], None]) -> None:
    with closing(socket.create_connection(("127.0.0.1", broker.port))) as sock:
        sock.sendall(data)
        leave(sock)


def await_records(broker: Broker, topic: str, count: int, partition: int = 0) -> None:
    with Connection(broker.bootstrap_servers) as connection:
        eventually(
            lambda: offset_at(connection, topic, LATEST, partition=partition).offset == count,
            f"{count} records",
        )


@pytest.mark.parametrize("leave", [end, reset, leave_unread])
def test_more_requests_than_a_turn_has(
    broker: Broker, topic: str, leave: Callable[[socket.socket], None]
) -> None:
    """Requests that wait for their turn when the client leaves, whichever way it does."""
    frame = frame_of(topic, batch_of(numbered_records(1)))
    send(broker, frame * FRAMES, leave)
    await_records(broker, topic, FRAMES)


def test_records_that_must_be_inspected_first(broker: Broker, topic: str) -> None:
    """Megabytes of records, compressed; the small batch behind them does not overtake them."""
    heavy = batch_of([Record(None, bytes(1 << 22), 0)], compression=Codec.ZSTD)
    small = batch_of(numbered_records(1))
    send(broker, frame_of(topic, heavy) * 3 + frame_of(topic, small), end)
    await_records(broker, topic, 4)
    with Connection(broker.bootstrap_servers) as connection:
        last = fetched(connection, topic, 3).records
    assert batch_headers(last)[0].compression is Codec.NONE


def test_a_large_request(broker: Broker) -> None:
    """Above a megabyte a request is decoded on a thread, and nothing is read before its end."""
    with Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, "large", partitions=3)
    request = produce_request("large", None, acks=0)
    wide = batch_of([Record(None, incompressible(700_000), 0)])
    heavy = batch_of([Record(None, bytes(1 << 24), 0)], compression=Codec.ZSTD)
    request.topic_data[0].partition_data = [
        PartitionProduceData(index=index, records=batch)
        for index, batch in enumerate((wide, wide, heavy))
    ]
    send(broker, b"".join(encode_request(1, None, PRODUCE_VERSION, request)), end)
    for partition in range(3):
        await_records(broker, "large", 1, partition)
