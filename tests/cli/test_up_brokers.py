"""`headrace up --brokers N`: settings of each broker, and the cluster as a person runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest

from headrace.admin.client import Admin
from headrace.cli.brokers import settings_of, several
from headrace.cli.failures import Failure
from headrace.cli.up import Request, http_settings
from headrace.client.settings import client_settings
from tests.cli.conftest import Headrace

WORDS = [sys.executable, "-m", "headrace", "up", "--brokers", "2", "--port", "0"]


def test_each_broker_has_its_id_port_and_folder(tmp_path: Path) -> None:
    """What the user says of all of them holds for all; replicas are as many as brokers, up to 3."""
    request = Request(port="9092", settings=("num.partitions=4", "default.replication.factor=1"))
    two = settings_of(request, 5, 2, tmp_path)
    assert two["broker.id"] == "2"
    assert two["listeners"] == "PLAINTEXT://127.0.0.1:9094"
    assert two["log.dirs"] == str(tmp_path / "broker-2")
    assert two["num.partitions"] == "4"
    assert two["default.replication.factor"] == "1"
    assert two["offsets.topic.replication.factor"] == "3"
    assert two["transaction.state.log.min.isr"] == "2"
    assert "zookeeper.connect" not in two
    there = settings_of(Request(zookeeper="zk:2181/a"), 2, 0, tmp_path)
    assert there["zookeeper.connect"] == "zk:2181/a"
    assert there["default.replication.factor"] == "2"


def test_services_are_told_of_all_brokers() -> None:
    """So that the loss of the first one does not cut them off."""
    known = {"zookeeper": "h:1", "broker-0": "127.0.0.1:2", "broker-1": "0.0.0.0:3"}
    settings = http_settings(Request(), "registry", 0, known)
    assert settings["kafkastore.bootstrap.servers"] == "127.0.0.1:2,127.0.0.1:3"


def test_what_a_cluster_needs_is_named_once_and_first(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare installation has neither kazoo nor Java nor ZooKeeper: one line, nothing started."""
    monkeypatch.setitem(sys.modules, "kazoo", None)
    monkeypatch.setenv("JAVA_HOME", "/no/java")
    monkeypatch.setenv("ZOOKEEPER_HOME", "/no/zookeeper")
    outcome = headrace("up", "--brokers", "3", "--data", str(tmp_path / "data"), "--port", "0")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    for named in ("headrace[cluster]", "install Java 17", "/no/zookeeper"):
        assert named in outcome.err
    assert not list(tmp_path.iterdir())


def test_a_named_zookeeper_is_not_started(tmp_path: Path) -> None:
    """The brokers do not wait for one either."""
    own = several(Request(data=str(tmp_path), port="0"), 2)
    assert [service.name for service in own] == ["zookeeper", "broker-0", "broker-1"]
    assert own[1].needs == ("zookeeper",)
    named = several(Request(data=str(tmp_path), port="0", zookeeper="zk:2181"), 2)
    assert [(service.name, service.needs) for service in named] == [
        ("broker-0", ()),
        ("broker-1", ()),
    ]


def test_the_folder_of_a_single_broker_is_refused(tmp_path: Path) -> None:
    """Its topics are in a store of its own, which the cluster would not find."""
    (tmp_path / "meta.properties").write_text("version=0\n")
    with pytest.raises(Failure, match="holds the data of a single broker"):
        several(Request(data=str(tmp_path), port="0"), 2)


def ready(lines: IO[str], count: int) -> dict[str, str]:
    """The addresses of so many ready lines, by service."""
    found: dict[str, str] = {}
    while len(found) < count:
        line = lines.readline()
        assert line, "the command has ended"
        if " ready on " in line and not line.startswith("metrics "):
            name, _, _, address = line.split()[:4]
            found[name] = address
    return found


@pytest.mark.slow
@pytest.mark.spec("slides:B39", "admin:RC-38", "admin:RQ-29")
def test_a_cluster_runs_heals_and_stops_in_order(tmp_path: Path) -> None:
    """ZooKeeper and brokers tell their addresses; a killed broker is started again; Ctrl-C ends."""
    words = [*WORDS, "--data", str(tmp_path), "--only", "broker"]
    with ExitStack() as stack:
        up = stack.enter_context(
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        stack.callback(up.terminate)
        assert up.stdout is not None
        found = ready(up.stdout, 3)
        assert set(found) == {"zookeeper", "broker-0", "broker-1"}
        assert next(iter(found)) == "zookeeper"
        children = {_name(pid): pid for pid in _children(up.pid)}
        (java,) = _children(children["headrace-zookee"])
        os.kill(children["headrace-broker"], signal.SIGKILL)
        (again,) = ready(up.stdout, 1).items()
        assert found[again[0]] == again[1]
        servers = f"{found['broker-0']},{found['broker-1']}"
        with Admin(client_settings({"bootstrap.servers": servers})[0]) as admin:
            admin.create("t", 2)
            (topic,) = admin.describe(["t"])
        assert [sorted(each.replicas) for each in topic.partitions] == [[0, 1], [0, 1]]
        up.send_signal(signal.SIGINT)
        _, err = up.communicate(timeout=60)
    assert up.returncode == 0, err
    assert "was killed by SIGKILL; restarting in 0.5 s" in err
    deadline = time.monotonic() + 10
    while Path(f"/proc/{java}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{java}").exists()


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()
