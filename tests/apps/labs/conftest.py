"""The stages of the labs, each set up once: their topics and groups have names of their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from examples.labs.staging import Platform, broker_stage, cluster_stage, platform_stage
from headrace.testing import Broker, Cluster

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.server import ZooKeeperServer


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with broker_stage() as running:
        yield running


@pytest.fixture(scope="session")
def platform(broker: Broker) -> Iterator[Platform]:
    with platform_stage(broker) as running:
        yield running


@pytest.fixture(scope="session")
def shared_cluster(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    with cluster_stage(
        data=tmp_path_factory.mktemp("brokers"),
        zookeeper=f"{zookeeper.connect_string}/labs-{uuid.uuid4().hex[:8]}",
    ) as running:
        yield running


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """Three brokers that live, whatever the story before has done."""
    yield shared_cluster
    for each in shared_cluster.brokers:
        if not each.running:
            each.start()
