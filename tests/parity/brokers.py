"""The brokers that cases run on, as the stages of a run: one of one broker, one of three."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from headrace.testing import Broker, Cluster
from tests.kafka.apache_kafka import ApacheKafka
from tests.parity.admin_steps import queue
from tests.parity.stage import Stage, committed, topic, transactional_id

PROPERTIES = {
    "broker.id": "1",
    "num.partitions": "1",
    "auto.create.topics.enable": "true",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}
TRIO = {**PROPERTIES, "auto.leader.rebalance.enable": "false"}
RACKS = ["east", "west", "south"]


@contextlib.contextmanager
def one_broker() -> Iterator[Stage]:
    with Broker(PROPERTIES) as broker:
        yield _warm(Stage(broker.bootstrap_servers, broker.data_dir))


@contextlib.contextmanager
def three_brokers(zookeeper: str | None = None) -> Iterator[Stage]:
    """Brokers 0, 1 and 2, on a ZooKeeper of their own unless one is given."""
    properties = {key: value for key, value in TRIO.items() if key != "broker.id"}
    with Cluster(3, properties, racks=RACKS, zookeeper=zookeeper) as cluster:
        yield _warm(Stage(cluster.bootstrap_servers, cluster.data_dir))


@contextlib.contextmanager
def apache_kafka(classpath: str, folder: Path) -> Iterator[Stage]:
    """Apache Kafka itself: both tools against it show what is the tool's and what the broker's."""
    properties = {key: value for key, value in PROPERTIES.items() if key != "broker.id"}
    properties["share.coordinator.state.topic.replication.factor"] = "1"
    properties["share.coordinator.state.topic.min.isr"] = "1"
    with ApacheKafka(classpath, folder, properties) as broker:
        yield _warm(Stage(broker.bootstrap_servers, broker.log_dir))


def _warm(stage: Stage) -> Stage:
    """Let the cluster make the topics that it keeps for itself: each case finds the same then."""
    groups = (committed("first", {("first", 0): 0}), queue("queue", topic="first"))
    with stage.prepared((topic("first"), transactional_id("first"), *groups)):
        return stage
