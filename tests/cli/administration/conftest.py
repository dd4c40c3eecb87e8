"""One cluster of three for all tests of the administrative commands, and how they run one.

Nobody here kills a broker. A test has topics of its own.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

import pytest

from headrace.cli import kafka_compat
from tests.cli.conftest import Headrace, Outcome

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.server import ZooKeeperServer
    from headrace.testing import Cluster

RACKS = ["east", "west", "south"]


class Tool(Protocol):
    def __call__(self, command: Callable[[list[str]], int], *words: str) -> Outcome: ...


@pytest.fixture(scope="package")
def trio(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Brokers 0, 1 and 2."""
    from headrace.testing import Cluster

    with Cluster(
        brokers=3,
        properties={"auto.leader.rebalance.enable": "false"},
        racks=RACKS,
        data=tmp_path_factory.mktemp("brokers"),
        zookeeper=f"{zookeeper.connect_string}/administration-{uuid.uuid4().hex[:8]}",
    ) as cluster:
        yield cluster


@pytest.fixture
def tool(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    """`tool(topics.run, "--list", …)`, in this process."""

    def run(command: Callable[[list[str]], int], *words: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["tool", *words])
        code = kafka_compat.run(command)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def on_trio(headrace: Headrace, trio: Cluster, monkeypatch: pytest.MonkeyPatch) -> Headrace:
    """`headrace` against the three brokers."""
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", trio.bootstrap_servers)
    return headrace


@pytest.fixture
def name() -> str:
    """A topic that no other test has."""
    return f"topic-{uuid.uuid4().hex[:12]}"
