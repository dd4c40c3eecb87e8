"""Workers of a cluster in this process, and what tests ask of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from headrace.pipelines.connect.api.service import ConnectService, serving
from headrace.pipelines.connect.faults import NotFoundException
from headrace.pipelines.connect.state.records import State
from headrace.pipelines.connect.worker.distributed import Distributed
from headrace.runtime.clock import SystemClock

PATIENCE_S = 60
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


def worker_settings(bootstrap: str, group: str, **settings: str) -> dict[str, str]:
    """The properties of a worker of a group, quick to notice everything."""
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "key.converter": STRINGS,
        "value.converter": STRINGS,
        "config.storage.topic": f"{group}-config",
        "config.storage.replication.factor": "1",
        "offset.storage.topic": f"{group}-offset",
        "offset.storage.replication.factor": "1",
        "offset.storage.partitions": "3",
        "status.storage.topic": f"{group}-status",
        "status.storage.replication.factor": "1",
        "status.storage.partitions": "2",
        "offset.flush.interval.ms": "100",
        "heartbeat.interval.ms": "300",
        "session.timeout.ms": "6000",
        "scheduled.rebalance.max.delay.ms": "0",
        "listeners": "http://127.0.0.1:0",
        "headrace.runtime": "thread",
        **settings,
    }


class Node:
    """A worker with its REST interface, at an address of its own."""

    def __init__(self, bootstrap: str, group: str, settings: Mapping[str, str]) -> None:
        self.worker = Distributed(worker_settings(bootstrap, group, **settings), SystemClock())
        service = ConnectService(
            self.worker.at, self.worker.settings, self.worker.providers, self.worker.loggers
        )
        self._served = serving(service)
        self._served.start()
        self._is_running = True
        self.url = f"{service.address}/"
        self.worker.start()

    def stop(self) -> None:
        if self._is_running:
            self._is_running = False
            self._served.stop()
            self.worker.stop()


def until(what: str, is_so: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Ask until it is so."""
    deadline = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def is_joined(worker: Distributed) -> bool:
    """Whether a worker is in its group."""
    return worker.trouble() is None


def states(worker: Distributed, name: str) -> list[State]:
    """What a connector and its tasks do; nothing if the worker has not heard of it yet."""
    try:
        told = worker.status(name)
    except NotFoundException:
        return []
    return [told.status.state, *(each.state for each in told.tasks.values())]


def runs(worker: Distributed, name: str, tasks: int = 1) -> bool:
    """Whether a connector runs with so many tasks."""
    return states(worker, name) == [State.RUNNING] * (tasks + 1)


def source(file: Path, topic: str, **settings: str) -> dict[str, str]:
    """A source of the lines of a file."""
    return {"connector.class": SOURCE, "file": str(file), "topic": topic, **settings}


def sink(file: Path, topics: str, **settings: str) -> dict[str, str]:
    """A sink into a file."""
    return {
        "connector.class": SINK,
        "file": str(file),
        "topics": topics,
        "consumer.override.fetch.max.wait.ms": "50",
        "consumer.override.heartbeat.interval.ms": "100",
        "consumer.override.metadata.max.age.ms": "200",
        **settings,
    }
