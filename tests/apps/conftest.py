"""A broker of its own for each test of an application: their topics have fixed names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.topics import using
from headrace.testing import Broker


@pytest.fixture
def broker() -> Iterator[Broker]:
    """Running, empty, and the one that the examples use."""
    settings = {
        "group.initial.rebalance.delay.ms": 0,
        "offsets.topic.num.partitions": 1,
        "transaction.state.log.num.partitions": 1,
    }
    with Broker(settings) as running, using(running.bootstrap_servers):
        yield running


@pytest.fixture
def servers(broker: Broker) -> str:
    return broker.bootstrap_servers
