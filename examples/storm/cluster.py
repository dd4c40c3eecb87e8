"""Runs topologies: one worker in this thread, or several that share the work of a group.

A worker takes a message from its spout only while fewer than `max_pending` are open, so a slow bolt
slows the spout down and nothing piles up. Its bolts see the message at once, before the next one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any, Final
from zlib import crc32

from examples.storm.acker import Acker
from examples.storm.topology import Bolt, BoltSpec, Collector, Message, Topology, Tuple

LOGGER = logging.getLogger(__name__)
PART_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class StormConfig:
    """How a topology is run."""

    num_workers: int = 3  # of a cluster
    max_task_parallelism: int = 3  # of a component, in a local run
    max_pending: int = 1_000
    message_timeout_s: float = 30.0
    debug: bool = False  # say every tuple
    monotonic: Callable[[], float] = time.monotonic


class Worker:
    """One spout and the tasks of all bolts."""

    def __init__(self, topology: Topology, config: StormConfig) -> None:
        assert topology.spout is not None, "a topology needs a spout"
        self._config = config
        self._acker = Acker(config.message_timeout_s)
        self._queue: deque[tuple[Bolt, Tuple]] = deque()
        self._spout_name = topology.spout_name
        self._spout = topology.spout()
        self._tasks: dict[str, list[Bolt]] = {}
        self._targets: dict[str, list[tuple[BoltSpec, str | None, Any]]] = {}
        for spec in topology.bolts.values():
            self._add(spec)

    def _add(self, spec: BoltSpec) -> None:
        parallelism = min(spec.parallelism, self._config.max_task_parallelism)
        self._tasks[spec.name] = [spec.factory() for _ in range(parallelism)]
        for link in spec.links:
            targets = self._targets.setdefault(link.source, [])
            targets.append((spec, link.field, count()))

    def run(self, stop: Callable[[], bool], part: Callable[[], object] | None = None) -> None:
        """Work until told to stop, then let every task finish, each after those before it.

        `part` is called when all is finished and before the spout leaves its source.
        """
        with ExitStack() as running:
            self._spout.open()
            running.callback(self._spout.close)
            if part is not None:
                running.callback(part)
            running.callback(self._spout.deactivate)
            for name, bolts in reversed(self._tasks.items()):
                running.callback(self._work)
                for bolt in bolts:
                    bolt.prepare(_TaskCollector(self, name, bolt))
                    running.callback(bolt.cleanup)
            while not stop():
                self._step()

    def _step(self) -> None:
        taken = len(self._acker) < self._config.max_pending
        message = self._spout.next_message() if taken else None
        if message is not None:
            self._take(message)
        else:
            self._tick()
        for message_id in self._acker.expired(self._config.monotonic()):
            self._spout.fail(message_id)

    def _take(self, message: Message) -> None:
        root = None
        if message.id is not None:
            root = self._acker.track(message.id, self._config.monotonic())
        record = Tuple(self._spout_name, self._spout.fields, message.values, root)
        self.send(record)
        self.ack(record)  # the record itself is delivered; what came of it is still open
        self._work()

    def _work(self) -> None:
        while self._queue:
            bolt, taken = self._queue.popleft()
            if self._config.debug:
                LOGGER.info("%s takes %s", type(bolt).__name__, taken)
            bolt.execute(taken)

    def _tick(self) -> None:
        for bolts in self._tasks.values():
            for bolt in bolts:
                bolt.tick()
        self._work()

    def send(self, emitted: Tuple) -> None:
        for spec, name, turns in self._targets.get(emitted.source, []):
            tasks = self._tasks[spec.name]
            number = next(turns) if name is None else crc32(str(emitted.value(name)).encode())
            self._acker.emitted(emitted.root)
            self._queue.append((tasks[number % len(tasks)], emitted))

    def ack(self, done: Tuple) -> None:
        message_id = self._acker.acked(done.root)
        if message_id is not None:
            self._spout.ack(message_id)

    def fail(self, failed: Tuple) -> None:
        message_id = self._acker.failed(failed.root)
        if message_id is not None:
            self._spout.fail(message_id)


class _TaskCollector(Collector):
    """The collector of one task."""

    def __init__(self, worker: Worker, name: str, bolt: Bolt) -> None:
        self._worker = worker
        self._name = name
        self._fields = bolt.fields

    def emit(self, values: Sequence[Any], anchor: Tuple | None = None) -> None:
        root = anchor.root if anchor is not None else None
        self._worker.send(Tuple(self._name, self._fields, tuple(values), root))

    def ack(self, done: Tuple) -> None:
        self._worker.ack(done)

    def fail(self, failed: Tuple) -> None:
        self._worker.fail(failed)


class LocalCluster:
    """One worker, in this thread, for a while."""

    def __init__(self, config: StormConfig | None = None) -> None:
        self.config = config or StormConfig()

    def run(self, name: str, topology: Topology, stop: Callable[[], bool]) -> None:
        LOGGER.info("%s runs here", name)
        Worker(topology, self.config).run(stop)


class Cluster:
    """Several workers, each with a spout of its own: Kafka deals the partitions out to them."""

    def __init__(self, config: StormConfig | None = None) -> None:
        self.config = config or StormConfig()

    def run(self, name: str, topology: Topology, stop: Callable[[], bool]) -> None:
        LOGGER.info("%s runs in %d workers", name, self.config.num_workers)
        faults: list[BaseException] = []
        # A worker that leaves its group disturbs the others, so all finish before any leaves.
        finished = threading.Barrier(self.config.num_workers, timeout=PART_TIMEOUT_S)

        def work() -> None:
            try:
                Worker(topology, self.config).run(lambda: stop() or bool(faults), finished.wait)
            except BaseException as fault:
                faults.append(fault)

        workers = [
            threading.Thread(target=work, name=f"{name}-{number}")
            for number in range(self.config.num_workers)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if faults:
            raise faults[0]


def after(seconds: float, monotonic: Callable[[], float] = time.monotonic) -> Callable[[], bool]:
    """Stops a run after some time."""
    until = monotonic() + seconds
    return lambda: monotonic() >= until
