"""A leader among workers that tell it what they run and how far they have read."""

from __future__ import annotations

import pytest

from headrace.pipelines.connect.group.protocol import (
    COMPATIBLE,
    CONFIG_MISMATCH,
    EAGER,
    SESSIONED,
    Assignment,
    TaskId,
    Work,
    WorkerState,
    decode_assignment,
    decode_state,
    encode_assignment,
    encode_state,
)
from headrace.pipelines.connect.herder.assignor import Memory
from headrace.pipelines.connect.herder.leading import configured_work, eager, held_after, lead
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.config_log import ConfigLog, Snapshot


def cluster(**tasks: int) -> Snapshot:
    """A snapshot with these connectors and as many tasks."""
    log = ConfigLog()
    writes = [
        write
        for name, count in tasks.items()
        for write in (records.connector_config(name, {}), *records.task_configs(name, [{}] * count))
    ]
    for offset, (key, value) in enumerate(writes):
        log.replay(offset, key, value)
    return log.snapshot()


class Workers:
    """Workers that join, do as they are told, and say so in bytes when they join again."""

    def __init__(self, version: int, *names: str) -> None:
        self.version = version
        self.running = {name: Work() for name in names}
        self.memory = Memory()
        self.generation = 0

    def round(self, snapshot: Snapshot) -> dict[str, Assignment]:
        """A rebalance that `w1` leads, through the bytes of the protocol."""
        self.generation += 1
        states = {
            name: decode_state(encode_state(self.state(name, snapshot.offset)))
            for name in self.running
        }
        self.memory, made = lead(
            self.memory,
            snapshot,
            states,
            "w1",
            version=self.version,
            last_generation=self.generation - 1 if self.generation > 1 else -1,
            generation=self.generation,
            now_ms=0,
            max_delay_ms=0,
        )
        told = {name: decode_assignment(encode_assignment(each)) for name, each in made.items()}
        self.running = {name: held_after(self.running[name], told[name]) for name in told}
        return told

    def state(self, name: str, offset: int) -> WorkerState:
        """What a worker says."""
        held = Assignment("w1", "http://w1", offset, self.running[name], version=self.version)
        known = None if self.version == EAGER else held
        return WorkerState(f"http://{name}", offset, known, self.version)


@pytest.mark.spec("admin:CN-03", "admin:CN-04")
@pytest.mark.parametrize("version", [EAGER, COMPATIBLE, SESSIONED])
def test_workers_share_the_work(version: int) -> None:
    """All of it runs once, on two workers and then on three; everybody knows the leader."""
    snapshot = cluster(a=3, b=2)
    workers = Workers(version, "w1", "w2")
    for _ in range(3):
        told = workers.round(snapshot)
    workers.running["w3"] = Work()
    for _ in range(3):
        told = workers.round(snapshot)
    assert {each.leader_url for each in told.values()} == {"http://w1"}
    assert {each.config_offset for each in told.values()} == {snapshot.offset}
    every = [task for work in workers.running.values() for task in work.tasks]
    assert sorted(every) == list(configured_work(snapshot).tasks)
    sizes = [len(work.tasks) for work in workers.running.values()]
    assert max(sizes) - min(sizes) <= 1
    names = [name for work in workers.running.values() for name in work.connectors]
    assert sorted(names) == ["a", "b"]


def test_a_leader_that_has_not_read_enough() -> None:
    """It assigns nothing and says so, and keeps what it remembers."""
    snapshot = cluster(a=1)
    ahead = WorkerState("http://w2", snapshot.offset + 1)
    memory = Memory(generation=4)
    kept, told = lead(
        memory,
        snapshot,
        {"w1": WorkerState("http://w1", snapshot.offset), "w2": ahead},
        "w1",
        version=SESSIONED,
        last_generation=4,
        generation=5,
        now_ms=0,
        max_delay_ms=0,
    )
    assert kept == memory
    assert {each.error for each in told.values()} == {CONFIG_MISMATCH}
    assert {each.config_offset for each in told.values()} == {snapshot.offset + 1}
    assert not any(each.given for each in told.values())


def test_eager_work_is_dealt_in_turn() -> None:
    """Connectors first, tasks from where those ended."""
    dealt = eager(configured_work(cluster(a=2, b=1)), ["w1", "w2"])
    assert dealt == {
        "w1": Work(("a",), (TaskId("a", 0), TaskId("b", 0))),
        "w2": Work(("b",), (TaskId("a", 1),)),
    }
