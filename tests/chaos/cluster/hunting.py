"""Who is who in a running cluster, asked of whichever broker answers: the nemesis' targets."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.chaos.cluster.systems import Cluster
from tests.chaos.cluster.topics import PARTITIONS
from tests.clients.raw import Connection, ConnectionClosed
from tests.kafka.apache_kafka import classpath, java_command
from tests.kafka.toolchain import run

GROUP, TRANSACTION = 0, 1  # what a coordinator coordinates
ASK_SECONDS = 5
GIVE_UP_SECONDS = 40

T = TypeVar("T")


class Nobody(Exception):
    """No broker could say who it is, within the time."""


class Hunter:
    """Finds brokers by their role."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})

    def leader(self, topic: str, partition: int) -> int:
        return self._ask(lambda: self.leaders(topic).get(partition))

    def leaders(self, topic: str) -> dict[int, int]:
        """The broker that leads each partition; those without a leader are left out."""
        try:
            told = self._admin.list_topics(topic, timeout=ASK_SECONDS).topics[topic]
        except KafkaException:
            return {}
        return {at: each.leader for at, each in told.partitions.items() if each.leader >= 0}

    def replicas(self, topic: str) -> dict[int, list[int]]:
        return self._ask(lambda: self._replicas(topic))

    def _replicas(self, topic: str) -> dict[int, list[int]] | None:
        try:
            told = self._admin.list_topics(topic, timeout=ASK_SECONDS).topics[topic]
        except KafkaException:
            return None
        return {at: list(each.replicas) for at, each in told.partitions.items()} or None

    def controller(self) -> int:
        if self._cluster.system == "kafka":
            return self._ask(self._quorum_leader)
        return self._ask(self._controller)

    def coordinator(self, kind: int, key: str) -> int:
        return self._ask(lambda: self._coordinator(kind, key))

    def await_leaders(self, topic: str, without: int, seconds: float) -> bool:
        """Until every partition is led by somebody other than this broker."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            leaders = self.leaders(topic)
            if len(leaders) == PARTITIONS and without not in leaders.values():
                return True
            time.sleep(0.1)
        return False

    def await_in_sync(self, topics: tuple[str, ...], seconds: float) -> bool:
        """Until every replica of these topics is in sync: a fault may follow the last one."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if all(self._is_whole(topic) for topic in topics):
                return True
            time.sleep(0.2)
        return False

    def _is_whole(self, topic: str) -> bool:
        try:
            told = self._admin.list_topics(topic, timeout=ASK_SECONDS).topics[topic]
        except KafkaException:
            return False
        partitions = told.partitions.values()
        return bool(partitions) and all(set(each.isrs) == set(each.replicas) for each in partitions)

    def _controller(self) -> int | None:
        try:
            controller = self._admin.list_topics(timeout=ASK_SECONDS).controller_id
        except KafkaException:
            return None
        return controller if controller >= 0 else None

    def _quorum_leader(self) -> int | None:
        """Clients of KRaft are told of any broker, so the quorum itself is asked."""
        words = ["org.apache.kafka.tools.MetadataQuorumCommand", "--bootstrap-server"]
        command = java_command(classpath(), *words, self._cluster.bootstrap, "describe", "--status")
        try:
            told = run(command, timeout_seconds=GIVE_UP_SECONDS).decode()
        except AssertionError:  # it timed out while an election is going on
            return None
        found = re.search(r"LeaderId:\s+(\d+)", told)
        return int(found[1]) if found else None

    def _coordinator(self, kind: int, key: str) -> int | None:
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        for broker, node in self._cluster.brokers.items():
            if not node.running or node.frozen:
                continue
            with contextlib.suppress(OSError, ConnectionClosed):
                with Connection(self._cluster.reach[broker]) as connection:
                    (found,) = connection.ask(request, 4).coordinators
                if found.error_code == 0:
                    return int(found.node_id)
        return None

    @staticmethod
    def _ask(question: Callable[[], T | None]) -> T:
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while time.monotonic() < deadline:
            if (answer := question()) is not None:
                return answer
            time.sleep(0.2)
        raise Nobody("no broker answered")
