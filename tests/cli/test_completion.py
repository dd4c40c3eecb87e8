"""Names of topics and groups for a shell: from the cluster, quickly, or none at all."""

from __future__ import annotations

import socket
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer
from confluent_kafka import Consumer, TopicPartition

from headrace.cli.app import app
from headrace.cli.completion import complete_group, complete_topic
from headrace.testing import Broker
from tests.cli.conftest import Headrace


def context(**params: object) -> Any:
    """What typer hands to a completion: the options that were typed so far."""
    found = typer.Context(typer.main.get_command(app))
    found.params.update(params)
    return found


def test_groups_are_completed(headrace_broker: Broker, topic: str) -> None:
    """Those that begin so, also after `--group`."""
    servers = headrace_broker.bootstrap_servers
    group = {"bootstrap.servers": servers, "group.id": f"group-of-{topic}"}
    with closing(Consumer(group)) as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    there = context(servers=servers)
    assert complete_group(there, f"group-of-{topic[:-1]}") == [f"group-of-{topic}"]
    assert complete_group(there, "nobody-is-called-so") == []


def test_the_profile_says_where_to_ask(
    headrace: Headrace,
    headrace_broker: Broker,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one in use, or the one named before the command."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    headrace("profile", "create", "nobody", "-b", "127.0.0.1:1")
    headrace("profile", "create", "there", "-b", headrace_broker.bootstrap_servers)
    assert complete_topic(context(), topic) == []
    assert complete_topic(context(named="there"), topic) == [topic]
    assert complete_topic(context(named="gone"), topic) == []
    headrace("profile", "use", "there")
    assert complete_topic(context(), topic) == [topic]


@pytest.mark.parametrize("complete", [complete_topic, complete_group])
def test_a_silent_server_costs_a_second(complete: Any) -> None:
    """One that accepts and never answers is given up on; nothing is said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = context(servers=f"127.0.0.1:{server.getsockname()[1]}")
        began = time.monotonic()
        assert complete(there, "") == []
        assert time.monotonic() - began < 10


def test_nonsense_is_completed_by_nothing() -> None:
    """An address that is none, a setting that is none."""
    assert complete_topic(context(servers="a:b:c"), "") == []
    assert complete_topic(context(servers="127.0.0.1:1", properties=["x"]), "") == []
