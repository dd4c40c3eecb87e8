"""A worker of ours, and the broker that it works with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing import Broker
from tests.pipelines.connect.api.running import our_worker


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker whose groups do not wait for more members."""
    with Broker({"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the worker keeps its files."""
    return tmp_path_factory.mktemp("worker")


@pytest.fixture(scope="module")
def url(bootstrap: str, folder: Path) -> Iterator[str]:
    """Where the worker answers."""
    with our_worker(bootstrap, folder) as address:
        yield address
