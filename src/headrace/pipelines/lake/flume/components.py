"""What sources and sinks are, and which class a `type` means."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from headrace.pipelines.lake.flume.event import Event
from headrace.pipelines.lake.jobs.named import find
from headrace.pipelines.lake.jobs.properties import Properties
from headrace.runtime.clock import Clock

Deliver: TypeAlias = Callable[[Sequence[Event]], None]
"""Takes events of a source; it returns when all channels have them."""
GROUP: Final = "headrace.flume"
_HERE: Final = "headrace.pipelines.lake.flume."
SOURCES: Final = {"KafkaSource": _HERE + "kafka_source:KafkaSource"}
SINKS: Final = {
    "hdfs": _HERE + "hdfs_sink:HdfsSink",
    "HDFSEventSink": _HERE + "hdfs_sink:HdfsSink",
    "logger": _HERE + "logger_sink:LoggerSink",
    "LoggerSink": _HERE + "logger_sink:LoggerSink",
    "KafkaSink": _HERE + "kafka_sink:KafkaSink",
}
CHANNELS: Final = {
    "memory": _HERE + "channel:MemoryChannel",
    "MemoryChannel": _HERE + "channel:MemoryChannel",
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a component is given besides its settings."""

    clock: Clock
    stopping: threading.Event
    """Set when the agent ends: a source then reads nothing more."""
    tell: Callable[[str], None]
    """Shows a line to the operator."""
    brokers_in_zookeeper: Callable[[str], str] | None = None
    """Finds brokers for sources that name a ZooKeeper, if anything here can."""


class Source(Protocol):
    """Made with its settings and surroundings; it is used by one thread."""

    def run(self, deliver: Deliver) -> None:
        """Read until the agent stops, and hand on batches of events."""

    def close(self) -> None:
        """Write down what is safe. No sink settles anything any more."""


class Sink(Protocol):
    """Made with its settings and surroundings; it is used by one thread."""

    batch_size: int

    def write(self, events: Sequence[Event]) -> None:
        """Take the events of a transaction; an exception rolls it back."""

    def tick(self) -> None:
        """Called again and again, with events or without."""

    def close(self) -> None:
        """Bring everything into safety; nothing comes after it."""


def made(kinds: dict[str, str], name: str, settings: Properties, *more: object) -> object:
    """The component that these settings describe."""
    return find(settings["type"], settings.shown("type"), kinds, GROUP)(name, settings, *more)


def remarks_of(part: object) -> Sequence[str]:
    """What is odd about the settings of a component, if it says so."""
    found: Sequence[str] = getattr(part, "remarks", ())
    return found
