"""Examples write to a broker of their own, whatever the environment names."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from examples.topics import Draft, broker, provide, servers
from headrace.errors import HeadraceError
from headrace.pipelines.run_environment import BROKERS_BY, SERVERS
from headrace.testing import Broker

TIMEOUT_S = 100


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """The cluster of other people, which the environment names."""
    with Broker() as running:
        monkeypatch.setenv(SERVERS, running.bootstrap_servers)
        monkeypatch.delenv(BROKERS_BY, raising=False)
        yield running


def topic_names(bootstrap: str) -> set[str]:
    return set(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=30).topics)


def run(module: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("chosen_by", ["", "environment", "profile", "machine", "none"])
def test_brokers_that_no_command_line_named_are_refused(
    foreign: Broker, monkeypatch: pytest.MonkeyPatch, chosen_by: str
) -> None:
    """A pipeline under `headrace run` too: the error names both ways out."""
    monkeypatch.setenv(BROKERS_BY, chosen_by)
    with pytest.raises(HeadraceError, match=r"--broker for a broker of its own, .* with -b"):
        provide("iprecord", [Draft("x")])
    assert topic_names(foreign.bootstrap_servers) == set()


def test_a_program_starts_a_broker_of_its_own(foreign: Broker) -> None:
    """What it writes is there; nothing is in the cluster that the environment names."""
    with broker() as own:
        assert own == servers() != foreign.bootstrap_servers
        assert provide("test1", [Draft("x")])
        assert topic_names(own) == {"test1"}
    assert os.environ[SERVERS] == foreign.bootstrap_servers
    assert "2000 records sent to test1\n" in run("examples.clients.demo_producer")
    run("examples.ip_fraud.generator", "--ticks=1", "--delay-ms=0")
    assert topic_names(foreign.bootstrap_servers) == set()


def test_a_command_line_names_the_brokers(foreign: Broker) -> None:
    """Then they are used: that is what was asked for."""
    with Broker() as named:
        run("examples.clients.loyalty_points", "-b", named.bootstrap_servers)
        assert topic_names(named.bootstrap_servers) >= {"campaign-spent", "loyalty-points"}
    assert topic_names(foreign.bootstrap_servers) == set()
