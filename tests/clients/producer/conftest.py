"""Producers of the Java client that stay open, and a gateway in front of the broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.clients.drivers.program import ForeignClient
    from tests.clients.producer.gateway import Gateway
    from tests.clients.producer.java_producer import JavaProducer


@pytest.fixture(scope="session")
def java_producers(bootstrap: str, kafka_classpath: str, scratch: Path) -> Iterator[ForeignClient]:
    """The program in which all producers of the Java client live."""
    from tests.clients.producer.java_producer import java_program

    with java_program(bootstrap, kafka_classpath, scratch) as program:
        yield program


@pytest.fixture
def new_java(java_producers: ForeignClient) -> Iterator[Callable[..., JavaProducer]]:
    """Opens producers of the Java client: `new_java(linger_ms=20)`; they are closed afterwards."""
    from tests.clients.producer.java_producer import JavaProducer

    opened: list[JavaProducer] = []

    def open_one(**settings: object) -> JavaProducer:
        opened.append(JavaProducer(java_producers, **settings))
        return opened[-1]

    yield open_one
    for producer in opened:
        producer.close(timeout_ms=0)


@pytest.fixture
def gateway(bootstrap: str) -> Iterator[Gateway]:
    """A gateway in front of the broker."""
    from tests.clients.producer.gateway import gateway

    with gateway(bootstrap) as between:
        yield between
