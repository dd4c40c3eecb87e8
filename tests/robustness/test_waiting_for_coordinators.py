"""Transactional produces that wait for their coordinator hold up nobody else, and not for ever."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import Error
from headrace.wire.header import encode_request
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.produce import ProduceRequest
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.clients.raw import Connection, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import TIMEOUT_MS, produce_request
from tests.clients.transactions.raw_producer import OF_TRANSACTIONS_V2, RawProducer
from tests.robustness.memory import rss_mb

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.server import ZooKeeperServer
    from headrace.testing import Cluster
    from tests.clients.cluster.observing import Observer

LEADER = 1
TOPIC = "written"
PRODUCERS = 900
# What a busy machine with two cores may need for one answer. Followers that are not served are
# given up after thirty seconds.
STALL_S = 10
MEMORY_MB = 64
OFFSETS = TxnOffsetCommitRequestTopic(
    name=TOPIC,
    partitions=[
        TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=1, committed_metadata=""
        )
    ],
)


@pytest.fixture(scope="module")
def cluster(zookeeper: ZooKeeperServer) -> Iterator[Cluster]:
    from headrace.testing import Cluster

    connect = f"{zookeeper.connect_string}/waits-{uuid.uuid4().hex[:8]}"
    # A paused broker is believed alive: its coordinator is not moved.
    properties = {"offsets.commit.timeout.ms": 1000}
    with Cluster([1, 2, 3], properties, zookeeper=connect, session_timeout_ms=60_000) as running:
        yield running


@pytest.fixture(scope="module")
def observer(cluster: Cluster) -> Observer:
    from tests.clients.cluster.observing import TRANSACTION, Observer

    found = Observer(cluster)
    found.coordinator("first", TRANSACTION)  # makes the internal topic
    found.create_topic(TOPIC, {0: [LEADER, 2, 3]})
    return found


def produce_frame(
    producer: RawProducer, number: int, *, value_bytes: int = 100, timeout_ms: int = TIMEOUT_MS
) -> bytes:
    """The first write of a transaction, or one of those behind it."""
    batch = batch_of(
        numbered_records(1, value_bytes=value_bytes),
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=number,
        transactional=True,
    )
    request = produce_request(TOPIC, batch, transactional_id=producer.transactional_id)
    request.timeout_ms = timeout_ms
    return b"".join(encode_request(number, None, OF_TRANSACTIONS_V2, request))


class Neighbour:
    """A client of the leader that asks one small question after the other."""

    def __init__(self, cluster: Cluster) -> None:
        self._connection = Connection(cluster.broker(LEADER).bootstrap_servers)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.slowest_s = 0.0
        self.answers = 0

    def _run(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self._connection.ask(ApiVersionsRequest(), 0)
            finally:
                self.slowest_s = max(self.slowest_s, time.monotonic() - began)
            self.answers += 1
            self._stop.wait(0.005)

    def await_answers(self, count: int) -> None:
        """Return when it was answered so many times more, or has been waiting for too long."""
        wanted = self.answers + count
        while self.answers < wanted and self._thread.is_alive():
            self._stop.wait(0.005)

    def __enter__(self) -> Neighbour:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        self._thread.join()
        self._connection.__exit__(None, None, None)


def test_many_producers_that_begin_at_once_are_served(cluster: Cluster, observer: Observer) -> None:
    """More first writes wait for their coordinators than `queued.max.requests`, because followers
    and other coordinators do not answer for a while. When they do, their fetches are served.
    """
    producers = initialised(cluster, observer, PRODUCERS)
    frames = [produce_frame(producer, 0) for producer in producers]
    address = ("127.0.0.1", cluster.broker(LEADER).port)
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        sockets = []
        for _ in producers:
            sock = stack.enter_context(socket.create_connection(address))
            selector.register(sock, selectors.EVENT_READ)
            sockets.append(sock)
        neighbour = stack.enter_context(Neighbour(cluster))
        others = [broker for broker in cluster.brokers if broker.id != LEADER]
        try:
            for broker in others:
                broker.pause()
            for sock, frame in zip(sockets, frames, strict=True):
                sock.sendall(frame)
            neighbour.await_answers(20)
        finally:
            for broker in others:
                broker.resume()
        began = time.monotonic()
        slowest_s = 0.0
        waiting = len(sockets)
        while waiting:
            ready = selector.select(STALL_S)
            slowest_s = time.monotonic() - began
            assert ready, f"{waiting} producers have no answer after {slowest_s:.1f} s"
            for key, _ in ready:
                assert isinstance(key.fileobj, socket.socket)
                answer = key.fileobj.recv(1 << 16)
                # correlation id, tags, topics, name, partitions, index, then the error code
                at = 4 + 4 + 1 + 1 + 1 + len(TOPIC) + 1 + 4
                assert int.from_bytes(answer[at : at + 2], "big") == Error.NONE
                selector.unregister(key.fileobj)
                waiting -= 1
    assert slowest_s < STALL_S
    assert neighbour.slowest_s < STALL_S


def initialised(cluster: Cluster, observer: Observer, count: int) -> list[RawProducer]:
    """Producers with identities, of which each coordinator has given some."""
    from tests.clients.cluster.observing import TRANSACTION

    with contextlib.ExitStack() as stack:
        connections = {
            broker.id: stack.enter_context(Connection(broker.bootstrap_servers))
            for broker in cluster.brokers
        }
        first = RawProducer.start(connections[observer.coordinator("x-0", TRANSACTION)], "x-0")
        made = [first]
        # All ids of one broker's connection are asked at once; an id is answered by its own only.
        for number in range(1, count):
            name = f"x-{number}"
            request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
            for connection in connections.values():
                answer = connection.ask(request, 4)
                if answer.error_code == Error.NONE:
                    made.append(
                        RawProducer(connection, name, answer.producer_id, answer.producer_epoch)
                    )
                    break
                assert answer.error_code == Error.NOT_COORDINATOR
    return made


def test_a_paused_coordinator_delays_its_own_producers_only(
    cluster: Cluster, observer: Observer
) -> None:
    """One client's pipelined produces wait for a coordinator that does not answer. They are held in
    bounded memory and end with a retriable error; another client does not notice them.
    """
    from tests.clients.cluster.observing import TRANSACTION

    name = coordinated(observer, TRANSACTION, lambda coordinator: coordinator != LEADER)
    coordinator = observer.coordinator(name, TRANSACTION)
    with observer.connected(coordinator) as connection:
        producer = RawProducer.start(connection, name)
    leader = cluster.broker(LEADER)
    idle_mb = rss_mb(leader.pid)
    with (
        Connection(leader.bootstrap_servers) as writer,
        socket.create_connection(("127.0.0.1", leader.port)) as greedy,
    ):
        cluster.broker(coordinator).pause()
        try:
            with Neighbour(cluster) as neighbour:
                for number in range(600):
                    writer.send_bytes(produce_frame(producer, number, timeout_ms=2_000))
                send_until_full(greedy, produce_frame(producer, 0, value_bytes=1 << 20))
                answer = writer.answer(0, ProduceRequest, OF_TRANSACTIONS_V2)
                (partition,) = answer.responses[0].partition_responses
                assert partition.error_code == Error.NOT_ENOUGH_REPLICAS
                assert rss_mb(leader.pid) < 2 * idle_mb + MEMORY_MB
            assert neighbour.slowest_s < STALL_S / 2
        finally:
            cluster.broker(coordinator).resume()


def test_followers_of_a_coordinator_that_do_not_answer_end_the_wait(
    cluster: Cluster, observer: Observer
) -> None:
    """What the coordinator writes is not committed: a produce is told so within its own timeout,
    a commit of offsets within offsets.commit.timeout.ms, and both can be tried again.
    """
    from tests.clients.cluster.observing import GROUP, TRANSACTION

    name = coordinated(observer, TRANSACTION, lambda coordinator: coordinator == LEADER)
    group = coordinated(observer, GROUP, lambda coordinator: coordinator == LEADER)
    others = [broker for broker in cluster.brokers if broker.id != LEADER]
    with observer.connected(LEADER) as connection:
        producer = RawProducer.start(connection, name)
        commit = TxnOffsetCommitRequest(**producer.identity, group_id=group, topics=[OFFSETS])
        try:
            for broker in others:
                broker.pause()
            connection.send_bytes(produce_frame(producer, 1, timeout_ms=1_000))
            began = time.monotonic()
            answer = connection.answer(1, ProduceRequest, OF_TRANSACTIONS_V2)
            (partition,) = answer.responses[0].partition_responses
            assert partition.error_code == Error.NOT_ENOUGH_REPLICAS
            (topic,) = connection.ask(commit, 5).topics
            assert topic.partitions[0].error_code == Error.COORDINATOR_NOT_AVAILABLE
            assert time.monotonic() - began < STALL_S
        finally:
            for broker in others:
                broker.resume()


def coordinated(observer: Observer, kind: int, where: Callable[[int], bool]) -> str:
    """A name whose coordinator is where it is wanted."""
    names = (f"{uuid.uuid4().hex[:8]}-{number}" for number in range(1000))
    return next(name for name in names if where(observer.coordinator(name, kind)))


def send_until_full(sock: socket.socket, frame: bytes) -> None:
    """Send a request again and again until the broker takes no more, but for 300 times at most."""
    sock.settimeout(1)
    with contextlib.suppress(TimeoutError):
        for _ in range(300):
            sock.sendall(frame)
