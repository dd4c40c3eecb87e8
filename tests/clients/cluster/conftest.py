"""Three brokers for all tests of this folder; whoever breaks one finds them whole again."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.server import ZooKeeperServer
    from headrace.testing import Cluster
    from tests.clients.cluster.observing import Observer

PROPERTIES = {
    "replica.lag.time.max.ms": 2000,
    "replica.high.watermark.checkpoint.interval.ms": 500,
    "replica.fetch.wait.max.ms": 200,
    "replica.fetch.backoff.ms": 100,
    "controlled.shutdown.retry.backoff.ms": 200,
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "group.min.session.timeout.ms": 100,
    "log.segment.delete.delay.ms": 0,
}


@pytest.fixture(scope="session")
def three_brokers(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    from headrace.testing import Cluster
    from tests.clients.cluster.observing import GROUP, TRANSACTION, Observer

    cluster = Cluster(
        [1, 2, 3],
        PROPERTIES,
        racks=["east", "west", "south"],
        data=tmp_path_factory.mktemp("brokers"),
        zookeeper=f"{zookeeper.connect_string}/clients-{uuid.uuid4().hex[:8]}",
        session_timeout_ms=1500,
    )
    with cluster:
        # Internal topics are made when they are needed first, which takes all three brokers.
        for key_type in (GROUP, TRANSACTION):
            Observer(cluster).coordinator("first", key_type)
        yield cluster


@pytest.fixture
def observer(three_brokers: Cluster) -> Observer:
    from tests.clients.cluster.observing import Observer

    return Observer(three_brokers)


@pytest.fixture
def cluster(three_brokers: Cluster, observer: Observer) -> Cluster:
    """The brokers 1, 2 and 3, all of them alive: who was left behind dead is started."""
    for broker in three_brokers.brokers:
        if not broker.running:
            broker.start()
    observer.until_all_know_all()
    return three_brokers


@pytest.fixture
def new_topic(cluster: Cluster, observer: Observer) -> Callable[..., str]:
    """Creates topics and waits until every broker knows them and every replica is in sync."""
    numbers = itertools.count()
    prefix = f"t-{uuid.uuid4().hex[:10]}"

    def create(
        assignments: dict[int, list[int]] | None = None, config: dict[str, str | None] | None = None
    ) -> str:
        name = f"{prefix}-{next(numbers)}"
        observer.create_topic(name, assignments or {0: [1, 2, 3]}, config)
        return name

    return create
