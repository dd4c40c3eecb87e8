"""A produce that a connection knows is written and answered without being decoded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from headrace.broker import app
from headrace.broker.net.connection import Connection
from headrace.broker.net.repeats import Repeats
from headrace.broker.os_machine import OsMachine
from headrace.cluster.broker_config import BrokerConfig
from headrace.records.builder import build_batch
from headrace.records.record import Record
from headrace.types import ZERO_UUID
from headrace.wire.header import encode_request, encode_response
from headrace.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

TOPIC = "repeated"
BATCH = memoryview(build_batch([Record(0, -1, None, b"value", [])]))


def produce(*, transactional_id: str | None = None, partitions: int = 1) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=BATCH) for index in range(partitions)]
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=1,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name=TOPIC, topic_id=ZERO_UUID, partition_data=data)],
    )


class Client:
    """A client of a broker in this process, and the broker's end of the connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, end: Connection
    ) -> None:
        self._reader = reader
        self._writer = writer
        self.end = end

    async def send(self, request: object, version: int) -> bytes:
        """The answer as it comes, size included."""
        self._writer.write(b"".join(encode_request(1, "test", version, request)))
        head = await self._reader.readexactly(4)
        return head + await self._reader.readexactly(int.from_bytes(head))


@asynccontextmanager
async def connected(running: app.RunningBroker) -> AsyncIterator[Client]:
    (listener,) = running.listeners
    before = set(listener.connections)
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    try:
        metadata = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
        writer.write(b"".join(encode_request(0, "test", 12, metadata)))
        await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
        (end,) = set(listener.connections) - before
        yield Client(reader, writer, end)
    finally:
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def started(folder: Path) -> AsyncIterator[app.RunningBroker]:
    """A broker in this process with one topic."""
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(folder), "broker.id": "1"}
    running = await app.start(BrokerConfig(settings), OsMachine())
    topic = CreatableTopic(
        name=TOPIC, num_partitions=2, replication_factor=1, assignments=[], configs=[]
    )
    try:
        async with connected(running) as client:
            await client.send(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
        yield running
    finally:
        await running.stop()


@pytest.mark.parametrize("version", range(7, 13))
def test_the_second_is_known(tmp_path: Path, version: int) -> None:
    """Its answer is that of the ordinary way, with the next offset."""

    frame = b"".join(encode_request(7, "test", version, produce()))[4:]
    answer = PartitionProduceResponse(
        index=0, error_code=0, base_offset=1, log_append_time_ms=-1, log_start_offset=0
    )
    topic = TopicProduceResponse(name=TOPIC, topic_id=ZERO_UUID, partition_responses=[answer])
    expected = encode_response(7, version, ProduceResponse(responses=[topic]))

    async def run() -> None:
        async with started(tmp_path) as running, connected(running) as client:
            await client.send(produce(), version)
            (known,) = client.end.repeats.known.values()
            assert known.answer(frame, 7) == b"".join(expected)
            assert running.broker.storage.find_leader(TOPIC, 0).log.log_end_offset == 2

    asyncio.run(run())


def test_what_is_not_plain_is_not_learned(tmp_path: Path) -> None:
    """An old version, several partitions, a transaction: these are decoded each time."""

    async def run() -> None:
        async with started(tmp_path) as running, connected(running) as client:
            for request, version in (
                (produce(), 6),
                (produce(partitions=2), 9),
                (produce(transactional_id="t"), 9),
            ):
                await client.send(request, version)
                assert not client.end.repeats.known

    asyncio.run(run())


def test_a_client_that_never_repeats_itself_is_given_up() -> None:
    """Learning costs time and memory: both have an end."""

    class Never:
        def answer(self, frame: bytes, correlation_id: int) -> None: ...

    repeats = Repeats()
    for number in range(100):
        if repeats.is_open:
            frame = bytes(8) + number.to_bytes(4)
            repeats.learn(frame, len(frame), Never())
        assert len(repeats.known) <= 16
    assert not repeats.is_open
