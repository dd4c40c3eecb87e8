"""A broker for hosts, and hosts that end with their test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.testing import Broker
from tests.pipelines.connect.host.running import Tasks


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """A broker whose groups do not wait for members, and whose transactions expire soon."""
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    }
    with Broker(settings) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def topic() -> str:
    """A name that no topic has yet."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def hosts(bootstrap: str, tmp_path: Path) -> Iterator[Callable[..., Tasks]]:
    """Makes hosts: `hosts("process")`, with settings of their worker as keywords."""
    made: list[Tasks] = []

    def make(runtime: str = "thread", **settings: str) -> Tasks:
        made.append(Tasks(bootstrap, tmp_path, runtime, settings))
        return made[-1]

    yield make
    for each in made:
        each.close()
