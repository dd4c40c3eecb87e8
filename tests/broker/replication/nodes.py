"""Brokers without a tree, several on one loop: real logs, listeners, handlers, fetchers.

The tests change the shared image themselves and let the nodes take their roles, so they say exactly
who leads what, and when which node hears of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

from headrace.broker.handlers import api_versions, fetch
from headrace.broker.net.dialling import PeerSettings
from headrace.broker.net.dispatch import Dispatcher
from headrace.broker.net.inspections import Inspections
from headrace.broker.net.large_requests import LargeRequests
from headrace.broker.net.listener import ConnectionLimits, Listener
from headrace.broker.net.peers import Peers
from headrace.broker.net.quotas import Quotas
from headrace.broker.net.reporter import Reporter
from headrace.broker.os_machine import OsMachine
from headrace.broker.sessions import FetchSessions
from headrace.broker.storage.fetchers import ReplicaFetchers
from headrace.broker.storage.replication_throttle import ReplicationThrottle
from headrace.broker.storage.storage import Storage
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.image import (
    BrokerRegistration,
    ClusterImage,
    Endpoint,
    PartitionImage,
    TopicCreated,
    TopicImage,
)
from headrace.log import LogConfig
from headrace.log.directory import LogDirectory
from headrace.replica.partition import Partition
from headrace.runtime.clock import SystemClock
from headrace.runtime.os_disk import OsDisk
from tests.broker.replication.fake_broker import LISTENER
from tests.settings import log_config

TOPIC = "orders"
SETTINGS = {
    "replica.fetch.wait.max.ms": "100",
    "replica.fetch.backoff.ms": "50",
    "replica.socket.timeout.ms": "2000",
}


@dataclass
class Nudges:
    """Remembers whose in-sync replicas should be looked at."""

    partitions: list[Partition] = field(default_factory=list)

    def nudge(self, partition: Partition) -> None:
        self.partitions.append(partition)


@dataclass
class Node:
    """One broker, as far as replication needs it."""

    id: int
    image: ClusterImage
    storage: Storage
    peers: Peers
    fetchers: ReplicaFetchers
    listener: Listener
    serving: fetch.Parts
    nudges: Nudges

    def take_role(self, topic: str = TOPIC, config: LogConfig | None = None) -> Partition:
        """Let partition 0 here be what the image says."""
        known = self.image.topics[topic]
        self.storage.apply(known, 0, known.partitions[0], config or log_config())
        return self.partition(topic)

    def partition(self, topic: str = TOPIC) -> Partition:
        return self.storage.partitions[topic, 0]


class SettableClock(SystemClock):
    """The machine's own, of which somebody sets the time of day."""

    set_by_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.set_by_ms


class Nodes:
    """A cluster whose image the test writes."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self.image = ClusterImage("cluster")
        self.clock = SettableClock()
        self._folder = folder
        self._settings = SETTINGS | settings
        self._nodes: dict[int, Node] = {}
        self._executor = ThreadPoolExecutor(2)

    def __getitem__(self, broker_id: int) -> Node:
        return self._nodes[broker_id]

    async def start(self, broker_id: int, *, port: int = 0) -> Node:
        """A broker with its own directory, which it finds again when it comes back."""
        loop = asyncio.get_running_loop()
        clock = self.clock
        config = BrokerConfig(self._settings)
        directory = LogDirectory.open(
            OsDisk(),
            str(self._folder / str(broker_id)),
            cluster_id="c",
            node_id=broker_id,
            uuid_factory=uuid4,
        )
        directory.load(lambda _: log_config(), clock.now_ms())
        storage = Storage([directory], clock, loop, self._executor, broker_id=broker_id)
        storage.known = self.image.partition
        machine = OsMachine(clock)
        settings = PeerSettings(LISTENER)
        peers = Peers(broker_id, lambda: self.image, settings, machine.connect)
        known = self.image.brokers.get(broker_id)
        epoch = known.epoch + 1 if known else broker_id
        fetchers = ReplicaFetchers(broker_id, epoch, peers, storage, machine, lambda: config)
        storage.fetchers = fetchers
        nudges = Nudges()
        listener = await self._listen(broker_id, storage, clock, nudges, port)
        endpoint = Endpoint("127.0.0.1", listener.port)
        self.image.brokers[broker_id] = BrokerRegistration(
            broker_id, {LISTENER: endpoint}, None, epoch
        )
        node = Node(broker_id, self.image, storage, peers, fetchers, listener, self._parts, nudges)
        self._nodes[broker_id] = node
        return node

    async def _listen(
        self, broker_id: int, storage: Storage, clock: SystemClock, nudges: Nudges, port: int
    ) -> Listener:
        loop = asyncio.get_running_loop()
        reporter = Reporter()
        ids = iter(range(1, 1 << 30))
        quotas = Quotas(BrokerConfig({}), self.image, clock)
        metadata: Any = SimpleNamespace(
            image=self.image, config=BrokerConfig({}), broker_id=broker_id
        )
        self._parts = fetch.Parts(
            metadata,
            storage,
            quotas,
            FetchSessions(1000, 120_000, lambda: next(ids)),
            cast("Any", nudges),
            ReplicationThrottle("leader", broker_id, lambda: self.image),
            reporter,
            clock,
            loop,
            57671680,
        )
        handlers = [
            api_versions.HANDLER.bind(metadata, (api_versions.HANDLER, fetch.HANDLER)),
            fetch.HANDLER.bind(self._parts),
        ]
        limits = ConnectionLimits(1000, 1000, {})
        listener = Listener(
            LISTENER,
            loop,
            limits,
            reporter,
            max_request_bytes=1 << 20,
            max_idle_ms=600_000,
            max_pending=500,
        )
        listener.bind("127.0.0.1", port)
        large = LargeRequests(Inspections(), loop)
        await listener.start(Dispatcher(handlers, quotas, reporter, large))
        return listener

    def topic(
        self, leader: int, replicas: Sequence[int], name: str = TOPIC, isr: Sequence[int] = ()
    ) -> TopicImage:
        """Create a topic of one partition; nobody has heard of it yet."""
        image = PartitionImage(tuple(replicas), tuple(isr or replicas), leader, 0, 0)
        topic = TopicImage(name, uuid4(), [image])
        self.image.apply([TopicCreated(topic)])
        return topic

    def elect(self, leader: int, name: str = TOPIC, isr: Sequence[int] = ()) -> None:
        """Let another broker lead; nobody has heard of it yet."""
        known = self.image.topics[name].partitions[0]
        self.image.topics[name].partitions[0] = PartitionImage(
            known.replicas,
            tuple(isr) or known.isr,
            leader,
            known.leader_epoch + 1,
            known.partition_epoch + 1,
        )

    async def stop(self, broker_id: int) -> int:
        """Stop one broker and return the port that it had."""
        node = self._nodes.pop(broker_id)
        await node.fetchers.stop()
        node.listener.stop_accepting()
        for connection in tuple(node.listener.connections):
            connection.abort()
        await node.peers.close()
        await node.storage.drain()
        for directory in node.storage.directories:
            directory.close()
        return node.listener.port

    async def close(self) -> None:
        for broker_id in list(self._nodes):
            await self.stop(broker_id)
        self._executor.shutdown()


@asynccontextmanager
async def nodes(
    folder: Path, brokers: Sequence[int] = (1, 2), **settings: Any
) -> AsyncIterator[Nodes]:
    """These brokers, and room for more; settings are those of the broker, with `_` for `.`."""
    told = {key.replace("_", "."): str(value) for key, value in settings.items()}
    cluster = Nodes(folder, told)
    try:
        for broker_id in brokers:
            await cluster.start(broker_id)
        yield cluster
    finally:
        await cluster.close()


async def committed(partition: Partition, offset: int) -> None:
    """Wait until the high watermark is there."""
    if partition.high_watermark < offset:
        reached = asyncio.get_running_loop().create_future()
        partition.when_committed(offset, lambda: reached.set_result(None))
        await reached
    assert partition.high_watermark >= offset


async def until(condition: Callable[[], bool]) -> None:
    """Look again a little later, for what nobody announces."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.002)
