"""`kafka-server-start` and `kafka-server-stop` with files of the labs, in a folder of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from headrace.cli import processes
from headrace.cli.doctor.ports import owner_of
from headrace.cli.kafka_compat import server
from tests.cli.kafka_compat.conftest import Tool
from tests.client.listeners import unused_port

START = (sys.executable, "-m", "headrace.cli.kafka_compat", "kafka-server-start")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where records of these brokers and their logs go: nobody else's are seen, or stopped."""
    monkeypatch.setenv(processes.FOLDER_VARIABLE, str(tmp_path / "run"))
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.delenv("KAFKA_OPTS", raising=False)
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xmx1G -Xms1G")
    return tmp_path


def properties(folder: Path, node_id: int) -> tuple[Path, int]:
    """A server.properties as Kafka's quick start has it; several may stand on one host."""
    port = unused_port()
    path = folder / f"server-{node_id}.properties"
    path.write_text(
        f"process.roles=broker,controller\nnode.id={node_id}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{unused_port()}\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        f"log.dirs={folder / f'data-{node_id}'}\nnum.partitions=1\n"
    )
    return path, port


def brokers(port: int) -> set[int]:
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
    return set(admin.list_topics(timeout=30).brokers)


@contextmanager
def foreground(*words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*START, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.spec("slides:N02", "admin:CL-13")
def test_a_broker_in_the_foreground_is_stopped_by_sigterm(environment: Path, tool: Tool) -> None:
    """It serves what its file says; `kafka-server-stop` ends it cleanly, and finds no other."""
    file, port = properties(environment, 7)
    with foreground(str(file), "--override", "num.partitions=3") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(f"broker ready on 127.0.0.1:{port}")
        assert brokers(port) == {7}
        assert tool(server.stop) == (0, "", "")
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "num.partitions = 3" in err
    assert "Broker 7 shut down" in err
    assert tool(server.stop) == (1, "No kafka server to stop\n", "")


def test_daemons_are_told_apart_by_their_number_and_by_their_file(
    environment: Path, tool: Tool
) -> None:
    """-daemon returns when the broker answers; stop takes the one that is meant."""
    first, second = properties(environment, 1), properties(environment, 2)
    for file, _ in (first, second):
        subprocess.run(
            [*START, "-daemon", str(file)],
            stdin=subprocess.DEVNULL,
            check=True,
            timeout=90,
        )
    try:
        assert [brokers(port) for _, port in (first, second)] == [{1}, {2}]
        assert "broker ready" in (environment / "logs" / server.DAEMON_OUTPUT).read_text()
        assert tool(server.stop, "--node-id", "9").code == 1
        assert tool(server.stop, "--process-role=controller", "--node-id=2").code == 0
        assert [process.node_id for process in processes.running()] == [1]
        taken = subprocess.run(
            [*START, "-daemon", str(first[0])],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert taken.returncode == 1
        assert "Address already in use" in taken.stderr
        assert tool(server.stop, str(first[0])).code == 0
        assert processes.running() == []
    finally:
        for process in processes.running():
            os.kill(process.pid, signal.SIGKILL)


@pytest.mark.spec("admin:CL-18")
def test_a_port_is_freed_and_everything_begins_anew(environment: Path, tool: Tool) -> None:
    """Who has the port is told; stop frees it; an emptied folder is that of a new cluster."""
    file, port = properties(environment, 1)
    other = environment / "other.properties"
    other.write_text(file.read_text().replace("data-1", "data-2"))
    with foreground(str(file)) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("broker ready")
        assert owner_of(port) == (process.pid, "python")
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
        admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(30)
        first = admin.list_topics(timeout=30).cluster_id
        with foreground(str(other)) as second:
            _, complaint = second.communicate(timeout=60)
        assert second.returncode == 1
        assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in complaint
        assert "stop whatever uses the port" in complaint
        assert tool(server.stop, str(file)).code == 0
        assert owner_of(port) is None
        process.communicate(timeout=60)
    shutil.rmtree(environment / "data-1")
    with foreground(str(file)) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("broker ready")
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
        found = admin.list_topics(timeout=30)
        assert "orders" not in found.topics
        assert found.cluster_id != first
        assert tool(server.stop, str(file)).code == 0
        process.communicate(timeout=60)


@pytest.mark.spec("slides:N15")
def test_what_kafka_opts_asks_for(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent for Prometheus is our own endpoint on its port; what has no meaning is told."""
    metrics = unused_port()
    agent = f"-javaagent:/opt/jmx_prometheus_javaagent-1.0.jar=127.0.0.1:{metrics}:/opt/kafka.yml"
    monkeypatch.setenv("KAFKA_OPTS", f"-Xlog:gc {agent} -Djava.security.auth.login.config=/x")
    file, _ = properties(environment, 1)
    with foreground(str(file)) as process:
        assert process.stdout is not None
        ready = [process.stdout.readline() for _ in range(2)]
        assert any(line.startswith("broker ready") for line in ready)
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=30) as answer:
            assert answer.status == 200
        process.terminate()
        _, err = process.communicate(timeout=60)
    assert "KAFKA_OPTS -Djava.security.auth.login.config=/x has no meaning here" in err
    assert "-Xlog" not in err.splitlines()[0]


def test_a_record_of_another_process_is_not_believed(environment: Path, tool: Tool) -> None:
    """A number that was given to another process since then is left alone, and forgotten."""
    folder = processes.folder()
    assert folder is not None
    folder.mkdir()
    mine = os.getpid()
    record = {"pid": mine, "began": 1, "supervisor": 0, "node_id": 1, "roles": ["broker"]}
    (folder / f"{mine}.json").write_text(json.dumps({**record, "log_dirs": ["/x"]}))
    assert tool(server.stop).code == 1
    assert list(folder.iterdir()) == []


def test_usage(environment: Path, tool: Tool) -> None:
    """No file is a question for help with 1; a mistake in the file is told before the start."""
    assert tool(server.start) == (1, f"{server.START_USAGE}\n", "")
    assert tool(server.start, "--help").code == 0
    for word in ("--unknown", "-deamon"):
        unknown = tool(server.start, word, "server.properties")
        told = f'"{word}" is not a flag of this command; {server.START_USAGE}\n'
        assert unknown == (1, "", told)
    without = tool(server.start, "--override", "a=b")
    assert without == (1, "", f"no server.properties is given; {server.START_USAGE}\n")
    missing = tool(server.start, "-daemon", "/no/such.properties")
    assert (missing.code, missing.out) == (1, "")
    assert "/no/such.properties cannot be read" in missing.err
    file = environment / "bad.properties"
    file.write_text("num.partitions=many\n")
    assert "num.partitions" in tool(server.start, str(file)).err
    assert tool(server.stop, "--node-id", "x").code == 1
