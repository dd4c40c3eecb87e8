"""What feeders, workers and readers share: client settings, the clock, the way they end.

Each of them is a program of its own, so that it can be killed:
``python -m tests.chaos.exactly_once.worker BOOTSTRAP FOLDER PROCESS PROTOCOL``.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaError, Message

from tests.chaos.history.journal import Journal
from tests.chaos.history.operation import Record

SESSION_TIMEOUT_MS = 3000
TRANSACTION_TIMEOUT_MS = 10_000
IMPATIENT = {  # come back to a restarted broker at once
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 200,
    "topic.metadata.refresh.fast.interval.ms": 50,
    "socket.timeout.ms": 5000,
    "log_level": 0,
}


def now_ms() -> int:
    """A clock that all processes of a machine share and that never goes back."""
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Life:
    """One life of a client: its broker, its journal, and whether it has been asked to end."""

    bootstrap: str
    process: str  # "worker-0.3": the third life of the first worker
    protocol: str
    journal: Journal
    asked_to_end: threading.Event

    @property
    def slot(self) -> str:
        """What stays the same over all lives: "worker-0"."""
        return self.process.rpartition(".")[0]


def begin_life() -> Life:
    """Read the command line; SIGTERM asks for an orderly end."""
    bootstrap, folder, process, protocol = sys.argv[1:]
    asked_to_end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked_to_end.set())
    journal = Journal(Path(folder) / f"{process}.jsonl", process)
    return Life(bootstrap, process, protocol, journal, asked_to_end)


def record_of(message: Message) -> Record:
    value = message.value()
    assert value is not None
    return Record(f"{message.topic()}/{message.partition()}", message.offset(), value.decode())


class Deliveries:
    """Gathers the offsets that the broker acknowledged for one operation's records."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records

    def on_delivery(self, number: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            record = self.records[number]
            assert record.key == f"{message.topic()}/{message.partition()}"
            self.records[number] = record._replace(offset=message.offset())
