"""Workers of Apache Kafka and ours on the same topics: one after the other, and in one group."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from headrace.pipelines.connect.worker.herding import worker_id
from tests.kafka.apache_kafka import _free_ports
from tests.pipelines.connect.worker.clustering import sink, source, until, worker_settings
from tests.pipelines.connect.worker.processes import Process, asked, ours, real

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(1200)]
LINES = 30_000


class Cluster:
    """Workers of one group, each of whom ends with the test."""

    def __init__(self, bootstrap: str, group: str, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._group = group
        self._folder = folder
        self.started: list[Process] = []

    def settings(self) -> dict[str, str]:
        (port,) = _free_ports(1)
        listeners = {"listeners": f"http://127.0.0.1:{port}"}
        return worker_settings(self._bootstrap, self._group, **listeners)

    def ours(self, settings: dict[str, str]) -> Process:
        return self._kept(ours(settings, self._folder, f"ours-{len(self.started)}"))

    def real(self, settings: dict[str, str]) -> Process:
        return self._kept(real(settings, self._folder, f"real-{len(self.started)}"))

    def _kept(self, made: Process) -> Process:
        self.started.append(made)
        return made


@pytest.fixture
def cluster(bootstrap: str, topic: str, tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(bootstrap, f"g-{topic}", tmp_path)
    yield made
    for process in made.started:
        process.stop(kill=True)


def append(file: Path, label: str) -> None:
    with file.open("a") as lines:
        lines.writelines(f"{label} {number}\n" for number in range(LINES))


def size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def is_longer(file: Path, than: int) -> bool:
    return size(file) > than


def created(url: str, name: str, config: dict[str, str]) -> None:
    def create() -> bool:
        code, told = asked(url, "POST", "/connectors", {"name": name, "config": config})
        assert code in (201, 409), told  # 409: a rebalance is under way, or it was created
        return code == 201 or "already exists" in str(told)

    until(f"{name} is created", create)


def test_a_copy_is_taken_over_both_ways(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    """Real to ours to real to ours, in the middle of a copy: the files are equal."""
    before, after = tmp_path / "before", tmp_path / "after"
    settings = cluster.settings()
    append(before, "first")
    worker = cluster.real(settings)
    created(settings["listeners"], "s", source(before, topic, **{"batch.size": "200"}))
    created(settings["listeners"], "k", sink(after, topic))
    for number, start in enumerate((cluster.ours, cluster.real, cluster.ours)):
        until("lines come", partial(is_longer, after, size(after)))
        append(before, f"part {number}")
        worker.stop()
        worker = start(settings)
    until("all lines come", lambda: size(after) >= size(before))
    worker.stop()
    assert after.read_text() == before.read_text()


def test_one_real_worker_and_one_of_ours_share(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    """The real one leads and is asked; ours divides its connectors and has it write their tasks,
    signed. Each takes over from the other."""
    real_settings, our_settings = cluster.settings(), cluster.settings()
    url = real_settings["listeners"]
    first = cluster.real(real_settings)
    second = cluster.ours(our_settings)
    names = ["s0", "s1", "s2", "s3"]
    for name in names:
        (tmp_path / name).write_text(f"{name}\n")
        created(url, name, source(tmp_path / name, topic))
    after = tmp_path / "after"
    created(url, "k", sink(after, topic))

    def owners(asks: str) -> dict[str, set[str]]:
        """Who runs a connector and its task, if all of it runs."""
        found = {}
        for name in [*names, "k"]:
            _, told = asked(asks, "GET", f"/connectors/{name}/status")
            if not isinstance(told, dict) or "tasks" not in told or not told["tasks"]:
                return {}
            parts = [told["connector"], *told["tasks"]]
            if any(part["state"] != "RUNNING" for part in parts):
                return {}
            found[name] = {part["worker_id"] for part in parts}
        return found

    def is_shared() -> bool:
        found = set().union(*owners(url).values())
        return found == {worker_id(url), worker_id(our_settings["listeners"])}

    until("both have some", is_shared)
    until("the first lines", lambda: size(after) >= sum(size(tmp_path / name) for name in names))
    second.stop(kill=True)
    until("the real one has all", lambda: set().union(*owners(url).values()) == {worker_id(url)})
    second = cluster.ours(our_settings)
    until("both have some again", is_shared)
    first.stop()
    for name in names:
        with (tmp_path / name).open("a") as file:
            file.write(f"{name} again\n")
    wanted = {line for name in names for line in (tmp_path / name).read_text().splitlines()}
    until("ours has all", lambda: set(after.read_text().splitlines()) >= wanted)
