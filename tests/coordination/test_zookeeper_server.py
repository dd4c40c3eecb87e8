"""Real ZooKeeper servers that we start: their files, their ports, their ends."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headrace.coordination.zookeeper import connect, jars
from headrace.coordination.zookeeper.server import (
    PortTaken,
    ServerFailed,
    ZooKeeperServer,
    class_path,
    free_port,
    start_ensemble,
)
from headrace.errors import ConfigError


@pytest.mark.spec("slides:B40")
def test_servers_on_one_host_do_not_know_each_other(
    tmp_path: Path, zookeeper: ZooKeeperServer
) -> None:
    """Separate ports and folders are separate trees; a server keeps both over a restart."""
    server = ZooKeeperServer(tmp_path, properties={"4lw.commands.whitelist": "ruok"})
    with pytest.raises(ServerFailed, match="not known before"):
        _ = server.port
    with server:
        port = server.port
        assert port != zookeeper.port
        assert server.probe("ruok") == "imok"
        with contextlib.closing(connect(server.connect_string)) as tree:
            tree.create("/only-here", b"x")
        with contextlib.closing(connect(zookeeper.connect_string)) as tree:
            assert not tree.exists("/only-here")
        server.stop()
        assert not server.running
        assert server.probe() == ""
        server.start()
        server.start()
        assert server.port == port
        with contextlib.closing(connect(server.connect_string)) as tree:
            assert tree.get("/only-here").data == b"x"
        server.kill()
        with pytest.raises(ServerFailed, match="not running"):
            _ = server.pid


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    """Nothing is started beside somebody else's listener."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = ZooKeeperServer(tmp_path, client_port=port)
        with pytest.raises(PortTaken, match=f"127.0.0.1:{port} is taken"):
            server.start()
    assert not server.running
    assert free_port("127.0.0.1") != port


def test_a_server_that_cannot_start_has_its_last_words_quoted(tmp_path: Path) -> None:
    """A property that ZooKeeper refuses is found in the error, with the log's place."""
    server = ZooKeeperServer(tmp_path, properties={"tickTime": "often"})
    with pytest.raises(ServerFailed, match="ended while it was starting") as caught:
        server.start()
    assert 'For input string: "often"' in str(caught.value)
    assert str(server.log_path) in str(caught.value)


def test_an_ensemble_of_none_is_refused(tmp_path: Path) -> None:
    """There is no quorum of nobody."""
    with pytest.raises(ConfigError, match="at least one"):
        start_ensemble(tmp_path, 0)


def test_a_server_may_end_with_the_process_that_started_it(tmp_path: Path) -> None:
    """A killed `headrace zookeeper` leaves no JVM behind."""
    program = f"""
import sys
from headrace.coordination.zookeeper.server import ZooKeeperServer
server = ZooKeeperServer({str(tmp_path)!r}, ends_with_starter=True)
server.start()
print(server.pid, flush=True)
sys.stdin.read()
"""
    starter = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    assert starter.stdin is not None
    pid = int(starter.stdout.readline())
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    starter.stdin.close()
    deadline = time.monotonic() + 20
    while _is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_jars_are_found_where_somebody_put_them(tmp_path: Path) -> None:
    """ZOOKEEPER_HOME, CLASSPATH, PySpark's, the system's: in this order."""
    (tmp_path / "lib").mkdir()
    for name in ("zookeeper-3.9.3.jar", "logback-core.jar"):
        (tmp_path / "lib" / name).touch()
    home = {"ZOOKEEPER_HOME": str(tmp_path), "CLASSPATH": "/x/zookeeper.jar"}
    assert jars.class_path(home).count(".jar") == 2
    assert (
        jars.class_path({"CLASSPATH": "/x/a.jar:/x/zookeeper.jar"}) == "/x/a.jar:/x/zookeeper.jar"
    )
    assert jars.class_path({"CLASSPATH": "/x/a.jar"}) == class_path()
    assert "zookeeper-jute" in class_path()
    with pytest.raises(ConfigError, match="no zookeeper jar"):
        jars.class_path({"ZOOKEEPER_HOME": str(tmp_path / "nowhere")})


def test_no_jars_say_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PySpark the system's jars are taken; without those the error has three remedies."""
    monkeypatch.setattr(jars, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install headrace\[spark\]"):
        jars.class_path({}, places=[str(tmp_path)])
    (tmp_path / "zookeeper.jar").touch()
    (tmp_path / "slf4j-api.jar").touch()
    assert jars.class_path({}, places=[str(tmp_path)]).endswith("slf4j-api.jar")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An orphan that nobody reaps yet is as good as gone.
    return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
