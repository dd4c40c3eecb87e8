"""A broker that cannot start says so in one line that names cause and remedy, and exits with 1."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.testing import Broker


def start(data: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Try to start a broker that is expected to give up at once."""
    words = ["--only", "broker", "--data", str(data), "--port", "0", *options]
    return subprocess.run(
        [sys.executable, "-m", "headrace", "up", *words],
        capture_output=True,
        text=True,
        timeout=60,
    )


def complaint(result: subprocess.CompletedProcess[str], code: int = 1) -> str:
    assert result.returncode == code, result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.stderr
    return lines[0]


def test_two_brokers_on_one_folder(tmp_path: Path) -> None:
    """The second broker is refused by a lock and harms nothing of the first."""
    with Broker(data=tmp_path):
        said = complaint(start(tmp_path))
    assert "in use" in said
    assert "stop" in said


def test_a_foreign_cluster_id(tmp_path: Path) -> None:
    """A directory of another cluster is not touched."""
    with Broker(data=tmp_path):
        pass
    meta = tmp_path / "meta.properties"
    text = meta.read_text()
    cluster_id = next(line for line in text.splitlines() if line.startswith("cluster.id"))
    meta.write_text(text.replace(cluster_id, "cluster.id=somebody-elses"))
    said = complaint(start(tmp_path))
    assert "somebody-elses" in said
    assert "log.dirs" in said


def test_a_foreign_broker_id(tmp_path: Path) -> None:
    """A directory of another broker of the cluster is not touched."""
    with Broker({"broker.id": 5}, data=tmp_path):
        pass
    said = complaint(start(tmp_path, "--set", "broker.id=6"))
    assert "belongs to broker 5" in said


def test_a_garbled_meta_properties(tmp_path: Path) -> None:
    """A meta.properties that makes no sense is named, with the remedy."""
    (tmp_path / "meta.properties").write_text("version=99\n")
    assert "meta.properties" in complaint(start(tmp_path))


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """The port is named, before anything is recovered or written."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = complaint(start(tmp_path, "--port", str(port)))
    assert str(port) in said
    assert "--port" in said


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    """A data path without write permission is named."""
    tmp_path.chmod(0o500)
    # Root may write to any folder, but not make one where the kernel keeps its own.
    folder = tmp_path if os.geteuid() else Path("/proc/headrace")
    assert str(folder) in complaint(start(folder))


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    """A data path that cannot be a folder is named."""
    path = tmp_path / "file"
    path.write_text("")
    assert str(path) in complaint(start(path))


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("num.partitions=many", "num.partitions"),
        ("listeners=PLAINTEXT://nowhere", "listeners"),
        ("listeners=SECURE://:9092", "listeners"),
        ("log.segment.bytes=7", "log.segment.bytes"),
    ],
)
def test_invalid_settings(tmp_path: Path, setting: str, named: str) -> None:
    """An invalid value names the key, the value and what is allowed."""
    said = complaint(start(tmp_path, "--set", setting))
    assert named in said
    assert setting.partition("=")[2] in said


def test_an_unknown_setting_only_warns(tmp_path: Path) -> None:
    """A key that nobody reads is a warning, so that an old server.properties still works."""
    with Broker({"no.such.key": "1"}, data=tmp_path) as broker:
        broker.await_output("no.such.key")


@pytest.mark.spec("admin:RQ-15")
@pytest.mark.parametrize("key", ["inter.broker.listener.name", "control.plane.listener.name"])
def test_a_listener_that_does_not_exist(tmp_path: Path, key: str) -> None:
    """A listener for other brokers must be one of `listeners`."""
    said = complaint(start(tmp_path, "--set", f"{key}=NOSUCH"))
    assert key in said
    assert "NOSUCH" in said
