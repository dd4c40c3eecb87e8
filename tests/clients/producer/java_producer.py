"""A producer of the Java client, open for as long as a test needs it.

Keys and values are given as the serializer in use wants them: text for a string, `{"long": 5}`
for a number. What callbacks were told comes back as dictionaries, in the order of the callbacks.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headrace.errors import Error
from tests.clients.drivers.driver import TIMEOUT_SECONDS, Refused
from tests.clients.drivers.program import ForeignClient
from tests.kafka.apache_kafka import java_command

SOURCE = Path(__file__).resolve().parents[1] / "java" / "JavaProducer.java"
PLUGINS = "JavaProducer$"
SERIALIZATION = "org.apache.kafka.common.serialization."

_NAMES = (f"producer-{number}" for number in itertools.count())


def java_program(bootstrap: str, classpath: str, scratch: Path) -> ForeignClient:
    """One JVM for all producers of a test run."""
    command = java_command(classpath, SOURCE)
    return ForeignClient(bootstrap, command, stderr_path=scratch / "java-producer.err")


class JavaProducer:
    """One KafkaProducer; settings with `_` for `.`, as in `linger_ms=20`."""

    def __init__(self, program: ForeignClient, **settings: object) -> None:
        self._program = program
        self._name = next(_NAMES)
        bootstrap = settings.pop("bootstrap", program.bootstrap)
        dotted = {name.replace("_", "."): str(value) for name, value in settings.items()}
        self._call("open", bootstrap=bootstrap, settings=dotted)

    def send(self, *records: dict[str, Any]) -> list[dict[str, Any]]:
        """Per record: `thrown` or `is_done`, and how long send took."""
        outcomes: list[dict[str, Any]] = self._call("send", records=records)
        return outcomes

    def send_and_get(self, *records: dict[str, Any]) -> list[dict[str, Any]]:
        """Each record is acknowledged before the next one is sent."""
        metadata: list[dict[str, Any]] = self._call("send_and_get", records=records)
        return metadata

    def send_from_threads(self, topic: str, *, threads: int, count: int) -> None:
        self._call("send_from_threads", topic=topic, threads=threads, count=count)

    def reports(self, count: int = 0) -> list[dict[str, Any]]:
        """What callbacks were told, once there are `count` of them."""
        told: list[dict[str, Any]] = self._call("await_reports", count=count)
        assert len(told) >= count, f"{len(told)} of {count} callbacks came in time"
        return told

    def flush(self) -> None:
        self._call("flush")

    def close(self, *, timeout_ms: int | None = None) -> None:
        self._call("close", timeout_ms=timeout_ms)

    def partitions_for(self, topic: str) -> list[dict[str, Any]]:
        """The partitions in their order; asked again where max.block.ms was too short to know."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            try:
                found: list[dict[str, Any]] = self._call("partitions_for", topic=topic)
            except Refused as refusal:
                if refusal.code != Error.REQUEST_TIMED_OUT or time.monotonic() > deadline:
                    raise
            else:
                return sorted(found, key=lambda each: int(each["partition"]))

    def metrics(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._call("metrics")
        return found

    def metric(self, name: str, group: str = "producer-metrics") -> float:
        (value,) = [
            each["value"]
            for each in self.metrics()
            if (each["group"], each["name"]) == (group, name)
        ]
        return float(value)

    def init_transactions(self) -> None:
        self._call("init_transactions")

    def begin_transaction(self) -> None:
        self._call("begin_transaction")

    def send_offsets_to_transaction(
        self, offsets: Sequence[tuple[str, int, int]], group: str
    ) -> None:
        self._call("send_offsets", offsets=offsets, group=group)

    def commit_transaction(self) -> None:
        self._call("commit_transaction")

    def abort_transaction(self) -> None:
        self._call("abort_transaction")

    def _call(self, op: str, **arguments: Any) -> Any:
        return self._program.call(op, producer=self._name, **arguments)
