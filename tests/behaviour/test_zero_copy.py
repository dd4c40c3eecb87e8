"""Records go from the page cache to the socket without passing through this process."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from headrace.runtime.os_disk import OsFile
from tests.behaviour.in_process import in_process_broker
from tests.clients.raw import Connection, batch_of
from tests.clients.records import Record, incompressible
from tests.clients.requests import create_topic, fetched, produced_bytes

BATCHES = 6
BATCH_BYTES = 700_000
SMALL_BYTES = 16 * 1024


class Calls:
    """Which functions in C a thread calls, and how many bytes it reads from files."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.bytes_read = 0

    def begin(self) -> None:
        sys.setprofile(self._on_event)

    def end(self) -> None:
        sys.setprofile(None)

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            self.counts[argument.__name__] += 1
        elif event == "call" and frame.f_code is OsFile.read.__code__:
            self.bytes_read += frame.f_locals["size"]


@pytest.mark.spec("slides:A18", "admin:LS-23", "book2:J-31")
def test_a_large_fetch_leaves_by_sendfile(tmp_path: Path) -> None:
    """The event loop hands file ranges to the kernel; it never has the records in its hands."""
    batch = batch_of([Record(None, incompressible(BATCH_BYTES), 0)])
    calls = Calls()
    with in_process_broker(tmp_path) as broker, Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, "large")
        for _ in range(BATCHES):
            produced_bytes(connection, "large", batch)
        broker.call(calls.begin)
        answer = fetched(connection, "large", 0, partition_max_bytes=1 << 24)
        broker.call(calls.end)
        (segment,) = (tmp_path / "large-0").glob("*.log")
        assert bytes(answer.records) == segment.read_bytes()
    assert len(answer.records) == BATCHES * len(batch)
    assert calls.counts["sendfile"] > 0
    # What a full socket leaves of the last range is copied if it is small.
    assert calls.bytes_read < SMALL_BYTES
    assert not {"read", "readv", "mmap"} & set(calls.counts)
