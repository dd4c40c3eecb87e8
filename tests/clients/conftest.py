"""One broker and one of each client for all tests of this folder.

HEADRACE_TEST_BOOTSTRAP=host:port runs the same tests against any broker that is already running
(with BROKER_PROPERTIES), Apache Kafka above all: what is claimed here must be true of it first.
"""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.testing import Broker
    from tests.clients.consumer.application import Members
    from tests.clients.drivers.aiokafka import Aiokafka
    from tests.clients.drivers.java_consumer import JavaConsumers, OpenedConsumers
    from tests.clients.drivers.kafka_python import KafkaPython
    from tests.clients.drivers.kcat import Kcat
    from tests.clients.drivers.librdkafka import Librdkafka
    from tests.clients.drivers.program import ForeignClient
    from tests.clients.raw import Connection

pytest.register_assert_rewrite(
    "tests.clients.cluster.observing",
    "tests.clients.contract",
    "tests.clients.requests",
    "tests.clients.consumer.application",
    "tests.clients.drivers.java_consumer",
    "tests.clients.groups.raw_members",
)

HERE = Path(__file__).resolve().parent
# The first test of a client may fetch or build it.
FIRST_USE_TIMEOUT_SECONDS = 600
# Groups and retention do not let a test wait.
BROKER_PROPERTIES = {
    "num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": "50",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
    "log.retention.check.interval.ms": "100",
    "log.cleaner.backoff.ms": "100",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(FIRST_USE_TIMEOUT_SECONDS))


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """The address of the broker under test."""
    running = os.environ.get("HEADRACE_TEST_BOOTSTRAP")
    if running:
        yield running
        return
    from headrace.testing import Broker

    with Broker(BROKER_PROPERTIES) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="session")
def metered_broker() -> Iterator[Broker]:
    """A broker of our own whose metrics can be looked at."""
    from headrace.testing import Broker

    with Broker(BROKER_PROPERTIES, metrics=True) as broker:
        yield broker


@pytest.fixture
def connection(bootstrap: str) -> Iterator[Connection]:
    """A bare connection of the test's own."""
    from tests.clients.raw import Connection

    with Connection(bootstrap) as opened:
        yield opened


@pytest.fixture
def topic_name() -> str:
    """A name that no topic of this broker has."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def new_topic(connection: Connection, topic_name: str) -> Callable[..., str]:
    """Creates topics: `new_topic(partitions=3, config={"max.message.bytes": "1000"})`."""
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


@pytest.fixture
def group() -> str:
    """A group that nobody knows."""
    return f"g-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def members(bootstrap: str) -> Iterator[Members]:
    """Makes consumers of librdkafka that are members of groups; they leave with the test."""
    from tests.clients.consumer.application import Members

    made = Members(bootstrap)
    yield made
    made.close()


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the client programs leave what they have to say on stderr."""
    return tmp_path_factory.mktemp("clients")


@pytest.fixture(scope="session")
def librdkafka(bootstrap: str) -> Librdkafka:
    from tests.clients.drivers.librdkafka import Librdkafka

    return Librdkafka(bootstrap)


@pytest.fixture(scope="session")
def kafka_python(bootstrap: str) -> Iterator[KafkaPython]:
    from tests.clients.drivers.kafka_python import KafkaPython

    client = KafkaPython(bootstrap)
    yield client
    client.close()


@pytest.fixture(scope="session")
def aiokafka(bootstrap: str) -> Aiokafka:
    from tests.clients.drivers.aiokafka import Aiokafka

    return Aiokafka(bootstrap)


@pytest.fixture(scope="session")
def kcat(bootstrap: str) -> Kcat:
    from tests.clients.drivers.kcat import Kcat

    return Kcat(bootstrap)


@pytest.fixture(scope="session")
def java(bootstrap: str, kafka_classpath: str, scratch: Path) -> Iterator[ForeignClient]:
    from tests.clients.drivers.java import java_client

    with java_client(bootstrap, kafka_classpath, scratch) as client:
        yield client


@pytest.fixture(scope="session")
def java_program(bootstrap: str, kafka_classpath: str, scratch: Path) -> Iterator[JavaConsumers]:
    from tests.clients.drivers.java_consumer import JavaConsumers

    with JavaConsumers(bootstrap, kafka_classpath, scratch) as program:
        yield program


@pytest.fixture
def java_consumers(java_program: JavaConsumers) -> Iterator[OpenedConsumers]:
    """Makes consumers of the Java client; they are closed with the test."""
    from tests.clients.drivers.java_consumer import OpenedConsumers

    with OpenedConsumers(java_program) as opened:
        yield opened


@pytest.fixture(scope="session")
def kafkajs(bootstrap: str, scratch: Path) -> Iterator[ForeignClient]:
    from tests.clients.drivers.kafkajs import kafkajs_client

    with kafkajs_client(bootstrap, scratch) as client:
        yield client


@pytest.fixture(scope="session")
def franz_go(bootstrap: str, scratch: Path) -> Iterator[ForeignClient]:
    from tests.clients.drivers.franz_go import franz_go_client

    with franz_go_client(bootstrap, scratch) as client:
        yield client
