"""Tasks on hosts of the tests, what they report, and what topics hold when they have worked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from headrace.pipelines.connect.config.worker import standalone
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.host.assembly import TaskSpec
from headrace.pipelines.connect.model.batch import Position
from headrace.pipelines.connect.state.offset_log import OffsetLog
from headrace.pipelines.connect.state.records import State, Write
from headrace.pipelines.connect.worker.launcher import Launcher
from headrace.pipelines.connect.worker.offset_file import OffsetFile
from headrace.pipelines.connect.worker.remote_host import Listeners
from headrace.runtime.clock import SystemClock

PATIENCE_S = 120
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
COUNTING = f"{Path(__file__).with_name('counting.py')}:Counting"


def patiently(is_so: Callable[[], bool], told: Callable[[], object] = lambda: "") -> None:
    """Wait until it is so."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, told()
        time.sleep(0.1)


class TopicOffsets:
    """Offsets in a topic, as a worker keeps those of transactional sources."""

    def __init__(self, bootstrap: str, topic: str, connector: str) -> None:
        self.topic = topic
        self._bootstrap = bootstrap
        self._connector = connector

    def read(self, partition: Position) -> Mapping[str, object] | None:
        return self._log().offset(self._connector, partition)

    def writes(self, offsets: list[tuple[Position, Position]]) -> list[Write]:
        return self._log().writes(self._connector, offsets)

    def _log(self) -> OffsetLog:
        log = OffsetLog()
        for message in committed(self._bootstrap, self.topic):
            log.replay(message.key(), message.value())
        return log


class Tasks:
    """A launcher with the states that its tasks have reported."""

    def __init__(
        self, bootstrap: str, folder: Path, runtime: str, settings: Mapping[str, str]
    ) -> None:
        self._bootstrap = bootstrap
        self._folder = folder
        self.settings = standalone(
            {
                "bootstrap.servers": bootstrap,
                "key.converter": STRINGS,
                "value.converter": STRINGS,
                "offset.storage.file.filename": str(folder / "offsets"),
                "consumer.fetch.max.wait.ms": "50",
                "consumer.heartbeat.interval.ms": "100",
                "consumer.metadata.max.age.ms": "200",
                "headrace.runtime": runtime,
                **settings,
            }
        )
        self._offsets = OffsetFile(folder / "offsets")
        self._changed = threading.Condition()
        self.states: dict[TaskId, list[State]] = {}
        self.traces: list[str] = []
        self.topics: set[tuple[TaskId, str]] = set()
        self.reconfigured: list[str] = []
        listeners = Listeners(self._on_state, self.reconfigured.append, self._on_topic)
        self.launcher = Launcher(self.settings, SystemClock(), listeners)

    def spec(
        self,
        name: str,
        config: Mapping[str, str],
        *,
        number: int = 0,
        paused: bool = False,
        once: bool = False,
    ) -> TaskSpec:
        """A task; with `once` its offsets are in the transactions of its records."""
        given = {"name": name, **config}
        return TaskSpec(
            TaskId(name, number),
            given,
            self.settings.given,
            TopicOffsets(self._bootstrap, f"{name}-offsets", name)
            if once
            else self._offsets.of(name),
            100,
            f"connect-{name}-{number}" if once else None,
            paused,
        )

    def start(self, spec: TaskSpec) -> TaskId:
        self.launcher.start(spec)
        return spec.id

    def counting(self, name: str, topic: str, **settings: object) -> dict[str, str]:
        """The settings of a source of numbers."""
        own = {key.replace("_", "."): str(value) for key, value in settings.items()}
        folder = {"folder": str(self._folder)}
        return {"connector.class": COUNTING, "name": name, "topic": topic, **folder, **own}

    def until(self, task: TaskId, *states: State) -> None:
        """Wait for the states that a task has reported to end with these."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: self.states.get(task, [])[-len(states) :] == list(states), PATIENCE_S
            ), (self.states, self.traces)

    def close(self) -> None:
        self.launcher.close(10)

    def _on_state(self, task: TaskId, state: State, trace: str | None) -> None:
        with self._changed:
            self.states.setdefault(task, []).append(state)
            if trace is not None:
                self.traces.append(trace)
            self._changed.notify_all()

    def _on_topic(self, task: TaskId, topic: str) -> None:
        self.topics.add((task, topic))


def committed(bootstrap: str, topic: str, *, uncommitted: bool = False) -> list[Message]:
    """What a topic's only partition holds now, of transactions that are committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"look-{topic}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted" if uncommitted else "read_committed",
            "fetch.wait.max.ms": 10,
            "log_level": 0,
        }
    )
    found: list[Message] = []
    try:
        known = consumer.list_topics(topic, PATIENCE_S).topics[topic]
        if known.error is not None:
            return []
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            for message in consumer.consume(10_000, 0.1):
                error = message.error()
                if error is None:
                    found.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    return found
        raise AssertionError(f"{topic} has no end")
    finally:
        consumer.close()


def numbers(bootstrap: str, topic: str, *, uncommitted: bool = False) -> list[int]:
    """The numbers of a source of numbers, as whoever reads committed records sees them."""
    found = committed(bootstrap, topic, uncommitted=uncommitted)
    return [int(message.value() or b"") for message in found]
