"""Listeners, limits and shutdown of a running broker."""

from __future__ import annotations

import signal
import socket
import struct
import threading
from pathlib import Path

import pytest

from headrace.testing import Broker
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.messages.describe_cluster import DescribeClusterRequest
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.metadata import MetadataRequest
from tests.clients.raw import Connection, ConnectionClosed


def is_refused(broker: Broker) -> bool:
    """Whether a new connection is closed before it can ask anything."""
    try:
        with Connection(broker.bootstrap_servers) as connection:
            connection.ask(ApiVersionsRequest(), 0)
            return False
    except (ConnectionClosed, OSError):
        return True


def free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as sock:
        return int(sock.getsockname()[1])


def new_topic(name: str) -> CreateTopicsRequest:
    topic = CreatableTopic(
        name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    return CreateTopicsRequest(topics=[topic], timeout_ms=10_000)


def create(connection: Connection, name: str) -> None:
    assert connection.ask(new_topic(name), 5).topics[0].error_code == 0


@pytest.mark.spec("admin:RQ-19")
@pytest.mark.parametrize("key", ["max.connections", "max.connections.per.ip"])
def test_connections_are_limited(key: str) -> None:
    """One connection too many is refused; when another one leaves there is room again."""
    with Broker({key: 2}) as broker, Connection(broker.bootstrap_servers) as first:
        first.ask(ApiVersionsRequest(), 0)
        with Connection(broker.bootstrap_servers) as second:
            second.ask(ApiVersionsRequest(), 0)
            assert is_refused(broker)
            broker.await_output(key)
        # The broker learns of a closed connection on its own time; a client tries again.
        while is_refused(broker):
            pass
        first.ask(ApiVersionsRequest(), 0)


@pytest.mark.spec("slides:A35")
def test_idle_connections_are_closed() -> None:
    """connections.max.idle.ms: a silent client is let go, an active one is kept."""
    with (
        Broker({"connections.max.idle.ms": 1000}) as broker,
        socket.create_connection(("127.0.0.1", broker.port), 30) as sock,
    ):
        assert sock.recv(1) == b""


@pytest.mark.spec("slides:A28", "admin:RQ-11", "admin:RQ-12", "admin:RQ-14")
def test_each_listener_advertises_its_own_address(tmp_path: Path) -> None:
    """Several named listeners; metadata tells the address of the listener that was asked."""
    inside, outside = free_port("127.0.0.1"), free_port("::1")
    listeners = f"INSIDE://127.0.0.1:{inside}, OUTSIDE://[::1]:{outside}"
    settings = {
        "listeners": listeners,
        "advertised.listeners": f"INSIDE://127.0.0.1:{inside},OUTSIDE://example.org:12345",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT, OUTSIDE:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
    }
    with Broker(settings, data=tmp_path) as broker:
        with Connection(f"127.0.0.1:{inside}") as connection:
            told = connection.ask(MetadataRequest(topics=[]), 1).brokers
            assert [(member.host, member.port) for member in told] == [("127.0.0.1", inside)]
        with Connection(f"::1:{outside}") as connection:
            told = connection.ask(MetadataRequest(topics=[]), 1).brokers
            assert [(member.host, member.port) for member in told] == [("example.org", 12345)]
            described = connection.ask(
                DescribeClusterRequest(include_cluster_authorized_operations=False), 0
            )
            assert described.brokers[0].host == "example.org"
        assert broker.running


def test_sigterm_answers_what_is_in_flight_and_marks_the_logs_clean(tmp_path: Path) -> None:
    """A parked fetch is answered at shutdown, the exit code is 0, the marker is written."""
    broker = Broker(data=tmp_path).start()
    with Connection(broker.bootstrap_servers) as connection:
        create(connection, "orders")
        fetch = FetchRequest(
            max_wait_ms=60_000,
            min_bytes=1,
            topics=[
                FetchTopic(
                    topic="orders",
                    partitions=[
                        FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
                    ],
                )
            ],
        )
        correlation_id = connection.send(fetch, 4)
        with Connection(broker.bootstrap_servers) as other:
            other.ask(ApiVersionsRequest(), 0)  # the fetch before it has been read by now
        stopping = threading.Thread(target=broker.stop)
        stopping.start()
        answer = connection.answer(correlation_id, FetchRequest, 4)
        assert answer.responses[0].partitions[0].error_code == 0
    stopping.join(30)
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_a_kill_leaves_no_clean_marker(tmp_path: Path) -> None:
    """The marker goes when the broker starts, so that a crash is found out."""
    broker = Broker(data=tmp_path)
    with broker:
        pass
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    broker.start()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    broker.kill()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_stop_the_broker_cleanly(number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM are the same orderly end."""
    broker = Broker().start()
    process = broker._process
    assert process is not None
    process.send_signal(number)
    assert process.wait(30) == 0
    broker.kill()


@pytest.mark.spec("admin:RQ-02", "slides:A57", "book1:F-04")
def test_a_client_that_does_not_read_holds_up_nobody_else() -> None:
    """Answers to a reader that sleeps wait for it; the broker stops reading its requests."""
    with Broker() as broker, Connection(broker.bootstrap_servers) as polite:
        for index in range(50):
            create(polite, f"topic-with-a-long-name-to-fill-answers-{index:03}")
        request = struct.pack(">ihhih", 14, 3, 1, 7, -1) + struct.pack(">i", -1)
        with socket.create_connection(("127.0.0.1", broker.port), 10) as sleeper:
            sleeper.setblocking(False)
            sent = 0
            try:
                while sent < 64 << 20:
                    sent += sleeper.send(request * 1000)
            except BlockingIOError:
                pass  # The broker has stopped reading: that is the back-pressure.
            assert sent < 64 << 20
            assert polite.ask(ApiVersionsRequest(), 0).error_code == 0


@pytest.mark.spec("admin:RQ-02", "admin:RQ-04")
def test_a_full_request_queue_holds_clients_back_and_lets_them_go_again() -> None:
    """queued.max.requests=1: twenty clients at once are all served, one after the other."""
    with Broker({"queued.max.requests": 1}) as broker:
        connections = [Connection(broker.bootstrap_servers) for _ in range(20)]
        try:
            sent = []
            for index, connection in enumerate(connections):
                for again in range(3):
                    request = new_topic(f"topic-{index}-{again}")
                    sent.append((connection, connection.send(request, 5)))
            for connection, correlation_id in sent:
                answer = connection.answer(correlation_id, CreateTopicsRequest, 5)
                assert answer.topics[0].error_code == 0
        finally:
            for connection in connections:
                connection.__exit__(None, None, None)
