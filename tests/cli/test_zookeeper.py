"""`headrace zookeeper` as a process: it says when it is ready, and ends when it is told to."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from headrace.cli.kafka_compat import zookeeper_server
from headrace.coordination.tree import NodeExists, OutcomeUnknown, Unreachable
from headrace.coordination.zookeeper import connect
from tests.cli.conftest import Headrace

READY = re.compile(r"zookeeper ready on (\S+)\n")


@contextlib.contextmanager
def running(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace", "zookeeper", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        match = READY.fullmatch(_stream(process.stdout).readline())
        assert match is not None, _stream(process.stderr).read()
        yield process, match[1]
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_it_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """The address works for zookeeper.connect; after Ctrl-C no server is left."""
    with running("--data", str(tmp_path), "--port", "0") as (process, address):
        with contextlib.closing(connect(address)) as tree:
            tree.create("/a", b"")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        assert not _pids(tmp_path)


@pytest.mark.spec("admin:RC-43")
def test_an_ensemble_mends_itself(tmp_path: Path) -> None:
    """One server of three is killed: the others serve on, and it is started again."""
    file = tmp_path / "zookeeper.properties"
    file.write_text(f"dataDir={tmp_path}\ntickTime=250\nsyncLimit=20\n")
    with running("--config", str(file), "--port", "0", "--servers", "3") as (process, address):
        assert address.count(":") == 3
        with contextlib.closing(connect(address)) as tree:
            tree.create("/before", b"")
            (pid,) = _pids(tmp_path / "zookeeper-1")
            os.kill(pid, signal.SIGKILL)
            line = _stream(process.stderr).readline()
            assert "ended and was started again" in line
            for _ in range(5):
                with contextlib.suppress(OutcomeUnknown, Unreachable, NodeExists):
                    tree.create("/after", b"")
                    break
            assert set(tree.children("/")) >= {"before", "after"}
        assert _pids(tmp_path / "zookeeper-1") not in ([], [pid])


def test_the_file_is_obeyed_and_the_end_of_the_server_is_the_end(tmp_path: Path) -> None:
    """--port wins over the file's clientPort. Whoever supervises it sees when ZooKeeper is gone."""
    file = tmp_path / "zookeeper.properties"
    data = tmp_path / "data"
    file.write_text(f"dataDir={data}\nclientPort=2181\nmaxClientCnxns=7\n")
    with running("--config", str(file), "--port", "0") as (process, address):
        assert not address.endswith(":2181")
        assert "maxClientCnxns=7\n" in (data / "zoo.cfg").read_text()
        (pid,) = _pids(data)
        os.kill(pid, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "ZooKeeper ended by itself" in err


def test_a_taken_port_is_one_line(headrace: Headrace, tmp_path: Path) -> None:
    """The usual mistake, a second server, is told with its remedy."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = headrace("zookeeper", "--data", str(tmp_path), "--port", str(port))
    assert (done.code, done.out) == (1, "")
    assert f"127.0.0.1:{port} is taken" in done.err
    assert done.err.count("\n") == 1


def test_wrong_usage_is_named(headrace: Headrace, tmp_path: Path) -> None:
    """A port that is none, a file that is not there, an ensemble of nobody."""
    file = tmp_path / "zookeeper.properties"
    file.write_text("clientPort=many\n")
    assert headrace("zookeeper", "--servers", "0").code == 2
    done = headrace("zookeeper", "--config", str(file), "--data", str(tmp_path))
    assert done.code == 2
    assert 'clientPort "many" is not a port' in done.err
    assert headrace("zookeeper", "--config", str(tmp_path / "nowhere")).code == 2
    assert "headrace zookeeper --servers 3" in headrace("zookeeper", "--help").out


def _pids(folder: Path) -> list[int]:
    return list(zookeeper_server._servers(Path("/proc"), str(folder / "zoo.cfg")))


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
