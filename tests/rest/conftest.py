"""One broker, one registry and one proxy for the tests of this folder; names that nobody has."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.client.cluster import Cluster
    from headrace.testing import Broker
    from tests.rest.service import Service


@pytest.fixture(scope="session")
def rest_broker() -> Iterator[Broker]:
    """A broker that creates no topic by itself and begins groups without a delay."""
    from headrace.testing import Broker

    properties = {"auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": "0"}
    with Broker(properties) as broker:
        yield broker


@pytest.fixture(scope="session")
def registry(rest_broker: Broker) -> Iterator[Service]:
    from tests.rest.service import Service

    properties = {
        "kafkastore.bootstrap.servers": rest_broker.bootstrap_servers,
        "kafkastore.topic.replication.factor": 1,
        "host.name": "127.0.0.1",
    }
    with Service("headrace.registry", properties) as service:
        yield service


@pytest.fixture(scope="session")
def start_proxy(rest_broker: Broker) -> Callable[..., Service]:
    """Makes proxies: `with start_proxy({"rate.limit.enable": "true"}) as proxy`."""
    from tests.rest.service import Service

    def make(properties: dict[str, object] | None = None) -> Service:
        return Service(
            "headrace.rest",
            {
                "bootstrap.servers": rest_broker.bootstrap_servers,
                "peer.discovery": "none",
                **(properties or {}),
            },
        )

    return make


@pytest.fixture(scope="session")
def proxy(start_proxy: Callable[..., Service], registry: Service) -> Iterator[Service]:
    """The proxy of most tests."""
    with start_proxy({"schema.registry.url": registry.url}) as service:
        yield service


@pytest.fixture(scope="session")
def rest_cluster(rest_broker: Broker) -> Iterator[Cluster]:
    from tests.client.batches import cluster_of

    cluster = cluster_of(rest_broker.bootstrap_servers)
    yield cluster
    cluster.close()


@pytest.fixture
def new_topic(rest_cluster: Cluster) -> Callable[..., str]:
    """Creates topics: `new_topic(partitions=3)`."""
    from tests.client.batches import create_topic

    def create(*, partitions: int = 1, config: dict[str, str] | None = None) -> str:
        return create_topic(rest_cluster, f"t-{uuid.uuid4().hex[:12]}", partitions, config or {})

    return create


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    """A topic with one partition."""
    return new_topic()


@pytest.fixture
def fresh_name() -> str:
    """A name that no group has."""
    return f"g-{uuid.uuid4().hex[:12]}"
