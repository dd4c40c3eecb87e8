"""Source offsets in a topic: that of the cluster, or a connector's own (`offsets.storage.topic`).

Reading goes to the end of the topic first: the task that ran before may have written just now, on
another worker. A connector with a topic of its own begins with what the cluster's topic has of it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Final

from headrace.admin.client import Admin
from headrace.client.settings import ClientSettings
from headrace.pipelines.connect.config.worker import StateTopic, WorkerConfig
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model.batch import Position
from headrace.pipelines.connect.state.offset_log import OffsetLog
from headrace.pipelines.connect.state.records import Write
from headrace.pipelines.connect.worker.state_topics import ensure_topic
from headrace.pipelines.connect.worker.topic_log import PATIENCE_S, TopicLog
from headrace.pipelines.connect.worker.topic_writer import TopicWriter
from headrace.records.record import Record
from headrace.runtime.clock import Clock

OWN_TOPIC: Final = "offsets.storage.topic"
_READ_S: Final = 30.0
_OWN_PATIENCE_S: Final = 15.0
"""The herder's thread waits for a connector's own topic, and with it all other connectors."""

Known = tuple[Mapping[str, object], Mapping[str, object]]


class OffsetTopic:
    """One topic of offsets, for any number of threads."""

    def __init__(
        self, client: ClientSettings, topic: str, clock: Clock, *, read_committed: bool
    ) -> None:
        self.topic = topic
        self._log = OffsetLog()
        self._lock = threading.Lock()
        self._reader = TopicLog(client, topic, self._apply, read_committed=read_committed)
        self._writer = TopicWriter(client, topic, clock)

    def open(self, patience_s: float = PATIENCE_S) -> None:
        """Read all of it, and follow it; TimedOut if nothing comes for so long."""
        self._reader.open(patience_s)
        self._reader.follow()

    def close(self) -> None:
        """Stop following."""
        self._reader.close()
        self._writer.close()

    def read(self, connector: str, partition: Position) -> Mapping[str, object] | None:
        """Where a partition stands, by all that is written now."""
        self._reader.read_to_end(_READ_S)
        with self._lock:
            return self._log.offset(connector, partition)

    def all_of(self, connector: str) -> list[Known]:
        """Where every partition of a connector stands, by all that is written now."""
        self._reader.read_to_end(_READ_S)
        with self._lock:
            return self._log.offsets(connector)

    def writes(
        self, connector: str, offsets: Sequence[tuple[Position, Position | None]]
    ) -> list[Write]:
        """The records that say where these partitions stand."""
        with self._lock:
            return self._log.writes(connector, offsets)

    def keep(self, connector: str, offsets: Sequence[tuple[Position, Position | None]]) -> None:
        """Write these; return when the brokers have them."""
        self._writer.write(self.writes(connector, offsets))

    def reset(self, connector: str) -> None:
        """Have no partition of a connector stand anywhere."""
        self._reader.read_to_end(_READ_S)
        with self._lock:
            resets = self._log.resets(connector)
        if resets:
            self._writer.write(resets)

    def _apply(self, records: Sequence[Record]) -> None:
        with self._lock:
            for record in records:
                self._log.replay(record.key, record.value)


class ConnectorOffsets:
    """The `OffsetStore` of one connector. `fallback` is asked for what `own` has never heard of."""

    def __init__(self, connector: str, own: OffsetTopic, fallback: OffsetTopic | None) -> None:
        self._connector = connector
        self.topic = own.topic
        """Where the offsets are written."""
        self._own = own
        self._fallback = fallback

    def read(self, partition: Position) -> Mapping[str, object] | None:
        """What was kept last of a partition."""
        found = self._own.read(self._connector, partition)
        if found is None and self._fallback is not None:
            return self._fallback.read(self._connector, partition)
        return found

    def all(self) -> list[Known]:
        """What was kept last of every partition."""
        known = self._own.all_of(self._connector)
        if self._fallback is not None:
            here = [partition for partition, _ in known]
            older = self._fallback.all_of(self._connector)
            known += [each for each in older if each[0] not in here]
        return known

    def writes(self, offsets: list[tuple[Position, Position]]) -> list[Write]:
        """The records that keep these, for a task that writes them in its own transaction."""
        return self._own.writes(self._connector, offsets)

    def keep(self, offsets: Sequence[tuple[Position, Position | None]]) -> None:
        """Keep these, all or none; return when they are safe. None: nothing is kept any more."""
        forgotten = [each for each in offsets if each[1] is None]
        if forgotten and self._fallback is not None:
            self._fallback.keep(self._connector, forgotten)
        self._own.keep(self._connector, offsets)

    def reset(self) -> None:
        """Have no partition stand anywhere."""
        if self._fallback is not None:
            self._fallback.reset(self._connector)
        self._own.reset(self._connector)


class OffsetTopics:
    """Those of a worker: the cluster's, and those that connectors have of their own."""

    def __init__(self, client: ClientSettings, settings: WorkerConfig, clock: Clock) -> None:
        self._client = client
        self._settings = settings
        self._clock = clock
        self._kind = settings.state_topic("offset")
        self._lock = threading.Lock()
        self._open: dict[str, OffsetTopic] = {}
        self._opening: OffsetTopic | None = None
        self._is_closed = False

    def open(self) -> None:
        """Read the cluster's topic."""
        self._opened(self._kind.name)

    def close(self) -> None:
        """Stop following all of them, and opening another."""
        self._is_closed = True
        opening = self._opening  # by who holds the lock
        if opening is not None:
            opening.close()
        with self._lock:
            for each in self._open.values():
                each.close()

    def of(self, connector: str, config: Mapping[str, str]) -> ConnectorOffsets:
        """The offsets of a connector with these settings."""
        cluster = self._opened(self._kind.name)
        name = config.get(OWN_TOPIC) or self._kind.name
        if name == self._kind.name:
            return ConnectorOffsets(connector, cluster, None)
        return ConnectorOffsets(connector, self._opened(name), cluster)

    def _opened(self, name: str) -> OffsetTopic:
        with self._lock:
            found = self._open.get(name)
            if found is None:
                if name != self._kind.name:
                    self._ensure(name)
                found = self._open[name] = self._made(name)
            return found

    def _made(self, name: str) -> OffsetTopic:
        committed = self._settings.exactly_once
        made = OffsetTopic(self._client, name, self._clock, read_committed=committed)
        self._opening = made
        try:
            if self._is_closed:
                raise ConnectException(
                    f"the offsets in {name} are not read: this worker stops. They are read where "
                    "the connector runs next"
                )
            made.open(PATIENCE_S if name == self._kind.name else _OWN_PATIENCE_S)
        except BaseException:
            made.close()
            raise
        finally:
            self._opening = None
        return made

    def _ensure(self, name: str) -> None:
        kind = self._kind
        with Admin(self._client) as admin:
            ensure_topic(
                admin,
                "offset",
                StateTopic(name, kind.partitions, kind.replication_factor, kind.settings),
            )
