"""Connections to other brokers: a real one, and servers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.broker.net.dialling import Dialler, PeerSettings
from headrace.broker.net.peers import Peers, PeerUnreachable
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.image import BrokerRegistration, ClusterImage, Endpoint
from headrace.testing import Broker
from headrace.wire.header import encode_response
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from headrace.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.broker.replication.fake_broker import LISTENER, api_versions, fake_broker, image_of, run

SETTINGS = PeerSettings(LISTENER)
METADATA = MetadataRequest(topics=None)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"node.id": 7}) as running:
        yield running


def peers_of(image: ClusterImage, settings: PeerSettings = SETTINGS) -> Peers:
    return Peers(1, lambda: image, settings, Dialler().connect)


async def metadata(_request: Any) -> MetadataResponse:
    return MetadataResponse(brokers=[], cluster_id="it", controller_id=4, topics=[])


async def never(_request: Any) -> None:
    await asyncio.Event().wait()


async def cause_of(peers: Peers, timeout_ms: int = 5000) -> str:
    with pytest.raises(PeerUnreachable) as caught:
        await peers.ask(2, METADATA, timeout_ms=timeout_ms)
    assert caught.value.broker_id == 2
    assert str(caught.value).startswith(f"broker 2 ({caught.value.address}) did not answer: ")
    return caught.value.cause


def test_a_real_broker_answers_in_the_newest_version(broker: Broker) -> None:
    """A peer is asked over the inter-broker listener and its answer is decoded."""

    async def main() -> None:
        peers = peers_of(image_of({7: broker.port}))
        answer = await peers.ask(7, METADATA, timeout_ms=5000)
        assert answer.controller_id == 7
        assert [each.node_id for each in answer.brokers] == [7]
        await peers.close()

    run(main())


def test_many_questions_share_one_connection(broker: Broker) -> None:
    """Requests of a channel are pipelined, and each gets its own answer."""

    async def main() -> None:
        peers = peers_of(image_of({7: broker.port}))
        questions = [
            FindCoordinatorRequest(key_type=9, coordinator_keys=[f"group-{number}"])
            for number in range(300)
        ]
        answers: list[FindCoordinatorResponse] = await asyncio.gather(
            *(peers.ask(7, question, timeout_ms=5000) for question in questions)
        )
        assert [answer.coordinators[0].key for answer in answers] == [
            question.coordinator_keys[0] for question in questions
        ]
        await peers.close()

    run(main())


def test_the_highest_common_version_and_the_client_id() -> None:
    """Both sides speak the newest version they share; the client id names broker and channel."""

    async def main() -> None:
        async with fake_broker({MetadataRequest: metadata}, versions={3: (0, 9)}) as fake:
            peers = peers_of(image_of({2: fake.port}))
            await peers.ask(2, METADATA, timeout_ms=5000, channel="fetcher-0")
            client_id, version, _ = fake.heard[-1]
            assert (client_id, version) == ("broker-1-fetcher-0", 9)
            await peers.close()

    run(main())


def test_no_common_version_names_both_ranges() -> None:
    """A broker of another age is unreachable, with the versions of both sides as the reason."""

    async def main() -> None:
        async with fake_broker(versions={3: (99, 100)}) as fake:
            peers = peers_of(image_of({2: fake.port}))
            cause = await cause_of(peers)
            assert "v99-v100 of Metadata" in cause
            assert "v0-v13" in cause
            await peers.close()

    run(main())


def test_channels_do_not_wait_for_each_other() -> None:
    """A long poll on one channel holds up nobody on another."""

    async def main() -> None:
        async def slow(_request: Any) -> MetadataResponse:
            await release.wait()
            return await metadata(_request)

        release = asyncio.Event()
        async with fake_broker({MetadataRequest: slow}) as fake:
            peers = peers_of(image_of({2: fake.port}))
            poll = asyncio.create_task(peers.ask(2, METADATA, timeout_ms=5000, channel="slow"))
            await fake.until(lambda: len(fake.heard) == 2)
            fake.answers[MetadataRequest] = metadata
            await peers.ask(2, METADATA, timeout_ms=5000)
            assert not poll.done()
            release.set()
            assert (await poll).controller_id == 4
            await peers.close()

    run(main())


def test_a_broker_that_does_not_answer_in_time_is_hung_up_on() -> None:
    """Whoever waits is told when the time is over, and the next question has a new connection."""

    async def main() -> None:
        async with fake_broker({MetadataRequest: never}) as fake:
            peers = peers_of(image_of({2: fake.port}))
            assert await cause_of(peers, timeout_ms=50) == "it did not answer in time"
            fake.answers[MetadataRequest] = metadata
            await peers.ask(2, METADATA, timeout_ms=5000)
            assert len(fake.connections) == 2
            await peers.close()

    run(main())


def test_a_question_that_was_given_up_is_never_delivered() -> None:
    """What lies in the kernel when its time is over is not sent once the other side reads again:
    the end of a transaction, asked for anew meanwhile, would meet the next one.
    """
    question = FindCoordinatorRequest(key_type=9, coordinator_keys=["group"] * 4000)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            server.bind(("127.0.0.1", 0))
            server.listen()
            server.setblocking(False)
            peers = peers_of(image_of({2: server.getsockname()[1]}))
            asking = loop.create_task(peers.ask(2, question, timeout_ms=200))
            client, _ = await loop.sock_accept(server)
            with client:
                await loop.sock_recv(client, 4096)
                for chunk in encode_response(1, 3, api_versions()):
                    await loop.sock_sendall(client, bytes(chunk))
                with pytest.raises(PeerUnreachable):
                    await asking
                heard = b""
                with contextlib.suppress(ConnectionResetError):
                    while data := await loop.sock_recv(client, 4096):
                        heard += data
            assert heard.count(b"group") < 4000
            await peers.close()

    run(main())


def test_every_waiting_question_hears_of_a_lost_connection() -> None:
    """A broker that dies takes all its pending questions with it, at once."""

    async def main() -> None:
        async with fake_broker({MetadataRequest: never}) as fake:
            peers = peers_of(image_of({2: fake.port}))
            asking = [asyncio.create_task(cause_of(peers)) for _ in range(5)]
            await fake.until(lambda: len(fake.heard) == 2)
            fake.hang_up()
            causes = await asyncio.gather(*asking)
            assert len(causes) == 5
            assert all("connection" in cause for cause in causes)
            await peers.close()

    run(main())


@pytest.mark.parametrize(
    ("garbage", "cause"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not a Kafka response"),
        (b"\x7f\xff\xff\xff", "exceeds"),
        (b"\x00\x00\x00\x08\x00\x00\x00\x63\x00\x00\x00\x00", "99 was answered"),
        (b"\x00\x00\x00\x09\x00\x00\x00\x02\x00\xff\xff\xff\xff", "cannot be read"),
    ],
    ids=["http", "absurd size", "foreign correlation id", "torn message"],
)
def test_garbage_ends_the_connection(garbage: bytes, cause: str) -> None:
    """What is no answer to the question closes the connection, and the reason is told."""

    async def main() -> None:
        async def babble(_request: Any) -> bytes:
            return garbage

        async with fake_broker({MetadataRequest: babble}) as fake:
            peers = peers_of(image_of({2: fake.port}))
            assert cause in await cause_of(peers)
            fake.answers[MetadataRequest] = metadata
            await peers.ask(2, METADATA, timeout_ms=5000)
            assert len(fake.connections) == 2
            await peers.close()

    run(main())


def test_a_refused_connection_is_not_tried_again_at_once() -> None:
    """A broker that refuses is left alone for a moment: the cause is told without a new attempt."""

    async def main() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        peers = peers_of(image_of({2: port}))
        assert await cause_of(peers) == "Connection refused"
        async with fake_broker({MetadataRequest: metadata}, port=port) as fake:
            assert await cause_of(peers) == "Connection refused"
            assert not fake.connections
            while True:
                try:
                    await peers.ask(2, METADATA, timeout_ms=5000)
                    break
                except PeerUnreachable:
                    await asyncio.sleep(0.01)
            await peers.close()

    run(main())


def test_a_broker_that_registers_anew_is_asked_at_its_new_address_at_once() -> None:
    """A new life of a broker ends the connection to the old one and waits for no pause."""

    async def main() -> None:
        image = ClusterImage("cluster")
        peers = peers_of(image)
        assert await cause_of(peers) == "it is not registered in the cluster"
        async with (
            fake_broker({MetadataRequest: metadata}) as before,
            fake_broker({MetadataRequest: metadata}) as after,
        ):
            for epoch, fake in ((1, before), (2, after)):
                endpoints = {LISTENER: Endpoint("127.0.0.1", fake.port)}
                image.brokers[2] = BrokerRegistration(2, endpoints, None, epoch)
                await peers.ask(2, METADATA, timeout_ms=5000)
            assert len(after.heard) == 2
            await before.until(lambda: not before.serving)
            # Same address, later life: the connection to the earlier one is not used again.
            image.brokers[2] = BrokerRegistration(2, endpoints, None, 3)
            await peers.ask(2, METADATA, timeout_ms=5000)
            assert len(after.connections) == 2
            await peers.close()

    run(main())


def test_a_broker_without_the_listener_is_unreachable() -> None:
    """The cause names the listener and the setting that all brokers must share."""

    async def main() -> None:
        image = ClusterImage("cluster")
        image.brokers[2] = BrokerRegistration(2, {"OTHER": Endpoint("127.0.0.1", 1)})
        cause = await cause_of(peers_of(image))
        assert "no listener PLAINTEXT" in cause
        assert "inter.broker.listener.name" in cause

    run(main())


@pytest.mark.spec("slides:B27")
def test_the_receive_buffer_is_as_large_as_the_settings_say() -> None:
    """replica.socket.receive.buffer.bytes is asked of the system; it doubles what it is asked."""

    async def main() -> None:
        settings = PeerSettings.of(
            BrokerConfig({"replica.socket.receive.buffer.bytes": "50000", "node.id": "1"})
        )
        async with fake_broker({MetadataRequest: metadata}) as fake:
            peers = peers_of(image_of({2: fake.port}), settings)
            await peers.ask(2, METADATA, timeout_ms=5000)
            connection = peers._channels[2, "main"]._connection
            assert connection is not None
            assert connection._transport is not None
            sock = connection._transport.get_extra_info("socket")
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 100_000
            await peers.close()

    run(main())


def test_closing_tells_everybody_who_waits() -> None:
    """At the end of this broker no question stays open."""

    async def main() -> None:
        async with fake_broker({MetadataRequest: never}) as fake:
            peers = peers_of(image_of({2: fake.port}))
            asking = asyncio.create_task(cause_of(peers))
            await fake.until(lambda: len(fake.heard) == 2)
            await peers.close()
            assert await asking == "this broker is shutting down"
            assert await cause_of(peers) == "this broker is shutting down"

    run(main())
