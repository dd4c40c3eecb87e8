"""Pytest fixtures: `headrace_broker`, `headrace_cluster`; each is started when first used.

Installed with Headrace; nothing to configure. Import is cheap, because pytest loads it always.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.testing.broker import Broker
    from headrace.testing.cluster import Cluster


@pytest.fixture(scope="session")
def headrace_broker() -> Iterator[Broker]:
    """A running broker; `headrace_broker.bootstrap_servers` is its address."""
    from headrace.testing.broker import Broker

    with Broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def headrace_cluster() -> Iterator[Cluster]:
    """Three running brokers and their ZooKeeper; `headrace_cluster.bootstrap_servers`."""
    from headrace.testing.cluster import Cluster

    with Cluster(brokers=3) as cluster:
        yield cluster
