"""A broker for commands about groups and transactions, and what they are about: members, producers.

`HEADRACE_TEST_BOOTSTRAP=host:port` runs the same tests against a broker that is already running,
Apache Kafka for one; it needs the settings below.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from headrace.testing import Broker
from tests.cli.conftest import Headrace
from tests.cli.coordinated.actors import joined, open_transaction

SETTINGS = {
    # A first member need not wait three seconds for others.
    "group.initial.rebalance.delay.ms": "0",
    # Lets a test write what no coordinator knows of: a hanging transaction.
    "transaction.partition.verification.enable": "false",
}


@pytest.fixture(scope="session")
def headrace_broker() -> Iterator[Any]:
    """The broker that `live` talks to."""
    running = os.environ.get("HEADRACE_TEST_BOOTSTRAP")
    if running:
        yield SimpleNamespace(bootstrap_servers=running)
        return
    with Broker(SETTINGS) as broker:
        yield broker


@pytest.fixture
def servers(headrace_broker: Broker) -> str:
    return headrace_broker.bootstrap_servers


@pytest.fixture
def group() -> str:
    """A name that no group has."""
    return f"group-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def transactional_id() -> str:
    """A name that no producer has."""
    return f"id-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def filled(live: Headrace, new_topic: Callable[[int], str]) -> str:
    """A topic of two partitions with ten records each."""
    name = new_topic(2)
    for partition in ("0", "1"):
        lines = b"".join(b"%s-%d\n" % (partition.encode(), number) for number in range(10))
        assert live("produce", "-t", name, "-p", partition, stdin=lines).code == 0
    return name


@pytest.fixture
def member(servers: str) -> Callable[..., AbstractContextManager[Consumer]]:
    """`with member(group, topic) as consumer:` once it owns partitions."""
    return lambda *words, **options: joined(servers, *words, **options)


@pytest.fixture
def open_transaction_of(servers: str) -> Callable[..., AbstractContextManager[Producer]]:
    """`with open_transaction_of(id, topic, [0, 1]) as producer:` with a record in each."""
    return lambda *words: open_transaction(servers, *words)
