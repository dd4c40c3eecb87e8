"""The supervisor of `headrace up` (with services of `supervised`), and the three real ones."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headrace.cli import up
from headrace.cli.failures import Failure
from tests.client.listeners import unused_port

WAIT_S = 30


class Run:
    """A supervisor in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self._stdout = process.stdout

    def line(self) -> str:
        return self._stdout.readline().rstrip("\n")

    def pid_of(self, line: str) -> int:
        return int(line.rpartition("pid=")[2])

    def finish(self) -> tuple[int, list[str], str]:
        out, err = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, out.splitlines(), err


@contextmanager
def story(name: str) -> Iterator[Run]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.cli.supervised", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        try:
            yield Run(process)
        finally:
            process.kill()


def await_end(pid: int) -> None:
    """Return when a process that is not our child is gone."""
    descriptor = os.pidfd_open(pid)
    try:
        assert select.select([descriptor], [], [], WAIT_S)[0], f"{pid} lives on"
    finally:
        os.close(descriptor)


@pytest.mark.spec("admin:RQ-29")
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_services_start_by_need_and_stop_in_reverse(stop: signal.Signals) -> None:
    """Each is told the addresses before it; the last one started is the first one stopped."""
    with story("three") as run:
        lines = [run.line() for _ in range(4)]
        assert lines[0].startswith("broker ready on 127.0.0.1:5")
        assert lines[1].startswith("registry ready on http://h:2")
        assert lines[2] == "known [('broker', '127.0.0.1:5'), ('registry', 'http://h:2')]"
        assert lines[3].startswith("rest ready on http://h:3")
        run.process.send_signal(stop)
        code, rest, err = run.finish()
    assert (code, err) == (0, "")
    assert rest == [
        "stopped ready rest http://h:3",
        "stopped ready registry http://h:2",
        "stopped broker ready on 127.0.0.1:5",
    ]


def test_a_service_that_dies_is_started_again() -> None:
    """It is told how it died, and the others do not notice."""
    with story("three") as run:
        lines = [run.line() for _ in range(4)]
        os.kill(run.pid_of(lines[1]), signal.SIGKILL)
        again = run.line()
        assert again.startswith("registry ready on http://h:2")
        assert run.pid_of(again) != run.pid_of(lines[1])
        run.process.terminate()
        code, rest, err = run.finish()
    assert code == 0
    assert err == ("headrace: service registry was killed by SIGKILL; restarting in 0.01 s\n")
    assert len(rest) == 3


def test_no_child_outlives_a_parent_that_is_killed() -> None:
    """The kernel asks each child to stop, which it does in order."""
    with story("three") as run:
        pids = [run.pid_of(line) for line in (run.line() for _ in range(4)) if "pid=" in line]
        assert len(pids) == 3
        run.process.kill()
        for pid in pids:
            await_end(pid)


def test_a_broker_that_cannot_start_ends_the_command() -> None:
    """Its own line is the whole complaint, its exit code that of the command."""
    with story("no broker") as run:
        assert run.finish() == (1, [], "headrace: it cannot be; let it be\n")


def test_a_service_that_cannot_start_is_given_up_and_the_rest_runs_on() -> None:
    """Five times it is tried; whoever waited for its address starts without."""
    with story("no registry") as run:
        lines = [run.line() for _ in range(3)]
        assert lines[1] == "known [('broker', '127.0.0.1:5')]"
        assert lines[2].startswith("rest ready on")
        run.process.terminate()
        code, _, err = run.finish()
    assert code == 0
    assert err.count("it cannot be") == 5
    assert err.endswith("service registry failed to start 5 times, giving up\n")


@pytest.mark.parametrize(
    ("address", "listeners"),
    [
        (None, "PLAINTEXT://[::1]:0,B://h:0"),
        ("[::1]:4711", "PLAINTEXT://[::1]:4711,B://h:0"),
    ],
)
def test_a_broker_that_is_started_again_keeps_its_port(address: str | None, listeners: str) -> None:
    """Port 0 means a free one once, not another one each time."""
    settings = {"listeners": "PLAINTEXT://[::1]:0,B://h:0", "a": "b"}
    assert up.pinned(settings, address) == {"listeners": listeners, "a": "b"}


def test_services_find_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever listens everywhere is reached here; without a broker of its own it has --port."""
    monkeypatch.delenv("SCHEMA_REGISTRY_URL", raising=False)
    known = {"broker": "0.0.0.0:9099", "registry": "http://127.0.0.1:8081"}
    request = up.Request(host="0.0.0.0")
    rest = up.http_settings(request, "rest", 8082, known)
    assert rest == {
        "listeners": "http://0.0.0.0:8082",
        "schema.registry.url": "http://127.0.0.1:8081",
        "bootstrap.servers": "127.0.0.1:9099",
    }
    registry = up.http_settings(up.Request(port="9093"), "registry", 8081, {})
    assert registry["kafkastore.bootstrap.servers"] == "127.0.0.1:9093"
    assert "schema.registry.url" not in up.http_settings(request, "rest", 1, {})


@contextmanager
def headrace_up(*words: str) -> Iterator[Run]:
    with subprocess.Popen(
        [sys.executable, "-m", "headrace", "up", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Run(process)
        finally:
            process.kill()


ANY_PORTS = tuple(
    word for name in ("", "registry-", "rest-", "connect-") for word in (f"--{name}port", "0")
)


def test_up_runs_all_services(tmp_path: Path) -> None:
    """One line each with an address that answers; a signal ends all with exit code 0."""
    with headrace_up("--data", str(tmp_path), *ANY_PORTS) as run:
        ready = {line.split()[0]: line.split()[3] for line in (run.line() for _ in range(5))}
        assert ready.keys() == {"broker", "metrics", "registry", "rest", "connect"}
        asked = {"registry": "subjects", "rest": "topics", "connect": "connectors"}
        for path in (f"{ready[name]}/{noun}" for name, noun in asked.items()):
            with urllib.request.urlopen(path, timeout=WAIT_S) as answer:
                assert answer.status == 200
        run.process.terminate()
        assert run.finish() == (0, [], "")
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_a_taken_port_leaves_one_service_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A default port costs the service, a port that was asked for the whole command."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setitem(up.DEFAULT_PORTS, "registry", port)
        assert up._http_service(up.Request(), "registry", port) is None
        assert capsys.readouterr().err == (
            f"headrace: service registry cannot listen on 127.0.0.1:{port}, which is in use, and "
            "is left out; --registry-port 0 takes a free port\n"
        )
        with pytest.raises(Failure, match="which is in use; --rest-port 0"):
            up._http_service(up.Request(rest_port=str(port)), "rest", port)
    assert up._http_service(up.Request(), "rest", unused_port()) is not None


def test_a_line_is_one_write(tmp_path: Path) -> None:
    """Lines of several processes on one terminal do not run into each other, buffered or not."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # Log lines come from the services themselves, ready lines through the supervisor.
    settings = ("--set", "unknown.key=1", "--log-level", "info")
    with ours, theirs:
        ours.settimeout(120)
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "headrace",
                "up",
                "--data",
                str(tmp_path),
                *ANY_PORTS,
                *settings,
            ],
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=theirs.fileno(),
            stderr=theirs.fileno(),
        )
        try:
            writes: list[bytes] = []
            while sum(b" ready on " in each for each in writes) < 5:
                writes.append(ours.recv(1 << 16))
        finally:
            process.terminate()
            assert process.wait(120) == 0
    assert [each for each in writes if not each.endswith(b"\n")] == []
    assert [each for each in writes if each.count(b"ready on") > 1] == []
