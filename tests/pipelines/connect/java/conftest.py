"""A worker with Java connectors; one JVM for all tests of the process."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.pipelines.connect.java.found import JARS, PATH, look_in
from headrace.testing import Broker
from tests.pipelines.connect.java.jars import acme, file_stream
from tests.pipelines.connect.worker.running import Worker


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """A broker whose groups do not wait for more members."""
    with Broker({"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="session")
def frugal() -> Iterator[None]:
    """A JVM that is content with little."""
    with pytest.MonkeyPatch.context() as patch:
        heap = "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
        patch.setenv("KAFKA_HEAP_OPTS", heap)
        yield


@pytest.fixture(scope="session")
def plugins(
    kafka_classpath: str, frugal: None, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Where a worker finds Java connectors."""
    own = acme(kafka_classpath, tmp_path_factory.mktemp("acme"))
    return {PATH: f"{own},{file_stream()}", JARS: kafka_classpath.removesuffix("/*")}


@pytest.fixture
def topic() -> str:
    """A name that no topic has yet."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def start(
    bootstrap: str, plugins: dict[str, str], tmp_path: Path
) -> Iterator[Callable[..., Worker]]:
    """Starts workers, who end with the test: `start({"name": …}, **{"worker.key": …})`."""
    started: list[Worker] = []

    def make(*connectors: dict[str, str], **settings: str) -> Worker:
        made = Worker(bootstrap, tmp_path, plugins | settings)
        started.append(made)
        for config in connectors:
            made.create(config)
        return made

    yield make
    for made in started:
        made.stop()
    look_in({})
