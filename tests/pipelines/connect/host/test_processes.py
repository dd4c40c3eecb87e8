"""Hosts that are processes of their own: killed, orphaned, shared or not."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import pytest

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.host.control import Address, Channel, FromHost, Hello
from headrace.pipelines.connect.state.records import State
from headrace.pipelines.connect.worker import remote_host
from headrace.pipelines.connect.worker.processes import ChildProcess
from headrace.pipelines.connect.worker.remote_host import Listeners, RemoteHost
from tests.pipelines.connect.host.running import PATIENCE_S, STRINGS, Tasks, numbers, patiently

Hosts = Callable[..., Tasks]
ENDLESS = {"upto": 10_000_000, "rows": 1}


def pid_of(folder: Path, connector: str) -> int:
    """The process of a connector's task, which has begun."""
    path = folder / f"{connector}.pid"
    patiently(lambda: path.exists() and path.read_text().isdecimal(), lambda: path)
    return int(path.read_text())


def kill(folder: Path, connector: str) -> None:
    """Kill the process of a task."""
    process = pid_of(folder, connector)
    (folder / f"{connector}.pid").unlink()
    os.kill(process, signal.SIGKILL)


def is_gone(process: int) -> bool:
    """Whether a process has ended, awaited by somebody or not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def grows(bootstrap: str, topic: str, tasks: Tasks) -> None:
    """Wait for more numbers in a topic."""
    before = len(numbers(bootstrap, topic))
    patiently(lambda: len(numbers(bootstrap, topic)) > before, lambda: tasks.traces)


def test_a_killed_host_loses_nothing(
    hosts: Hosts, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """Its tasks are FAILED until it is back; what was not committed is polled again. A task that
    had failed by itself before stays as it is."""
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "fail").write_text("1")
    tasks = hosts("process")
    task = tasks.start(tasks.spec(topic, tasks.counting(topic, topic, **ENDLESS)))
    bad = tasks.start(
        tasks.spec("bad", tasks.counting("bad", topic) | {"folder": str(tmp_path / "bad")})
    )
    tasks.until(bad, State.RUNNING, State.FAILED)
    grows(bootstrap, topic, tasks)
    kill(tmp_path, topic)
    tasks.until(task, State.RUNNING, State.FAILED, State.RUNNING)
    assert "has died (signal SIGKILL); it is started again in 1 s" in tasks.traces[1]
    grows(bootstrap, topic, tasks)
    assert tasks.launcher.stop([task], 60) == []
    found = numbers(bootstrap, topic)
    assert sorted(set(found)) == list(range(max(found) + 1))
    assert tasks.states[bad] == [State.RUNNING, State.FAILED]


@pytest.mark.parametrize("kills", [1, pytest.param(50, marks=pytest.mark.thorough)])
def test_killed_hosts_write_each_record_once(
    hosts: Hosts, bootstrap: str, tmp_path: Path, topic: str, kills: int
) -> None:
    tasks = hosts("process")
    task = tasks.start(tasks.spec(topic, tasks.counting(topic, topic, **ENDLESS), once=True))
    for _ in range(kills):
        grows(bootstrap, topic, tasks)
        kill(tmp_path, topic)
    grows(bootstrap, topic, tasks)
    assert tasks.launcher.stop([task], 60) == []
    found = numbers(bootstrap, topic)
    assert found == list(range(len(found)))
    assert tasks.states[task].count(State.FAILED) >= kills, "every death is told"


def test_a_host_that_takes_nothing_is_launched_again(
    hosts: Hosts, tmp_path: Path, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped, and what it is told fills the buffers between: nobody waits for it longer
    than a moment, and its tasks run in the next one."""
    monkeypatch.setattr(remote_host, "_SEND_S", 1.0)
    tasks = hosts("process")
    first = tasks.start(tasks.spec("in", tasks.counting("in", topic)))
    tasks.until(first, State.RUNNING)
    process = pid_of(tmp_path, "in")
    (tmp_path / "in.pid").unlink()
    os.kill(process, signal.SIGSTOP)
    large = tasks.counting("large", topic) | {"padding": "x" * (15 << 20)}
    starting = threading.Thread(target=tasks.start, args=(tasks.spec("large", large),), daemon=True)
    starting.start()
    starting.join(PATIENCE_S / 2)
    try:
        assert not starting.is_alive()
        tasks.until(first, State.RUNNING, State.FAILED, State.RUNNING)
        tasks.until(TaskId("large", 0), State.FAILED, State.RUNNING)
    finally:
        if not is_gone(process):
            os.kill(process, signal.SIGKILL)


def test_a_task_that_no_frame_can_carry_harms_no_other(hosts: Hosts, topic: str) -> None:
    """It is refused before the host that they share hears of it."""
    tasks = hosts("process")
    large = tasks.counting("large", topic) | {"padding": "x" * (17 << 20)}
    refused = tasks.start(tasks.spec("large", large))
    tasks.until(refused, State.FAILED)
    assert "the settings of task large-0 are too large" in tasks.traces[0]
    other = tasks.start(tasks.spec("in", tasks.counting("in", topic)))
    tasks.until(other, State.RUNNING)
    assert tasks.states == {refused: [State.FAILED], other: [State.RUNNING]}
    assert tasks.launcher.stop([refused, other], 60) == []


@pytest.mark.thorough
def test_a_host_to_itself(hosts: Hosts, tmp_path: Path, topic: str) -> None:
    """Others share one; it ends with its task."""
    tasks = hosts("process")
    for name in ("a", "b"):
        tasks.start(tasks.spec(name, tasks.counting(name, topic)))
    own = tasks.counting("own", topic, headrace_isolation="own")
    task = tasks.start(tasks.spec("own", own))
    shared = pid_of(tmp_path, "a")
    assert pid_of(tmp_path, "b") == shared
    alone = pid_of(tmp_path, "own")
    assert alone != shared
    tasks.until(task, State.RUNNING)
    assert tasks.launcher.stop([task], 60) == []
    assert is_gone(alone)
    assert not is_gone(shared)


def test_a_host_ends_with_its_worker(bootstrap: str, tmp_path: Path, topic: str) -> None:
    """Even if the worker is killed."""
    connector = {
        "name": "in",
        "connector.class": str(Path(__file__).with_name("counting.py")) + ":Counting",
        "topic": topic,
        "folder": str(tmp_path),
    }
    worker = {
        "bootstrap.servers": bootstrap,
        "key.converter": STRINGS,
        "value.converter": STRINGS,
        "offset.storage.file.filename": str(tmp_path / "offsets"),
        "headrace.runtime": "process",
    }
    script = (
        "from headrace.cli.connect_worker import serve\n"
        f"serve({worker!r}, [('the test', {connector!r})])\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL) as running:
        try:
            host = pid_of(tmp_path, "in")
        finally:
            running.kill()
    patiently(lambda: is_gone(host))


def test_only_the_host_that_was_launched_is_served(hosts: Hosts, topic: str) -> None:
    """The first launch fails, and with it the task. Before the second host somebody comes who does
    not know the token. The task can be paused and resumed where it runs."""
    tasks = hosts()
    task = TaskId("in", 0)
    told: SimpleQueue[tuple[State, str | None]] = SimpleQueue()
    strangers: list[socket.socket] = []
    has_task = threading.Event()
    launches = itertools.count()

    def launch(address: Address, token: str) -> ChildProcess:
        if next(launches) == 0:
            assert has_task.wait(60)
            raise OSError("no memory")
        strangers.append(socket.create_connection(address))
        channel: Channel[FromHost] = Channel(strangers[-1], FromHost)
        channel.send(Hello("gu\u00e9ss"))
        return ChildProcess(address, token)

    def on_state(task: TaskId, state: State, trace: str | None) -> None:
        told.put((state, trace))

    host = RemoteHost(launch, Listeners(on_state, lambda name: None))
    try:
        host.start(tasks.spec("in", tasks.counting("in", topic)))
        has_task.set()
        state, trace = told.get(timeout=PATIENCE_S)
        assert state is State.FAILED
        assert "has died (it cannot be launched: no memory)" in str(trace)
        assert told.get(timeout=PATIENCE_S) == (State.RUNNING, None)
        strangers[0].settimeout(PATIENCE_S)
        assert strangers[0].recv(1) == b""
        host.pause([task])
        assert told.get(timeout=PATIENCE_S) == (State.PAUSED, None)
        host.resume([task])
        assert told.get(timeout=PATIENCE_S) == (State.RUNNING, None)
        assert host.tasks == [task]
    finally:
        host.close(60)
        for each in strangers:
            each.close()
    assert told.get(timeout=PATIENCE_S) == (State.UNASSIGNED, None)
