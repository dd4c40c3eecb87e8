"""Clients in other languages: one program each, spoken to in lines of JSON.

A command is one line ``{"op": "produce", "bootstrap": ..., ...}`` on the program's standard
input, its answer one line ``{"ok": ...}`` or ``{"error": code, "message": ...}`` on its
standard output. One process serves a whole test run, so a JVM starts once. The programs end
when their input does.
"""

from __future__ import annotations

import json
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tests.clients.drivers.driver import TIMEOUT_SECONDS, Refused
from tests.clients.records import CODECS, Record, Stored
from tests.kafka.toolchain import spawn, stop

ANSWER_TIMEOUT_SECONDS = 2 * TIMEOUT_SECONDS


class ForeignClient:
    """A driver whose operations are carried out by a program in another language."""

    codecs = frozenset(CODECS)
    refuses: frozenset[str] = frozenset()

    def __init__(
        self,
        bootstrap: str,
        command: Sequence[str | Path],
        *,
        stderr_path: Path,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.bootstrap = bootstrap
        self._stderr_path = stderr_path
        with stderr_path.open("wb") as stderr:
            self._process = spawn(command, stdin=subprocess.PIPE, stderr=stderr, env=env)
        self._unread = b""

    def __enter__(self) -> ForeignClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stop(self._process)

    def call(self, op: str, **arguments: Any) -> Any:
        """Have one operation carried out; raises Refused when the broker refused it."""
        command = {"op": op, "bootstrap": self.bootstrap, **arguments}
        self._pipe(self._process.stdin).write(json.dumps(command).encode() + b"\n")
        self._pipe(self._process.stdin).flush()
        answer = json.loads(self._read_line())
        if "ok" not in answer:
            raise Refused(int(answer["error"]), answer["message"])
        return answer["ok"]

    def produce(
        self,
        topic: str,
        partition: int,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> list[int]:
        offsets: list[int] = self.call(
            "produce",
            topic=topic,
            partition=partition,
            records=[record.to_json() for record in records],
            codec=codec,
            acks=acks,
            idempotent=idempotent,
        )
        return offsets

    def partitions_of_keys(self, topic: str, keys: Sequence[bytes]) -> list[int]:
        """Write one record per key and tell where the client's own partitioner put it."""
        records = [Record(key, b"", 0).to_json() for key in keys]
        partitions: list[int] = self.call("partitions_of_keys", topic=topic, records=records)
        return partitions

    def read(self, topic: str, partition: int, offset: int, count: int) -> list[Stored]:
        found = self.call("read", topic=topic, partition=partition, offset=offset, count=count)
        return [Stored.from_json(fields) for fields in found]

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str]) -> None:
        self.call("create_topic", topic=topic, partitions=partitions, config=dict(config))

    def create_partitions(self, topic: str, total: int) -> None:
        self.call("create_partitions", topic=topic, total=total)

    def delete_topic(self, topic: str) -> None:
        self.call("delete_topic", topic=topic)

    def partition_counts(self) -> dict[str, int]:
        counts: dict[str, int] = self.call("partition_counts")
        return counts

    def topic_config(self, topic: str) -> dict[str, str | None]:
        config: dict[str, str | None] = self.call("topic_config", topic=topic)
        return config

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        offset: int | None = self.call(
            "offset_for_time", topic=topic, partition=partition, timestamp_ms=timestamp_ms
        )
        return offset

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        low_watermark: int = self.call(
            "delete_records", topic=topic, partition=partition, before_offset=before_offset
        )
        return low_watermark

    def _read_line(self) -> bytes:
        out = self._pipe(self._process.stdout)
        deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
        while b"\n" not in self._unread:
            wait_seconds = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([out], [], [], wait_seconds)
            chunk = out.read1(1 << 20) if ready else b""  # type: ignore[attr-defined]
            if not chunk:
                why = "gave no answer in time" if not ready else "ended"
                last_words = self._stderr_path.read_text(errors="replace")[-2000:]
                raise AssertionError(f"the client program {why}; its last words:\n{last_words}")
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _pipe(self, pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe
