"""The config topic: what it says, followed, and written by the leader alone where that matters.

With `exactly.once.source.support` enabled or in preparation the leader writes in transactions under
an id of the group, so that a worker that takes itself for the leader cannot write any more.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from headrace.client.faults import Fenced
from headrace.client.settings import ClientSettings
from headrace.pipelines.connect.config.worker import WorkerConfig
from headrace.pipelines.connect.state.config_log import Change, ConfigLog, Snapshot, Strange
from headrace.pipelines.connect.state.records import Write
from headrace.pipelines.connect.worker.topic_log import TopicLog
from headrace.pipelines.connect.worker.topic_writer import TopicWriter
from headrace.records.record import Record
from headrace.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)
_READ_BACK_S: Final = 30.0

OnChanges = Callable[[list[Change]], None]
"""Hears, in the reader's thread, of each portion of records that came after the start."""


class ConfigTopic:
    """For any number of threads, but for the leader's writes: those are one thread's."""

    def __init__(
        self,
        client: ClientSettings,
        settings: WorkerConfig,
        clock: Clock,
        on_changes: OnChanges,
    ) -> None:
        self._client = client
        self._clock = clock
        self._on_changes = on_changes
        self._topic = settings.state_topic("config").name
        self._group = settings.text("group.id")
        support = settings.text("exactly.once.source.support").lower()
        self._is_transactional = support != "disabled"
        self._log = ConfigLog()
        self._lock = threading.Lock()
        self._is_open = False
        self._reader = TopicLog(
            client, self._topic, self._apply, read_committed=settings.exactly_once
        )
        self._writer = TopicWriter(client, self._topic, clock)
        self._leading: TopicWriter | None = None

    def open(self) -> None:
        """Read all of it, and follow it from there."""
        self._reader.open()
        self._is_open = True
        self._reader.follow()

    def close(self) -> None:
        """Stop following."""
        self._reader.close()
        self._writer.close()
        self.retire()

    def snapshot(self) -> Snapshot:
        """What the records say that were read."""
        with self._lock:
            return self._log.snapshot()

    def read_to_end(self, timeout_s: float = _READ_BACK_S) -> Snapshot:
        """What all records say that are there now."""
        self._reader.read_to_end(timeout_s)
        return self.snapshot()

    def write(self, writes: Sequence[Write]) -> Snapshot:
        """What any worker may write; returns when it was read back."""
        if writes:
            self._writer.write(writes)
        return self.read_to_end()

    def claim(self) -> None:
        """Become the one who leads: who led before cannot write any more, from here on."""
        if not self._is_transactional or self._leading is not None:
            return
        leading = TopicWriter(
            self._client, self._topic, self._clock, f"connect-cluster-{self._group}"
        )
        try:
            leading.claim()
        except BaseException:
            leading.close()
            raise
        self._leading = leading

    def lead(self, writes: Sequence[Write]) -> Snapshot:
        """What only the leader may write, once it has claimed that: all or nothing if it is
        transactional. Fenced: there is another leader; this one must not shut it out in turn."""
        if not self._is_transactional:
            return self.write(writes)
        if writes:
            if self._leading is None:
                raise Fenced(
                    f"this worker has not claimed the topic {self._topic} for itself, or lost it "
                    "to another leader: it does so after the next rebalance, try again then"
                )
            try:
                self._leading.write(writes)
            except Fenced:
                self.retire()
                raise
        return self.read_to_end()

    def retire(self) -> None:
        """Another worker leads, or may."""
        leading, self._leading = self._leading, None
        if leading is not None:
            leading.close()

    def _apply(self, records: Sequence[Record]) -> None:
        changes: list[Change] = []
        with self._lock:
            for record in records:
                change = self._log.replay(record.offset, record.key, record.value)
                if isinstance(change, Strange):
                    _LOG.error(
                        "%s at offset %d is passed over: %s",
                        self._topic,
                        record.offset,
                        change.reason,
                    )
                else:
                    changes.append(change)
        if self._is_open:
            self._on_changes(changes)
