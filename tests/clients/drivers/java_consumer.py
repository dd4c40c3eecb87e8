"""Consumers of the Java client of Apache Kafka 4.3.1: many at a time, in one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.clients.drivers.driver import TIMEOUT_SECONDS, Refused
from tests.clients.drivers.program import ForeignClient
from tests.kafka.apache_kafka import java_command

SOURCE = Path(__file__).resolve().parents[1] / "java" / "JavaConsumer.java"
TEXT = "org.apache.kafka.common.serialization.StringDeserializer"
DEFAULTS = {
    "key.deserializer": TEXT,
    "value.deserializer": TEXT,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": "false",
    "fetch.max.wait.ms": "50",
    "retry.backoff.ms": "20",
    "metadata.max.age.ms": "200",
}
# Members of the new protocol are told by the broker how often to send a sign of life.
CLASSIC_DEFAULTS = {"heartbeat.interval.ms": "100", "session.timeout.ms": "6000"}


class JavaConsumers:
    """The program that holds the consumers."""

    def __init__(self, bootstrap: str, classpath: str, scratch: Path) -> None:
        self._stderr_path = scratch / "java-consumer.err"
        command = java_command(classpath, SOURCE)
        self._program = ForeignClient(bootstrap, command, stderr_path=self._stderr_path)
        self._opened = 0

    def __enter__(self) -> JavaConsumers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._program.__exit__(kind, fault, trace)

    @property
    def log(self) -> str:
        """What the client itself has said, at level INFO."""
        return self._stderr_path.read_text(errors="replace")

    def call(self, op: str, **arguments: Any) -> Any:
        """Have an operation of JavaConsumer.java carried out that is about no single consumer."""
        return self._program.call(op, **arguments)

    def open(self, settings: Mapping[str, str | None]) -> JavaConsumer:
        """A consumer of text, unless the settings say otherwise; None takes a setting away."""
        self._opened += 1
        name = f"consumer-{self._opened}"
        wanted = {**DEFAULTS, **settings}
        if settings.get("group.protocol", "classic") == "classic":
            wanted = {**CLASSIC_DEFAULTS, **wanted}
        given = {key: value for key, value in wanted.items() if value is not None}
        self._program.call("open", name=name, settings=given)
        return JavaConsumer(self._program, name)


class OpenedConsumers:
    """The consumers of one test, all of which are closed with it."""

    def __init__(self, program: JavaConsumers) -> None:
        self.program = program
        self._opened: list[JavaConsumer] = []

    def __enter__(self) -> OpenedConsumers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for consumer in self._opened:
            consumer.close()

    def open(self, **settings: str | None) -> JavaConsumer:
        """Settings with `_` for `.`, as in `group_id="g"`."""
        opened = self.program.open({key.replace("_", "."): each for key, each in settings.items()})
        self._opened.append(opened)
        return opened

    def join(self, group: str, *topics: str, **settings: str | None) -> JavaConsumer:
        """A new member of a group that has subscribed, and notes what its listener is told."""
        member = self.open(group_id=group, **settings)
        member.call("subscribe", topics=topics, listener=True)
        return member

    def poll(
        self,
        consumers: Sequence[JavaConsumer],
        *,
        records: int = 0,
        partitions: Sequence[int] = (),
    ) -> list[list[dict[str, Any]]]:
        """Let them take turns until they have so many records in all, and partitions each.

        The counts of partitions are those of the consumers in any order.
        """
        names = [each.name for each in consumers]
        found = self.program.call(
            "poll",
            names=names,
            records=records,
            partitions=sorted(partitions),
            timeout_ms=TIMEOUT_SECONDS * 1000,
        )
        if partitions:
            counts = sorted(len(each.call("assignment")) for each in consumers)
            assert counts == sorted(partitions), "the assignment did not come in time"
        assert sum(map(len, found.values())) >= records, f"of {records} records came {found}"
        return [found[name] for name in names]


class JavaConsumer:
    """One consumer of the program."""

    def __init__(self, program: ForeignClient, name: str) -> None:
        self._program = program
        self._closed = False
        self.name = name

    def call(self, op: str, **arguments: Any) -> Any:
        """Have an operation of JavaConsumer.java carried out."""
        return self._program.call(op, name=self.name, **arguments)

    def refusal(self, op: str, **arguments: Any) -> str:
        """Have an operation refused; the exception's class and text."""
        try:
            answer = self.call(op, **arguments)
        except Refused as fault:
            return str(fault)
        raise AssertionError(f"{op} was not refused, but answered {answer}")

    def take(self, records: int) -> list[dict[str, Any]]:
        """At least so many records, as polls bring them."""
        found: list[dict[str, Any]] = self._program.call(
            "poll", names=[self.name], records=records, timeout_ms=TIMEOUT_SECONDS * 1000
        )[self.name]
        assert len(found) >= records, f"{len(found)} of {records} records came in time"
        return found

    @property
    def numbers(self) -> list[int]:
        """The partitions it owns, of its only topic."""
        return [number for _, number in self.call("assignment")]

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.call("close")
