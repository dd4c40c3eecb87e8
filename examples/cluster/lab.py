"""What the labs share: a cluster, its tools, and people who write and read."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, Producer

from headrace.admin.client import Admin
from headrace.cli import tell
from headrace.cli.kafka_compat import find
from headrace.client.settings import client_settings
from headrace.testing import Cluster

PATIENCE_S: Final = 40.0
_PAUSE_S: Final = 0.1


class LabFailed(RuntimeError):
    """Something that the lab promises did not happen."""


def say(text: str) -> None:
    print(f"\n# {text}", flush=True)


class _Heard(io.StringIO):
    """Keeps what is printed, and prints it."""

    def __init__(self) -> None:
        super().__init__()
        self._through = sys.stdout

    def write(self, text: str) -> int:
        self._through.write(text)
        return super().write(text)

    def flush(self) -> None:
        self._through.flush()


def shell(name: str, *words: str, code: int = 0) -> str:
    """Show a command and run it, as if it had been typed; returns what it printed.

    It must end with this exit code.
    """
    print(f"$ {name} {' '.join(words)}", flush=True)
    with redirect_stdout(_Heard()) as heard:
        try:
            ended = find(name)(list(words))
        except Exception as error:  # As the installed command does: one line, an exit code.
            ended = tell(error)
    if ended != code:
        raise LabFailed(f"{name} ended with {ended}, not with {code}")
    return heard.getvalue()


def run_lab(story: Callable[[Cluster], None], brokers: int = 3) -> None:
    """Tell a story with a cluster of its own."""
    say(f"ZooKeeper first, then {brokers} brokers")
    with Cluster(brokers=brokers) as started:
        shell("zookeeper-shell", started.zookeeper, "ls", "/brokers/ids")
        story(started)


# -- partitions -----------------------------------------------------------------------------------


def all_partitions(servers: str) -> dict[tuple[str, int], Any]:
    """Leader, replicas and in-sync replicas of every partition, as a client sees them."""
    from confluent_kafka.admin import AdminClient

    found = AdminClient({"bootstrap.servers": servers, "log_level": 0}).list_topics(timeout=10)
    return {
        (name, number): partition
        for name, topic in sorted(found.topics.items())
        for number, partition in sorted(topic.partitions.items())
    }


def partitions_of(servers: str, topic: str) -> list[Any]:
    """The same of one topic."""
    return [each for (name, _), each in all_partitions(servers).items() if name == topic]


def await_partitions(
    servers: str, topic: str, what: str, condition: Callable[[Any], bool]
) -> list[Any]:
    """Return when every partition is as it should be."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = partitions_of(servers, topic)
        if found and all(map(condition, found)):
            return found
        if time.monotonic() > deadline:
            raise LabFailed(f"{topic}: {what} did not come about")
        time.sleep(_PAUSE_S)


def await_all_in_sync(servers: str, topic: str) -> list[Any]:
    return await_partitions(
        servers, topic, "all in sync", lambda each: sorted(each.isrs) == sorted(each.replicas)
    )


def await_reassigned(servers: str) -> None:
    """Return when no replica is on the move any more."""
    deadline = time.monotonic() + PATIENCE_S
    with Admin(client_settings({"bootstrap.servers": servers})[0]) as admin:
        while admin.reassignments():
            if time.monotonic() > deadline:
                raise LabFailed("replicas are still on the move")
            time.sleep(_PAUSE_S)


# -- people ---------------------------------------------------------------------------------------


def write(servers: str, topic: str, values: Iterable[str]) -> None:
    """Write with acks=all; everything was acknowledged when this returns."""
    faults: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _record: object) -> None:
        if error is not None:
            faults.append(error)

    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 0})
    for value in values:
        # Keyed, so that a few messages are not all of one partition.
        producer.produce(topic, value.encode(), key=value.encode(), on_delivery=on_delivery)
    left = producer.flush(PATIENCE_S)
    if left or faults:
        raise LabFailed(f"{left + len(faults)} records were not acknowledged: {faults[:1]}")


class Reader:
    """A consumer that remembers what it has read."""

    def __init__(self, servers: str, topic: str, group: str) -> None:
        self.values: list[str] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 6000,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([topic])

    def poll(self, timeout_s: float = 0.1) -> None:
        record = self._consumer.poll(timeout_s)
        if record is not None and record.error() is None:
            self.values.append((record.value() or b"").decode())

    @property
    def partitions(self) -> list[int]:
        return sorted(each.partition for each in self._consumer.assignment())

    def close(self) -> None:
        self._consumer.close()


def read_until(readers: list[Reader], what: str, condition: Callable[[], bool]) -> None:
    """Let them read until it is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise LabFailed(f"{what}: only {[len(each.values) for each in readers]} were read")
        for reader in readers:
            reader.poll()


def read_all(servers: str, topic: str, group: str, count: int) -> list[str]:
    """So many records, read by one consumer."""
    reader = Reader(servers, topic, group)
    read_until([reader], f"{count} records of {topic}", lambda: len(reader.values) >= count)
    reader.close()
    return reader.values
