"""A produce that a connection knows is written and answered without being decoded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from headrace.broker import app
from headrace.broker.net.call import LATER
from headrace.broker.net.connection import Connection
from headrace.broker.net.repeats import Repeats
from headrace.broker.os_machine import OsMachine
from headrace.cluster.broker_config import BrokerConfig
from headrace.records.builder import build_batch
from headrace.records.record import Record
from headrace.types import ZERO_UUID
from headrace.wire.header import encode_request, encode_response
from headrace.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
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


def frame_of(request: ProduceRequest, version: int) -> bytes:
    """The request as the broker sees it, without its size."""
    return b"".join(encode_request(7, "test", version, request))[4:]


def answered(version: int, correlation_id: int, *, base_offset: int) -> bytes:
    """The answer of the ordinary way, size included."""
    answer = PartitionProduceResponse(
        index=0, error_code=0, base_offset=base_offset, log_append_time_ms=-1, log_start_offset=0
    )
    topic = TopicProduceResponse(name=TOPIC, topic_id=ZERO_UUID, partition_responses=[answer])
    response = ProduceResponse(responses=[topic])
    return b"".join(encode_response(correlation_id, version, response))


def end_offset(running: app.RunningBroker) -> int:
    return running.broker.storage.find_leader(TOPIC, 0).log.log_end_offset


def produce(
    records: memoryview = BATCH, *, transactional_id: str | None = None, partitions: int = 1
) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=records) for index in range(partitions)]
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
        return await self.receive()

    async def receive(self) -> bytes:
        """The next answer."""
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
async def started(folder: Path, **settings: str) -> AsyncIterator[app.RunningBroker]:
    """A broker in this process with one topic."""
    settings |= {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(folder), "broker.id": "1"}
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

    frame = frame_of(produce(), version)

    async def run() -> None:
        async with started(tmp_path) as running, connected(running) as client:
            await client.send(produce(), version)
            (known,) = client.end.repeats.known.values()
            assert known.answer(frame, 7) == answered(version, 7, base_offset=1)
            assert end_offset(running) == 2

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


@pytest.mark.parametrize("version", [7, 9])
def test_what_differs_behind_the_known_bytes_is_decoded(tmp_path: Path, version: int) -> None:
    """A length that lies, a batch of a transaction, another version: nothing is appended."""
    plain = frame_of(produce(), version)
    length_at = plain.index(BATCH) - 1
    lying = bytearray(plain)
    lying[length_at] -= 1
    of_transaction = build_batch(
        [Record(0, -1, None, b"value", [])],
        producer_id=5,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    other_version = plain[:3] + bytes([version + 1]) + plain[4:]

    async def run() -> None:
        async with started(tmp_path) as running, connected(running) as client:
            await client.send(produce(), version)
            (known,) = client.end.repeats.known.values()
            for frame in (
                bytes(lying),
                frame_of(produce(memoryview(of_transaction)), version),
                other_version,
                plain[:length_at],
            ):
                assert known.answer(frame, 7) is None
            assert end_offset(running) == 1

    asyncio.run(run())


def test_a_write_that_waits_is_not_overtaken(tmp_path: Path) -> None:
    """As long as an earlier write of the connection has its turn, or a call is unanswered."""
    frame = frame_of(produce(), 9)

    async def run() -> None:
        async with started(tmp_path) as running, connected(running) as client:
            await client.send(produce(), 9)
            client.end.write_turn = asyncio.get_running_loop().create_future()
            assert not client.end.repeat(frame, 7)
            client.end.write_turn = None
            assert end_offset(running) == 1
            assert client.end.repeat(frame, 7)
            assert end_offset(running) == 2

    asyncio.run(run())


def test_a_write_that_is_not_durable_yet_is_answered_later(tmp_path: Path) -> None:
    async def run() -> None:
        settings = {"log.flush.interval.messages": "1"}
        async with started(tmp_path, **settings) as running, connected(running) as client:
            for _ in range(2):
                await client.send(produce(), 9)
            (known,) = client.end.repeats.known.values()
            assert known.answer(frame_of(produce(), 9), 1) is LATER
            assert await client.receive() == answered(9, 1, base_offset=2)
            assert end_offset(running) == 3

    asyncio.run(run())


def test_a_known_request_is_charged_to_its_quota(tmp_path: Path) -> None:
    """A quota that comes after a request was learned counts for the next one."""
    client_id = EntityData(entity_type="client-id", entity_name="test")
    rate = OpData(key="producer_byte_rate", value=1.0, remove=False)
    quota = AlterClientQuotasRequest(
        entries=[EntryData(entity=[client_id], ops=[rate])], validate_only=False
    )

    async def run() -> None:
        async with started(tmp_path) as running, connected(running) as client:
            for _ in range(2):
                await client.send(produce(), 9)
            assert client.end.repeats.known
            async with connected(running) as administrator:
                await administrator.send(quota, 1)
            answer = await client.send(produce(), 9)
            assert int.from_bytes(answer[-5:-1]) > 0, "the throttle time"

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
