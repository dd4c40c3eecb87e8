"""A broker of its own with short windows: two samples of a second, so that nobody waits long."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from headrace.testing import Broker

if TYPE_CHECKING:
    from tests.clients.raw import Connection

PROPERTIES = {
    "num.partitions": 1,
    "quota.window.num": 2,
    "controller.quota.window.num": 2,
    "group.initial.rebalance.delay.ms": 0,
}


@pytest.fixture(scope="session")
def limited() -> Iterator[str]:
    """The address of the broker; HEADRACE_TEST_BOOTSTRAP names another one, as everywhere here."""
    running = os.environ.get("HEADRACE_TEST_BOOTSTRAP")
    if running:
        yield running
        return
    with Broker(PROPERTIES) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def bootstrap(limited: str) -> str:
    return limited


@pytest.fixture
def client(limited: str, topic_name: str) -> Iterator[Callable[..., Connection]]:
    """Connections, each with a client id of its own."""
    from tests.clients.raw import Connection

    numbers = itertools.count()
    with ExitStack() as stack:

        def connect() -> Connection:
            client_id = f"{topic_name}-{next(numbers)}"
            return stack.enter_context(Connection(limited, client_id=client_id))

        yield connect
