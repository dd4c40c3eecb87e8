"""`zookeeper-shell` beside ZooKeeper's own: the same words, the same lines."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from headrace.cli.kafka_compat.zookeeper_shell import zookeeper_shell
from headrace.coordination.tree import Create
from headrace.coordination.zookeeper import connect
from headrace.coordination.zookeeper.tree import ZooKeeperTree
from headrace.java.installation import find_java
from tests.cli.kafka_compat.conftest import Tool

# Without jline the shell has no prompt, without log4j no log.
NEEDED = ("zookeeper-*.jar", "slf4j-api-*.jar", "commons-*.jar", "netty-*Final.jar")
READING = """
ls /
ls /brokers/ids
ls -s /brokers
ls -R /brokers
get /brokers/ids/1
get -s /brokers/ids/1
get /brokers
stat /brokers/ids/2
get /nowhere
ls /nowhere
stat /nowhere
ls nowhere
get /brokers/
"""
WRITING = """
create /made hello
create /made again
create /made/below "two words"
create -s /made/n- x
create -e /made/gone x
create /made/gone/child x
create /no/parent x
get /made/below
set /made there
get /made
set -v 7 /made no
set -v 1 /made yes
get /made
delete /made
delete -v 3 /made/below
delete -v 0 /made/below
ls /made
deleteall /made
ls /made
get -s
bogus
"""


@pytest.fixture
def tree(zookeeper_connect: str) -> Iterator[ZooKeeperTree]:
    with contextlib.closing(connect(zookeeper_connect)) as opened:
        opened.multi([Create("/brokers"), Create("/brokers/ids", b"none")])
        for number in (2, 0, 1):
            opened.create(f"/brokers/ids/{number}", f"broker {number}".encode(), ephemeral=True)
        yield opened


@pytest.mark.usefixtures("tree")
@pytest.mark.spec("admin:CL-16")
def test_a_command_prints_as_zookeepers_shell(tool: Tool, zookeeper_connect: str) -> None:
    """`ls /brokers/ids` is the list that every guide to Kafka shows."""
    done = tool(zookeeper_shell, zookeeper_connect, "ls", "/brokers/ids")
    assert done.code == 0
    assert done.out.splitlines()[0] == f"Connecting to {zookeeper_connect}"
    assert done.out.endswith("type:None path:null\n[0, 1, 2]\n")
    assert done.err == ""
    missing = tool(zookeeper_shell, zookeeper_connect, "get", "/brokers/ids/9")
    assert (missing.code, missing.err) == (1, "Node does not exist: /brokers/ids/9\n")
    unknown = tool(zookeeper_shell, zookeeper_connect, "bogus")
    assert unknown.code == 127
    assert "Command not found bogus" in unknown.err


@pytest.mark.usefixtures("tree")
def test_zookeepers_own_shell_prints_the_same(tool: Tool, zookeeper_connect: str) -> None:
    """Both are given the same lines; what each prints of results and errors is equal."""
    ours = tool(zookeeper_shell, zookeeper_connect, stdin=READING + WRITING)
    theirs = _original(zookeeper_connect, READING + WRITING)
    assert _results(ours.out) == _results(theirs.stdout)
    assert _errors(ours.err) == _errors(theirs.stderr)
    assert len(_errors(ours.err)) > 4


def test_quit_ends_and_help_shows_the_commands(tool: Tool, zookeeper_connect: str) -> None:
    """Lines after quit are not read; an open quote is an error and not the end."""
    done = tool(zookeeper_shell, zookeeper_connect, stdin='create "\nhelp\nversion\nquit\nls /\n')
    assert "\tdeleteall path\n" in done.out
    assert "headrace" in done.out
    assert not done.out.endswith("]\n")
    assert "No closing quotation" in done.err


def test_wrong_usage_and_nobody_there(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """No address, a wrong one, one where nobody answers."""
    assert tool(zookeeper_shell).code == 2
    assert tool(zookeeper_shell, "--help").out.startswith("USAGE: zookeeper-shell")
    assert "zookeeper.connect" in tool(zookeeper_shell, "a:b:c", "ls", "/").err
    monkeypatch.setattr("headrace.cli.kafka_compat.zookeeper_shell._CONNECT_TIMEOUT_S", 0.3)
    done = tool(zookeeper_shell, "127.0.0.1:1", "ls", "/")
    assert done.code == 1
    assert "no ZooKeeper answered at 127.0.0.1:1" in done.err


def _original(server: str, script: str) -> subprocess.CompletedProcess[str]:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    jars = Path(spec.submodule_search_locations[0], "jars")
    return subprocess.run(
        [
            *(find_java(os.environ) / "bin" / "java", "-XX:TieredStopAtLevel=1", "-cp"),
            ":".join(str(jar) for name in NEEDED for jar in sorted(jars.glob(name))),
            *("org.apache.zookeeper.ZooKeeperMain", "-server", server),
        ],
        input=script + "quit\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _results(out: str) -> list[str]:
    """The lines of the answers, without greetings and without what a watch tells."""
    lines = [line for line in out.splitlines() if line]
    greeting = re.compile("Connecting to|Welcome to|JLine|WATCHER::|WatchedEvent")
    return [line for line in lines if not greeting.match(line)]


def _errors(err: str) -> list[str]:
    """What was created or refused; the lists of commands are not compared."""
    return [
        line
        for line in err.splitlines()
        if line and not re.match(r"SLF4J|\t|ZooKeeper -s|\w+ \[| -", line)
    ]
