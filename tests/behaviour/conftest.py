"""One broker for the folder. A test that needs other settings starts a broker of its own."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.testing import Broker
    from tests.clients.raw import Connection

pytest.register_assert_rewrite(
    "tests.behaviour.application", "tests.clients.contract", "tests.clients.requests"
)

AUTOMATIC_PARTITIONS = 13
PROPERTIES = {
    "num.partitions": AUTOMATIC_PARTITIONS,
    "log.retention.check.interval.ms": 100,  # so that no test has to wait for retention
}


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A broker with Kafka's defaults, but for the settings above."""
    from headrace.testing import Broker

    with Broker(PROPERTIES) as running:
        yield running


@pytest.fixture
def connection(broker: Broker) -> Iterator[Connection]:
    """A bare connection of the test's own."""
    from tests.clients.raw import Connection

    with Connection(broker.bootstrap_servers) as opened:
        yield opened


@pytest.fixture
def topic_name() -> str:
    """A name that no topic of the broker has."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def new_topic(connection: Connection, topic_name: str) -> Callable[..., str]:
    """Creates topics: `new_topic(partitions=3, config={"flush.messages": "1"})`."""
    from tests.clients.requests import create_topic

    numbers = itertools.count()

    def create(*, partitions: int = 1, config: dict[str, str | None] | None = None) -> str:
        name = f"{topic_name}-{next(numbers)}"
        create_topic(connection, name, partitions=partitions, config=config)
        return name

    return create


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    """A topic with one partition."""
    return new_topic()
