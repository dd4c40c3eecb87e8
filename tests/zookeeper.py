"""One real ZooKeeper for all tests, and a piece of it for each.

    def test_something(zookeeper: ZooKeeperServer) -> None:
        tree = connect(zookeeper.connect_string + "/some-chroot")

Sessions of half a second to a minute are granted, so that a test can wait for one to expire.
Whoever stops, kills or pauses a server starts one of their own: `ZooKeeperServer(tmp_path)`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.server import ZooKeeperServer

QUICK = {"tickTime": "250", "minSessionTimeout": "500", "maxSessionTimeout": "60000"}
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """The server that all tests share; use a chroot of your own."""
    from headrace.coordination.zookeeper.server import ZooKeeperServer

    with ZooKeeperServer(tmp_path_factory.mktemp("zookeeper"), properties=QUICK) as server:
        yield server


@pytest.fixture
def zookeeper_connect(zookeeper: ZooKeeperServer) -> str:
    """A zookeeper.connect with a chroot that no other test uses."""
    return f"{zookeeper.connect_string}/test-{next(_numbers)}"
