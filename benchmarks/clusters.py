"""Three brokers as the benchmarks see them: ours with its ZooKeeper, or Apache Kafka's.

Each broker is the `Broker` of all other measurements, so none is started, stopped or counted
differently. Whatever a cluster needs beside its brokers counts as part of it, in CPU and memory.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import processes, wire
from benchmarks.brokers import Broker, HeadraceLauncher, Launcher, free_port
from benchmarks.errors import BenchmarkError
from benchmarks.kafka.server import KafkaLauncher, KafkaMember, new_cluster_id, tool_command

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.server import ZooKeeperServer

BROKERS = 3
REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
}
_QUORUM_TIMEOUT_S = 60


class Cluster:
    """Several brokers on folders of their own, empty at first."""

    def __init__(self, launcher: Launcher, folder: Path, settings: Mapping[str, str]) -> None:
        self.name = launcher.name
        self._folder = folder
        self._launcher = launcher
        self._zookeeper: ZooKeeperServer | None = None
        folder.mkdir(parents=True)
        wanted = {**REPLICATED, **settings}
        if isinstance(launcher, HeadraceLauncher):
            self.brokers = self._build_ours(launcher, wanted)
        elif isinstance(launcher, KafkaLauncher):
            self.brokers = self._build_kafka(launcher, wanted)
        else:
            raise BenchmarkError(f"{launcher.name} cannot be started as a cluster")

    def _build_ours(self, launcher: Launcher, settings: Mapping[str, str]) -> list[Broker]:
        from headrace.coordination.zookeeper.server import ZooKeeperServer

        self._zookeeper = ZooKeeperServer(self._folder / "zookeeper", client_port=free_port())
        connect = f"{self._zookeeper.connect_string}/benchmark"
        return [
            Broker(
                launcher,
                self._folder / f"broker-{node}",
                {"broker.id": str(node), "zookeeper.connect": connect, **settings},
            )
            for node in range(BROKERS)
        ]

    def _build_kafka(self, launcher: KafkaLauncher, settings: Mapping[str, str]) -> list[Broker]:
        cluster_id, ports = new_cluster_id(), tuple(free_port() for _ in range(BROKERS))
        # A session of ZooKeeper is a heartbeat here: the same setting by another name.
        wanted = {key: value for key, value in settings.items() if "zookeeper" not in key}
        if "zookeeper.session.timeout.ms" in settings:
            wanted["broker.session.timeout.ms"] = settings["zookeeper.session.timeout.ms"]
        return [
            Broker(
                KafkaMember(launcher.class_path, launcher.name, node, cluster_id, ports),
                self._folder / f"broker-{node}",
                wanted,
            )
            for node in range(BROKERS)
        ]

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers)

    @property
    def address(self) -> wire.Address:
        """Of the first broker that runs."""
        return self._any().address

    def start(self) -> None:
        """Start everything; returns when every broker knows all the others."""
        if self._zookeeper is not None:
            self._zookeeper.start()
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            self.wait_for(broker)

    def wait_for(self, broker: Broker) -> None:
        """Until this broker answers and knows as many brokers as run."""
        running = sum(each.is_running for each in self.brokers)

        def knows_all() -> bool:
            return wire.metadata(broker.address, all_topics=False).brokers >= running

        broker.wait_until(knows_all, what="Metadata with all brokers")

    def wait_until(self, question: wire.Question, *, what: str) -> None:
        self._any().wait_until(question, what=what)

    def controller(self) -> Broker:
        """The broker that decides at this moment."""
        if self._zookeeper is None:
            return self.brokers[self._quorum_leader()]
        return self.brokers[wire.metadata(self.address, all_topics=False).controller]

    def _quorum_leader(self) -> int:
        """Clients of KRaft are told of any broker, so the quorum itself is asked."""
        assert isinstance(self._launcher, KafkaLauncher)
        tool = [*tool_command(self._launcher.class_path)]
        tool += ["org.apache.kafka.tools.MetadataQuorumCommand"]
        tool += ["--bootstrap-server", self.bootstrap, "describe", "--status"]
        done = subprocess.run(tool, capture_output=True, text=True, timeout=_QUORUM_TIMEOUT_S)
        found = re.search(r"LeaderId:\s+(\d+)", done.stdout)
        if found is None:
            raise BenchmarkError(f"Kafka's quorum names no leader:\n{done.stderr[-2000:]}")
        return int(found[1])

    def cpu_seconds(self) -> float:
        """Of all processes that run."""
        return sum(processes.cpu_seconds(pid) for pid in self._pids())

    def pss_mib(self) -> float:
        return sum(processes.pss_mib(pid) for pid in self._pids())

    def close(self) -> None:
        """Remove every trace: processes and data."""
        for broker in self.brokers:
            broker.close()
        if self._zookeeper is not None:
            self._zookeeper.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _any(self) -> Broker:
        running = [broker for broker in self.brokers if broker.is_running]
        if not running:
            raise BenchmarkError(f"no broker of {self.name} runs any more")
        return running[0]

    def _pids(self) -> list[int]:
        pids = [broker.pid for broker in self.brokers if broker.is_running]
        return pids if self._zookeeper is None else [*pids, self._zookeeper.pid]
