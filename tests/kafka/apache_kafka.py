"""Apache Kafka 4.3.1 itself: its jars from Maven, its tools, and a broker to compare ours with.

Every test of ours should first be true of Apache Kafka; the format tests let its tools read
our files and our broker serve its files.
"""

from __future__ import annotations

import base64
import socket
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.kafka.toolchain import fetched, need, run, spawn, stop

VERSION = "4.3.1"
HERE = Path(__file__).resolve().parent
START_TIMEOUT_SECONDS = 90
LOGGING = f"-Dlog4j2.configurationFile={HERE / 'log4j2.xml'}"


def classpath() -> str:
    """The class path of a whole Apache Kafka, as `java -cp` takes it."""
    need("java")

    def fill(folder: Path) -> None:
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
        where = [f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
        run([need("mvn"), "-q", "-B", "-f", HERE / "pom.xml", copy, *where])

    return f"{fetched(f'kafka-{VERSION}', fill)}/*"


def java_command(classpath: str, *words: str | Path, heap_mb: int = 256) -> list[str]:
    """The command line of one of Kafka's programs: `java_command(cp, "kafka.Kafka", conf)`."""
    heap = f"-Xmx{heap_mb}m"
    # One quick compiler and one collector thread: these programs are short and share two cores.
    frugal = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", heap]
    return [need("java"), *frugal, LOGGING, "-cp", classpath, *(str(word) for word in words)]


class ApacheKafka:
    """A broker and controller in one process, on free loopback ports, with its own folder.

    The folder survives `stop`, so that our broker can be given what Kafka wrote.
    """

    def __init__(
        self, classpath: str, data_dir: Path, properties: Mapping[str, str] | None = None
    ) -> None:
        self._classpath = classpath
        self.data_dir = data_dir
        self.log_dir = data_dir / "log"
        self._settings = data_dir / "server.properties"
        data_dir.mkdir(parents=True, exist_ok=True)
        port, controller_port = _free_ports(2)
        self.bootstrap_servers = f"127.0.0.1:{port}"
        self._write_settings(port, controller_port, properties or {})
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ApacheKafka:
        if not (self.log_dir / "meta.properties").exists():
            cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            tool = ["kafka.tools.StorageTool", "format", "--standalone", "-t", f"k{cluster_id[1:]}"]
            run(java_command(self._classpath, *tool, "-c", self._settings))
        with (self.data_dir / "server.out").open("ab") as out:
            command = java_command(self._classpath, "kafka.Kafka", self._settings, heap_mb=512)
            self._process = spawn(command, stdout=out, stderr=subprocess.STDOUT)
        self._await_ready()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self, *, kill: bool = False) -> None:
        """End the broker: cleanly, or with `kill` as a power failure would."""
        if self._process is not None:
            stop(self._process, kill=kill)
            self._process = None

    def _await_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        while True:
            try:
                if admin.list_topics(timeout=1).brokers:
                    return
            except KafkaException:
                pass  # not listening yet
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop(kill=True)
                last_words = (self.data_dir / "server.out").read_text(errors="replace")[-2000:]
                raise AssertionError(f"Apache Kafka did not start:\n{last_words}")

    def _write_settings(
        self, port: int, controller_port: int, properties: Mapping[str, str]
    ) -> None:
        listeners = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}"
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
            "listeners": listeners,
            "advertised.listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.log_dir),
            "num.partitions": "4",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            **properties,
        }
        lines = (f"{key}={value}\n" for key, value in settings.items())
        self._settings.write_text("".join(lines))


def _free_ports(count: int) -> list[int]:
    """Ports that nothing listens on now; all are held until the last is known, so they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()
