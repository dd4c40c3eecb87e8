"""One JVM with Apache Kafka's transforms for all tests of a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pipelines.connect.transforms.oracle import Oracle


@pytest.fixture(scope="session")
def oracle(kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """Apache Kafka's transforms, compiled against on first use."""
    with Oracle(kafka_classpath, tmp_path_factory.mktemp("transforms")) as asked:
        yield asked
