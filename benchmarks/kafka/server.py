"""Combined KRaft brokers and controllers, one or several, set up as Kafka's own quick start does.

Heap, collector and thread counts are those of Kafka's start script and example properties: the
comparison is with Kafka as it comes, tuned neither up nor down.
"""

from __future__ import annotations

import base64
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import BenchmarkError

_HERE = Path(__file__).resolve().parent
_HEAP = ("-Xmx1g", "-Xms1g")
_COLLECTOR = (
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)


@dataclass(frozen=True, slots=True)
class KafkaLauncher:
    """Knows how to start Apache Kafka; formatting the storage is preparation and is not timed."""

    class_path: str
    name: str

    def prepare(
        self, data: Path, port: int, spare_port: int, settings: Mapping[str, str]
    ) -> list[str]:
        lines = {**_properties(data, port, spare_port), **settings}
        return prepare_server(self.class_path, data, lines, new_cluster_id(), "--standalone")


@dataclass(frozen=True, slots=True)
class KafkaMember:
    """One of several brokers that are all controllers too: a quorum as in production."""

    class_path: str
    name: str
    node_id: int
    cluster_id: str
    controller_ports: tuple[int, ...]  # by node id

    def prepare(
        self, data: Path, port: int, spare_port: int, settings: Mapping[str, str]
    ) -> list[str]:
        quorum = (f"{node}@127.0.0.1:{at}" for node, at in enumerate(self.controller_ports))
        lines = {
            **_properties(data, port, self.controller_ports[self.node_id]),
            "node.id": str(self.node_id),
            "controller.quorum.voters": ",".join(quorum),
            **settings,
        }
        del lines["controller.quorum.bootstrap.servers"]
        return prepare_server(self.class_path, data, lines, self.cluster_id)


def new_cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def prepare_server(
    class_path: str, data: Path, lines: Mapping[str, str], cluster_id: str, *options: str
) -> list[str]:
    """Write the properties, format the storage; the command that starts the server."""
    properties = data / "server.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    command = [*tool_command(class_path), "kafka.tools.StorageTool", "format", *options]
    # "=" keeps an id that begins with a hyphen from being read as an option.
    command += [f"--cluster-id={cluster_id}", "--config", str(properties)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        told = (done.stdout + done.stderr)[-2000:]
        raise BenchmarkError(f"Kafka's StorageTool could not format its storage:\n{told}")
    java = ["java", *_HEAP, "-server", *_COLLECTOR, "-Djava.awt.headless=true"]
    logging = f"-Dlog4j2.configurationFile={_HERE / 'log4j2-server.xml'}"
    return [*java, logging, "-cp", class_path, "kafka.Kafka", str(properties)]


def tool_command(class_path: str) -> list[str]:
    """How Kafka's command-line programs are started: modest heap, warnings only."""
    logging = f"-Dlog4j2.configurationFile={_HERE / 'log4j2-tools.xml'}"
    return ["java", "-Xmx512m", logging, "-cp", class_path]


def _properties(data: Path, port: int, controller_port: int) -> dict[str, str]:
    listeners = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}"
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "listeners": listeners,
        "advertised.listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(data / "log"),
        "num.network.threads": "3",
        "num.io.threads": "8",
        "socket.send.buffer.bytes": "102400",
        "socket.receive.buffer.bytes": "102400",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }
