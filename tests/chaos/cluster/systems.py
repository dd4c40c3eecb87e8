"""The clusters that the nemesis is let loose on: ours with its ZooKeeper, or Apache Kafka's.

Both are given the same settings and the same time to notice a dead broker: a ZooKeeper session
for ours, `broker.session.timeout.ms` for Apache Kafka, all of whose nodes are controllers too.
"""

from __future__ import annotations

import base64
import socket
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.chaos.cluster.disks import Disk
from tests.chaos.cluster.network import Door, Network
from tests.chaos.cluster.nodes import Node
from tests.chaos.exactly_once.brokers import PROPERTIES
from tests.kafka.apache_kafka import classpath, java_command
from tests.kafka.toolchain import run

ZOOKEEPER = "zookeeper"
START_TIMEOUT_SECONDS = 120
ASK_SECONDS = 2
REPLICATED = {
    **PROPERTIES,
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "unclean.leader.election.enable": "false",
    "replica.lag.time.max.ms": "5000",
    "auto.create.topics.enable": "false",
}
ZOOKEEPER_SETTINGS = {
    "tickTime": "500",
    "minSessionTimeout": "1000",
    "maxClientCnxns": "0",
    "admin.enableServer": "false",
    "4lw.commands.whitelist": "*",
}


class ClusterFailed(Exception):
    """A node did not come up; the text ends with its last words."""


@dataclass
class Cluster:
    """Brokers by id, what stands beside them, and how clients reach them."""

    system: str
    network: Network
    brokers: dict[int, Node]
    reach: dict[int, str]
    disks: dict[int, Disk]
    others: dict[str, Node] = field(default_factory=dict)  # ZooKeeper
    other_reach: dict[str, str] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        return ",".join(self.reach.values())

    def start(self) -> None:
        for name in self.others:
            self._start_other(name)
        for node in self.brokers.values():
            node.start()
        self.await_ready(self.brokers)

    def _start_other(self, name: str) -> None:
        """Start ZooKeeper and wait until it serves: a broker that comes too early gives up."""
        node = self.others[name]
        node.start()
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not _serves(self.other_reach[name]):
            if not node.running or time.monotonic() > deadline:
                raise ClusterFailed(f"{name} did not come up:\n{node.last_words()}")
            time.sleep(0.1)

    def await_ready(self, brokers: Mapping[int, Node]) -> None:
        """Until each of these brokers answers, and knows all of those that run."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        running = {broker for broker, node in self.brokers.items() if node.running}
        for broker, node in brokers.items():
            admin = AdminClient({"bootstrap.servers": self.reach[broker], "log_level": 0})
            while not self._knows(admin, running):
                if not node.running or time.monotonic() > deadline:
                    raise ClusterFailed(f"{node.name} did not come up:\n{node.last_words()}")

    @staticmethod
    def _knows(admin: AdminClient, wanted: set[int]) -> bool:
        began = time.monotonic()
        try:
            if wanted <= set(admin.list_topics(timeout=ASK_SECONDS).brokers):
                return True
        except KafkaException:
            pass  # it does not listen yet
        time.sleep(max(0.0, 0.1 - (time.monotonic() - began)))
        return False

    def mend(self) -> None:
        """Undo whatever was done: cables, disks, frozen and dead processes."""
        self.network.heal()
        for disk in self.disks.values():
            disk.empty()
        restarted: dict[int, Node] = {}
        for name, node in self.others.items():
            node.thaw()
            if not node.running:
                self._start_other(name)
        for broker, node in self.brokers.items():
            node.thaw()
            if not node.running:
                node.start()
                restarted[broker] = node
        self.await_ready(restarted)

    def close(self) -> None:
        for node in (*self.brokers.values(), *self.others.values()):
            node.kill()
        for disk in self.disks.values():
            disk.close()
        self.network.close()


def _serves(address: str) -> bool:
    """Whether a ZooKeeper answers here."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), ASK_SECONDS) as connection:
            connection.sendall(b"srvr")
            return b"Mode" in connection.recv(4096)
    except OSError:
        return False


def build_cluster(
    system: str, network: Network, folder: Path, *, brokers: int, session_timeout_ms: int
) -> Cluster:
    """A cluster that is not started yet; its data is below the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    disks = {broker: Disk(folder / f"disk-{broker}") for broker in range(brokers)}
    build = _build_kafka if system == "kafka" else _build_headrace
    try:
        return build(network, folder, disks, session_timeout_ms)
    except BaseException:
        for disk in disks.values():
            disk.close()
        network.close()
        raise


def _build_headrace(
    network: Network, folder: Path, disks: dict[int, Disk], session_timeout_ms: int
) -> Cluster:
    zookeeper, connect = _zookeeper(network, folder)
    nodes, reach = {}, {}
    for broker, disk in disks.items():
        name = f"broker-{broker}"
        (door,) = network.join(name, 1)
        settings = {
            **REPLICATED,
            "broker.id": str(broker),
            "broker.rack": f"RACK{broker % 3}",
            "listeners": f"PLAINTEXT://{door.listen}",
            "advertised.listeners": f"PLAINTEXT://{door.reach}",
            "log.dirs": str(disk.folder / "log"),
            "zookeeper.connect": f"{connect}/chaos",
            "zookeeper.session.timeout.ms": str(session_timeout_ms),
        }
        file = _write_properties(folder / f"{name}.properties", settings)
        command = [sys.executable, "-m", "headrace", "up", "--only", "broker"]
        command += ["--config", str(file), "--log-level", "info"]
        nodes[broker] = Node(name, network, command, folder / f"{name}.out")
        reach[broker] = door.reach
    others = {ZOOKEEPER: zookeeper}
    return Cluster("headrace", network, nodes, reach, disks, others, {ZOOKEEPER: connect})


def _zookeeper(network: Network, folder: Path) -> tuple[Node, str]:
    from headrace.coordination.zookeeper.server import class_path

    (door,) = network.join(ZOOKEEPER, 1)
    host, _, port = door.listen.rpartition(":")
    data = folder / "zookeeper-data"
    data.mkdir()
    settings = {**ZOOKEEPER_SETTINGS, "dataDir": str(data), "clientPort": port}
    file = _write_properties(
        folder / "zookeeper.properties", {**settings, "clientPortAddress": host}
    )
    command = java_command(
        class_path(), "org.apache.zookeeper.server.quorum.QuorumPeerMain", file, heap_mb=128
    )
    return Node(ZOOKEEPER, network, command, folder / "zookeeper.out"), door.reach


def _build_kafka(
    network: Network, folder: Path, disks: dict[int, Disk], session_timeout_ms: int
) -> Cluster:
    doors = {broker: network.join(f"broker-{broker}", 2) for broker in disks}
    voters = ",".join(f"{broker}@{pair[1].reach}" for broker, pair in doors.items())
    cluster_id = "k" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
    jars = classpath()
    nodes = {}
    for broker, disk in disks.items():
        name = f"broker-{broker}"
        settings = {
            **REPLICATED,
            **_kraft(broker, doors[broker], voters),
            "log.dirs": str(disk.folder / "log"),
            "broker.session.timeout.ms": str(session_timeout_ms),
            "broker.heartbeat.interval.ms": str(session_timeout_ms // 4),
            "share.coordinator.state.topic.num.partitions": "4",
        }
        file = _write_properties(folder / f"{name}.properties", settings)
        run(java_command(jars, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", file))
        command = java_command(jars, "kafka.Kafka", file, heap_mb=512)
        nodes[broker] = Node(name, network, command, folder / f"{name}.out")
    reach = {broker: pair[0].reach for broker, pair in doors.items()}
    return Cluster("kafka", network, nodes, reach, disks)


def _kraft(broker: int, doors: list[Door], voters: str) -> dict[str, str]:
    clients, controller = doors
    return {
        "process.roles": "broker,controller",
        "node.id": str(broker),
        "broker.rack": f"RACK{broker % 3}",
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{clients.listen},CONTROLLER://{controller.listen}",
        "advertised.listeners": f"PLAINTEXT://{clients.reach},CONTROLLER://{controller.reach}",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }


def _write_properties(path: Path, settings: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path
