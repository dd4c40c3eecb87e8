"""A standalone worker of the tests, and what topics hold when it has worked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from confluent_kafka import Consumer, Message, Producer

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state.records import State
from headrace.pipelines.connect.worker.standalone import Standalone
from headrace.runtime.clock import SystemClock

PATIENCE_S = 60
STRINGS = "org.apache.kafka.connect.storage.StringConverter"


class Worker:
    """Standalone, with strings for keys and values, and offsets in a file of the test's folder."""

    def __init__(self, bootstrap: str, folder: Path, settings: Mapping[str, str]) -> None:
        self.standalone = Standalone(
            {
                "bootstrap.servers": bootstrap,
                "key.converter": STRINGS,
                "value.converter": STRINGS,
                "offset.storage.file.filename": str(folder / "offsets"),
                "offset.flush.interval.ms": "100",
                "consumer.fetch.max.wait.ms": "50",
                "consumer.heartbeat.interval.ms": "100",
                "consumer.metadata.max.age.ms": "200",
                **settings,
            },
            SystemClock(),
            lambda task, state, trace: None,
        )

    def create(self, config: Mapping[str, str]) -> None:
        self.standalone.create(config.get("name", ""), config, None)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for a change of some task's state after which it is so."""
        with self.standalone.changed:
            assert self.standalone.changed.wait_for(is_so, PATIENCE_S), "it never was so"

    def until_failed(self, task: TaskId) -> str:
        """The trace of a task that fails."""
        self.until(lambda: self.standalone.task_status(task).state is State.FAILED)
        trace = self.standalone.task_status(task).trace
        assert trace is not None
        return trace

    def stop(self) -> None:
        self.standalone.stop()


def values(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    """The first `count` values of a topic."""
    return [message.value() for message in messages(bootstrap, topic, count)]


def messages(bootstrap: str, topic: str, count: int) -> list[Message]:
    """The first `count` messages of a topic, waited for."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"look-{topic}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "topic.metadata.refresh.interval.ms": 200,
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    found: list[Message] = []
    try:
        for _ in range(PATIENCE_S * 10):
            found += [each for each in consumer.consume(count, 0.1) if each.error() is None]
            if len(found) >= count:
                return found
    finally:
        consumer.close()
    raise AssertionError(f"{topic} has {len(found)} messages of {count}")


def write(
    bootstrap: str,
    topic: str,
    *values: bytes | None,
    key: bytes | None = None,
    headers: list[tuple[str, str | bytes | None]] | None = None,
) -> None:
    """Values into a topic, each with the same key and headers, if any."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for value in values:
        producer.produce(topic, value, key, headers=headers)
    assert producer.flush(PATIENCE_S) == 0
