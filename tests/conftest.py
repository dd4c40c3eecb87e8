"""Fixtures that all tests share: Apache Kafka to compare with, one ZooKeeper, one Spark session.

Imports wait until a test asks, so that a unit test pays nothing for them.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

from tests.distribution import Units, place
from tests.spark_session import pytest_runtest_makereport, quick_start, spark
from tests.zookeeper import zookeeper, zookeeper_connect

if TYPE_CHECKING:
    from tests.kafka.apache_kafka import ApacheKafka

# A shell that starts us in the background has us ignore Ctrl-C, and so would all our children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

__all__ = [
    "pytest_runtest_makereport",
    "quick_start",
    "spark",
    "zookeeper",
    "zookeeper_connect",
]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Units:
    return Units(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """After the order of files was drawn: those that take long come first."""
    items.sort(key=place)


@pytest.fixture(scope="session")
def kafka_classpath() -> str:
    """Apache Kafka's jars, fetched on first use."""
    from tests.kafka.apache_kafka import classpath

    return classpath()


@pytest.fixture(scope="session")
def kafka_broker(
    kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., ApacheKafka]]:
    """Starts a real Apache Kafka: `kafka_broker({"num.partitions": "3"})`; its `stop` ends it."""
    from tests.kafka.apache_kafka import ApacheKafka

    with contextlib.ExitStack() as running:

        def start(properties: Mapping[str, str] | None = None) -> ApacheKafka:
            folder = tmp_path_factory.mktemp("kafka")
            return running.enter_context(ApacheKafka(kafka_classpath, folder, properties))

        yield start
