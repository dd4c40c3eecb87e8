"""Apache Kafka's own tool for reading segments, and brokers on folders of the test's choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.clients.drivers.program import ForeignClient

pytest.register_assert_rewrite("tests.clients.requests")

HERE = Path(__file__).resolve().parent
# The first test may fetch Apache Kafka.
FIRST_USE_TIMEOUT_SECONDS = 600

DumpLog = Callable[..., str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(FIRST_USE_TIMEOUT_SECONDS))


@pytest.fixture(scope="session")
def java(kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForeignClient]:
    """One JVM for everything Java: set `java.bootstrap` to the broker to talk to."""
    from tests.clients.drivers.java import java_client

    with java_client("", kafka_classpath, tmp_path_factory.mktemp("java")) as client:
        yield client


@pytest.fixture(scope="session")
def dump_log(java: ForeignClient) -> DumpLog:
    """Runs DumpLogSegments: `dump_log(files, "--deep-iteration")` gives what it printed."""

    def dump(files: Iterable[Path], *flags: str) -> str:
        paths = ",".join(str(path) for path in sorted(files))
        assert paths, "there is no file to read"
        return str(java.call("dump_log", arguments=[*flags, "--files", paths]))

    return dump
