"""A cluster of one broker for the tests of this folder.

HEADRACE_TEST_BOOTSTRAP=host:port runs them against any broker that is running, Apache Kafka above
all; tests that stop, start or impersonate a broker have one of their own.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.client.cluster import Cluster

pytest.register_assert_rewrite("tests.client.batches", "tests.client.scripted_broker")


@pytest.fixture(scope="session")
def bootstrap(request: pytest.FixtureRequest) -> str:
    """The address of the broker under test."""
    running = os.environ.get("HEADRACE_TEST_BOOTSTRAP")
    if running:
        return running
    servers: str = request.getfixturevalue("headrace_broker").bootstrap_servers
    return servers


@pytest.fixture
def open_cluster() -> Iterator[Callable[..., Cluster]]:
    """Makes clusters that are closed with the test: `open_cluster(bootstrap, **properties)`.

    Time-outs are short: a test that must wait for one has made its point.
    """
    from tests.client.batches import cluster_of

    opened: list[Cluster] = []

    def make(bootstrap: str, **properties: str) -> Cluster:
        cluster = cluster_of(bootstrap, **properties)
        opened.append(cluster)
        return cluster

    yield make
    for cluster in opened:
        cluster.close()


@pytest.fixture
def cluster(bootstrap: str, open_cluster: Callable[..., Cluster]) -> Cluster:
    return open_cluster(bootstrap)


@pytest.fixture
def new_topic(cluster: Cluster) -> Callable[..., str]:
    """Creates topics: `new_topic(partitions=3, config={"max.message.bytes": "1000"})`."""
    from tests.client.batches import create_topic

    def create(*, partitions: int = 1, config: dict[str, str] | None = None) -> str:
        return create_topic(cluster, f"c-{uuid.uuid4().hex[:12]}", partitions, config or {})

    return create


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    """A topic with one partition."""
    return new_topic()


@pytest.fixture
def fresh_name() -> str:
    """A name that no group and no transactional id has."""
    return f"n-{uuid.uuid4().hex[:12]}"
