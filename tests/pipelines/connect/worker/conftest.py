"""A worker in this process, on a broker of the session."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.testing import Broker
from tests.pipelines.connect.worker.clustering import Node, is_joined, until
from tests.pipelines.connect.worker.running import Worker


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """A broker whose groups do not wait for more members."""
    with Broker({"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def topic() -> str:
    """A name that no topic has yet."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def start(bootstrap: str, tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    """Starts workers, who end with the test: `start({"name": …}, **{"worker.key": …})`."""
    started: list[Worker] = []

    def make(*connectors: dict[str, str], **settings: str) -> Worker:
        made = Worker(bootstrap, tmp_path, settings)
        started.append(made)
        for config in connectors:
            made.create(config)
        return made

    yield make
    for made in started:
        made.stop()


@pytest.fixture
def group(topic: str) -> str:
    return f"g-{topic}"


@pytest.fixture
def node(bootstrap: str, group: str) -> Iterator[Callable[..., Node]]:
    """Starts workers of one group, which end with the test."""
    started: list[Node] = []

    def start(**settings: str) -> Node:
        named = {key.replace("_", "."): value for key, value in settings.items()}
        made = Node(bootstrap, group, named)
        started.append(made)
        until("the worker joins", lambda: is_joined(made.worker))
        return made

    yield start
    for made in started:
        made.stop()
