"""Source offsets of a standalone worker: a file that is replaced whole each time.

The bytes are those of Kafka's FileOffsetBackingStore (`state.offsets_file`), so that either worker
goes on where the other stopped.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model.batch import Position
from headrace.pipelines.connect.state import offsets_file
from headrace.pipelines.connect.state.offset_log import OffsetLog
from headrace.pipelines.connect.state.records import Write


class OffsetFile:
    """All offsets of a worker, for any number of threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._log = OffsetLog()
        try:
            self._entries = offsets_file.decode(path.read_bytes()) if path.exists() else {}
        except OSError as fault:
            raise ConnectException(f"the offsets in {path} cannot be read: {fault}") from fault
        for key, value in self._entries.items():
            self._log.replay(key, value)

    def of(self, connector: str) -> ConnectorOffsets:
        """The offsets of one connector."""
        return ConnectorOffsets(self, connector)

    def read(self, connector: str, partition: Position) -> Mapping[str, object] | None:
        """Where a partition of a connector's source stands."""
        with self._lock:
            return self._log.offset(connector, partition)

    def all_of(self, connector: str) -> list[tuple[Position, Position]]:
        """Every partition of a connector's source that stands somewhere, and where."""
        with self._lock:
            return list(self._log.offsets(connector))

    def keep(self, connector: str, offsets: Sequence[tuple[Position, Position | None]]) -> None:
        """Keep these, None: the beginning; return when they are on the disk."""
        with self._lock:
            self._take(self._log.writes(connector, offsets))

    def reset(self, connector: str) -> None:
        """Forget where every partition of a connector's source stands."""
        with self._lock:
            self._take(self._log.resets(connector))

    def _take(self, writes: list[Write]) -> None:
        for key, value in writes:
            self._entries[key] = value
            self._log.replay(key, value)
        self._write(offsets_file.encode(self._entries))

    def _write(self, data: bytes) -> None:
        beside = self._path.with_name(self._path.name + ".new")
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)


class ConnectorOffsets:
    """The `OffsetStore` of one connector."""

    def __init__(self, file: OffsetFile, connector: str) -> None:
        self._file = file
        self._connector = connector

    def read(self, partition: Position) -> Mapping[str, object] | None:
        """What was kept last of a partition."""
        return self._file.read(self._connector, partition)

    def keep(self, offsets: list[tuple[Position, Position]]) -> None:
        """Keep these, all or none; return when they are safe."""
        self._file.keep(self._connector, offsets)
