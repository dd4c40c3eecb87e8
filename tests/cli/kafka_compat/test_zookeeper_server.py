"""`zookeeper-server-start` and `zookeeper-server-stop` with the properties of the labs."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli.kafka_compat import zookeeper_server
from headrace.cli.kafka_compat.zookeeper_shell import zookeeper_shell
from headrace.coordination.zookeeper import connect
from headrace.coordination.zookeeper.jars import MAIN_CLASS
from headrace.coordination.zookeeper.server import free_port
from tests.cli.kafka_compat.conftest import Tool

STARTED = (sys.executable, "-m", "headrace.cli.kafka_compat", "zookeeper-server-start")


@pytest.fixture
def properties(tmp_path: Path) -> tuple[Path, int]:
    """A file as in Kafka's distribution, and its port."""
    port = free_port("127.0.0.1")
    data = tmp_path / "a folder, größer"
    file = tmp_path / "zookeeper.properties"
    file.write_text(
        encoding="utf-8",
        data="# the directory where the snapshot is stored.\n"
        f"dataDir={data}\n"
        f"clientPort={port}\nmaxClientCnxns=0\nadmin.enableServer=false\n"
        "autopurge.purgeInterval=0\n",
    )
    return file, port


@pytest.mark.spec("slides:B37", "slides:B38", "slides:N01", "book2:J-03")
def test_the_file_of_the_labs_starts_a_server(properties: tuple[Path, int]) -> None:
    """It says what it says of itself: three snapshots, no purge, no quorum, so it stands alone."""
    file, port = properties
    with subprocess.Popen(
        [*STARTED, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == f"zookeeper ready on 127.0.0.1:{port}\n"
            with contextlib.closing(connect(f"127.0.0.1:{port}")) as tree:
                assert tree.children("/") == ["zookeeper"]
        finally:
            process.terminate()
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert list(file.parent.glob("a folder, größer/version-2/log.*"))
    assert "autopurge.snapRetainCount set to 3" in err
    assert "autopurge.purgeInterval set to 0" in err
    assert "WARN Either no config or no quorum defined in config, running in standalone" in err


def test_a_daemon_is_stopped_by_its_file(properties: tuple[Path, int], tool: Tool) -> None:
    """-daemon returns when the server answers; stop with the file ends this one and no other."""
    file, port = properties
    other = free_port("127.0.0.1")
    subprocess.run(
        [
            *(*STARTED, "-daemon", str(file)),
            *("--override", f"clientPort={other}"),
        ],
        timeout=60,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    assert port != other
    with contextlib.closing(connect(f"127.0.0.1:{other}")) as tree:
        tree.create("/a", b"")
    assert tool(zookeeper_server.stop, str(file)) == (0, "", "")
    gone = tool(zookeeper_server.stop, str(file))
    assert gone == (1, "", "No zookeeper server to stop\n")


def test_stop_without_a_file_takes_every_server_of_this_user(tmp_path: Path) -> None:
    """As Kafka's script: whoever runs ZooKeeper's main class, and nobody else."""
    for pid, words in {
        "17": ["java", "-cp", "x", MAIN_CLASS, "/a/zoo.cfg"],
        "18": ["java", "kafka.Kafka"],
        "19": ["java", MAIN_CLASS, "/b/zoo.cfg"],
    }.items():
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "cmdline").write_bytes("\0".join(words).encode() + b"\0")
    (tmp_path / "20").mkdir()
    assert sorted(zookeeper_server._servers(tmp_path, None)) == [17, 19]
    assert list(zookeeper_server._servers(tmp_path, "/b/zoo.cfg")) == [19]


def test_wrong_usage_is_named(tool: Tool, properties: tuple[Path, int]) -> None:
    """No file, a flag that is none, an override without a value: exit code 2."""
    file, _ = properties
    for words in ([], ["-daemon"], [str(file), "--set", "a=b"], [str(file), "--override", "a"]):
        assert tool(zookeeper_server.start, *words).code == 2
    assert tool(zookeeper_server.stop, "a", "b").code == 2
    for command in (zookeeper_server.start, zookeeper_server.stop, zookeeper_shell):
        wrong = tool(command, "--nonsense")
        assert (wrong.code, wrong.out) == (2, "")
        assert '"--nonsense" is not a flag of this command; USAGE: zookeeper-' in wrong.err
    assert "USAGE: zookeeper-server-start" in tool(zookeeper_server.start, "--help").out
    assert "USAGE: zookeeper-server-stop" in tool(zookeeper_server.stop, "--help").out
