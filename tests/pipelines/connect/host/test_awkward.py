"""Connectors that misbehave: each has its own trouble, which is seen, and harms nobody else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.client.cluster import Cluster
from headrace.client.group_offsets import committed_offsets
from headrace.client.settings import client_settings
from headrace.pipelines.connect.model.batch import Position
from headrace.pipelines.connect.state.records import State
from tests.pipelines.connect.host.running import Tasks, numbers, patiently
from tests.pipelines.connect.worker.running import write

pytestmark = pytest.mark.timeout(300)
Hosts = Callable[..., Tasks]
HERE = Path(__file__).with_name("awkward.py")


def awkward(topic: str, folder: Path, does: str) -> dict[str, str]:
    """The settings of a source that misbehaves."""
    return {
        "connector.class": f"{HERE}:Awkward",
        "topic": topic,
        "folder": str(folder),
        "does": does,
    }


@pytest.mark.parametrize(
    ("does", "told"),
    [("panic", "Panic: called `Option"), ("exit", "SystemExit: 3"), ("mumble", r"\udcff")],
)
@pytest.mark.parametrize("runtime", ["thread", "process"])
def test_whatever_ends_a_task_is_seen(
    hosts: Hosts, tmp_path: Path, topic: str, runtime: str, does: str, told: str
) -> None:
    """Also what is no `Exception`, and words that UTF-8 has no bytes for."""
    tasks = hosts(runtime)
    task = tasks.start(tasks.spec("bad", awkward(topic, tmp_path, does)))
    tasks.until(task, State.RUNNING, State.FAILED)
    assert told in tasks.traces[0]
    tasks.traces[0].encode()


@pytest.mark.parametrize("runtime", ["thread", "process"])
def test_a_task_that_was_left_alone_keeps_no_offsets(
    hosts: Hosts, bootstrap: str, tmp_path: Path, topic: str, runtime: str
) -> None:
    """Its successor is further by the time that it ends."""
    os.mkfifo(tmp_path / "free")
    os.mkfifo(tmp_path / "closed")
    tasks = hosts(runtime)
    deaf = tasks.start(tasks.spec("in", awkward(topic, tmp_path, "deaf")))
    tasks.until(deaf, State.RUNNING)
    with (tmp_path / "free").open("wb"):  # it has come to the pipe
        assert tasks.launcher.stop([deaf], 0.1) == [deaf]
        spec = tasks.spec("in", tasks.counting("in", topic, upto=20))
        tasks.start(spec)
        place = {"source": "numbers"}
        patiently(lambda: spec.offsets.read(place) == {"next": 20}, lambda: tasks.traces)
    (tmp_path / "closed").read_bytes()
    assert spec.offsets.read(place) == {"next": 20}


def times_put(files: list[Path]) -> int:
    """How often the rarest of twenty records is in these files."""
    lines = [line for file in files if file.exists() for line in file.read_text().split()]
    return min(lines.count(str(number)) for number in range(20))


def test_a_sink_that_cannot_flush_gives_its_partitions_up_all_the_same(
    hosts: Hosts, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """Nothing is committed, so that whoever gets them puts their records again."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(60)
    refuse = tmp_path / "refuse"
    refuse.touch()
    tasks = hosts()
    config = {"connector.class": f"{HERE}:Fussy", "topics": topic, "refuse": str(refuse)}
    files = [tmp_path / "first", tmp_path / "second"]
    for number in range(20):
        write(bootstrap, topic, b"%d" % number, key=b"%d" % number)
    started = []
    for number, file in enumerate(files):
        spec = tasks.spec(topic, config | {"file": str(file)}, number=number)
        started.append(tasks.start(replace(spec, flush_interval_ms=3_600_000)))
        patiently(lambda so_far=files[: number + 1]: times_put(so_far) >= 1, lambda: tasks.traces)  # type: ignore[misc]

    patiently(lambda: files[1].exists(), lambda: tasks.traces)
    assert tasks.states[started[0]] == [State.RUNNING], tasks.traces
    refuse.unlink()
    # Those of the first member were put once before it gave its partitions up, and all once more.
    patiently(lambda: times_put(files) >= 2, lambda: tasks.traces)
    assert tasks.launcher.stop(started, 60) == []
    assert tasks.states[started[0]] == [State.RUNNING, State.UNASSIGNED], tasks.traces
    settings, _ = client_settings({"bootstrap.servers": bootstrap})
    cluster = Cluster(settings)
    try:
        kept = committed_offsets(cluster, f"connect-{topic}")
    finally:
        cluster.close()
    assert sum(offset for offset, _ in kept.values()) == 20


class Far:
    """Offsets that no frame can carry."""

    def read(self, partition: Position) -> Mapping[str, object] | None:
        return {"next": 1 << 70}

    def keep(self, offsets: list[tuple[Position, Position]]) -> None:
        raise AssertionError("nothing is kept")


def test_an_offset_that_cannot_be_told_fails_its_task(
    hosts: Hosts, tmp_path: Path, topic: str
) -> None:
    """It does not wait for an answer that never comes."""
    tasks = hosts("process")
    spec = tasks.spec("in", tasks.counting("in", topic))
    task = tasks.start(replace(spec, offsets=Far()))
    tasks.until(task, State.FAILED)
    assert "OverflowError" in tasks.traces[0]


def test_hosts_that_were_closed_are_launched_again(
    hosts: Hosts, bootstrap: str, topic: str
) -> None:
    """A worker that lost its session stops everything, and has work again later."""
    tasks = hosts("process")
    spec = tasks.spec("in", tasks.counting("in", topic, upto=10))
    task = tasks.start(spec)
    tasks.until(task, State.RUNNING)
    tasks.launcher.close(60)
    assert tasks.launcher.tasks == []
    tasks.start(spec)
    tasks.until(task, State.RUNNING, State.UNASSIGNED, State.RUNNING)
    patiently(lambda: numbers(bootstrap, topic)[-1:] == [9], lambda: tasks.traces)
