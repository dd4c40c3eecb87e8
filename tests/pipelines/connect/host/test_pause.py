"""Tasks that are paused, and go on where they were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state.records import State
from tests.pipelines.connect.host.running import Tasks, numbers, patiently
from tests.pipelines.connect.worker.running import write

Hosts = Callable[..., Tasks]


def test_a_paused_source_does_not_poll_and_keeps_its_place(
    hosts: Hosts, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """Another task of the same host goes on meanwhile."""
    tasks = hosts()
    polls = tmp_path / "polls"
    counting = tasks.counting("in", topic, upto=1_000_000, rows=1)
    task = tasks.start(tasks.spec("in", counting))
    tasks.until(task, State.RUNNING)
    patiently(lambda: len(numbers(bootstrap, topic)) > 3)
    tasks.launcher.pause([task])
    tasks.until(task, State.RUNNING, State.PAUSED)
    polled, sent = polls.read_text(), numbers(bootstrap, topic)
    (tmp_path / "other").mkdir()
    other = tasks.counting("other", f"{topic}-other", upto=100, rows=1)
    tasks.start(tasks.spec("other", other | {"folder": str(tmp_path / "other")}))
    patiently(lambda: len(numbers(bootstrap, f"{topic}-other")) == 100)
    assert (polls.read_text(), numbers(bootstrap, topic)) == (polled, sent)
    tasks.launcher.resume([task])
    tasks.until(task, State.RUNNING, State.PAUSED, State.RUNNING)
    patiently(lambda: len(numbers(bootstrap, topic)) > len(sent))
    found = numbers(bootstrap, topic)
    assert found == list(range(len(found)))
    assert tasks.launcher.stop([task], 60) == []
    assert tasks.states[task][-1] is State.UNASSIGNED
    assert (task, topic) in tasks.topics


def test_a_paused_sink_keeps_its_partitions(
    hosts: Hosts, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """It takes part in a rebalance, and what it was dealt waits for it."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(60)
    tasks = hosts()
    config = {"connector.class": "FileStreamSink", "topics": topic}
    first, second = tmp_path / "first", tmp_path / "second"
    paused = tasks.start(tasks.spec("out", config | {"file": str(first)}))
    tasks.until(paused, State.RUNNING)
    for number in range(20):
        write(bootstrap, topic, b"before", key=b"%d" % number)
    patiently(lambda: first.exists() and len(first.read_bytes().splitlines()) == 20)
    tasks.launcher.pause([paused])
    tasks.until(paused, State.RUNNING, State.PAUSED)
    tasks.start(tasks.spec("out", config | {"file": str(second)}, number=1))
    tasks.until(TaskId("out", 1), State.RUNNING)
    for number in range(20):
        write(bootstrap, topic, b"%d" % number, key=b"%d" % number)
    patiently(lambda: second.exists() and len(second.read_bytes().splitlines()) > 0)
    tasks.launcher.resume([paused])
    tasks.until(paused, State.RUNNING, State.PAUSED, State.RUNNING)

    def both() -> list[bytes]:
        return [*first.read_bytes().splitlines()[20:], *second.read_bytes().splitlines()]

    patiently(lambda: len(both()) >= 20)
    assert sorted(both()) == sorted(b"%d" % number for number in range(20))
    assert len(first.read_bytes().splitlines()) > 20, "the paused one had no partition"


def test_a_task_that_starts_paused_opens_nothing(
    hosts: Hosts, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    tasks = hosts()
    spec = tasks.spec("in", tasks.counting("in", topic, upto=10), paused=True)
    task = tasks.start(spec)
    tasks.until(task, State.PAUSED)
    assert not (tmp_path / "polls").exists()
    tasks.launcher.resume([task])
    tasks.until(task, State.PAUSED, State.RUNNING)
    patiently(lambda: numbers(bootstrap, topic) == list(range(10)))


def test_a_paused_task_can_be_stopped(hosts: Hosts, topic: str) -> None:
    tasks = hosts()
    task = tasks.start(tasks.spec("in", tasks.counting("in", topic), paused=True))
    tasks.until(task, State.PAUSED)
    assert tasks.launcher.stop([task], 60) == []
    assert tasks.states[task] == [State.PAUSED, State.UNASSIGNED]
