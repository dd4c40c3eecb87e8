"""A topic as the registry's memory: read to the end, followed, written by the primary.

One thread reads. Whatever it reads is handed to `apply` in the order of the log, own writes
included: a write counts when it has come back through the reader, so that every instance knows
history in the same order. Every wait is bounded: a write that is not confirmed in time is answered
50002, and whether it happened is decided by the fence that precedes the next one.

Decisions and writes belong to one thread, which is the caller's care: `prepare`, decide, `append`.
The module knows keys and values as bytes only.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from headrace.client.cluster import Cluster
from headrace.client.faults import BrokerRefused, Fenced, OffsetOutOfRange, TimedOut
from headrace.client.fetching import PartitionFetcher
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.errors import ConfigError, CorruptData, Error, HeadraceError
from headrace.records.batch import BatchHeader, damage, split_batches
from headrace.records.record import iterate
from headrace.registry import errors
from headrace.registry.settings import RegistrySettings
from headrace.registry.topic import cluster_id, ensure_topic
from headrace.registry.writer import FencedWriter, KeyValue, Mark
from headrace.types import TopicPartition

_LOG: Final = logging.getLogger(__name__)

_FETCH_BYTES: Final = 4 << 20
_FETCH_WAIT_MS: Final = 500
_RETRY_S: Final = 0.2
_REMEMBERED_PRODUCERS: Final = 64
_NONE: Final = Mark(-1, -1, -1)
_TOO_LARGE: Final = (Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE)


class StoredRecord(NamedTuple):
    """A record of the topic."""

    key: bytes
    value: bytes | None
    offset: int
    timestamp_ms: int


class Deposed(HeadraceError):
    """Another instance writes in the place of this one."""


Apply = Callable[[Sequence[StoredRecord]], None]


class TopicStore:
    """`open`, then `follow`: `apply` is called in the thread of the first, then in the reader's."""

    def __init__(
        self,
        settings: RegistrySettings,
        topic: str,
        apply: Apply,
        *,
        fence_record: KeyValue | None,
    ) -> None:
        """Without a record to fence with, `prepare` reads up to the end instead.

        That is for topics whose other readers would choke on such a record; their writes must be
        preceded by one to a topic that has it.
        """
        self._settings = settings
        self._apply = apply
        self._fence_record = fence_record
        self._place = TopicPartition(topic, 0)
        # Reader and writer block independently of each other, so each has connections of its own.
        self._reading = Cluster(settings.kafka)
        self._writing = Cluster(
            replace(
                settings.kafka,
                api_timeout_ms=settings.timeout_ms,
                request_timeout_ms=min(settings.kafka.request_timeout_ms, settings.timeout_ms),
            )
        )
        self._writer = FencedWriter(self._writing, self._place, f"{settings.group_id}-{topic}")
        self._is_fenced = False
        self._moved = threading.Condition()
        self._offset = 0
        # The newest batch of each recent producer: own writes are recognised by it.
        self._seen: dict[int, Mark] = {}
        self._failure: str | None = None
        self.kafka_cluster_id = ""
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"reader of {topic}", daemon=True)

    # -- life -------------------------------------------------------------------------------------

    def open(self) -> None:
        """Make or check the topic and read all of it; `follow` goes on from there."""
        settings = self._settings
        patient = Cluster(replace(settings.kafka, api_timeout_ms=settings.init_timeout_ms))
        try:
            ensure_topic(patient, settings, self._place.topic)
            self.kafka_cluster_id = cluster_id(patient)
            self._offset = self._end(patient, EARLIEST)
            end = self._end(patient, LATEST)
            fetcher = self._fetcher(patient)
            while self._offset < end:
                self._read(fetcher)
        except TimedOut as error:
            raise ConfigError(
                f"the topic {self._place.topic} could not be read within "
                f"kafkastore.init.timeout.ms={settings.init_timeout_ms}: {error}"
            ) from error
        finally:
            patient.close()

    def follow(self) -> None:
        """Read on, in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """Stop following; bounded by the longest fetch."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(_FETCH_WAIT_MS / 1000 + 1)
        self._writing.close()

    @property
    def failure(self) -> str | None:
        """Why the topic cannot be followed any more, or not at the moment; None if it is."""
        return self._failure

    @property
    def offset(self) -> int:
        """The next offset to be read."""
        return self._offset

    # -- writing ----------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Before a decision: no other writer comes after this, and all that they wrote is known.

        It does something only at first and after a failure.
        """
        if not self._is_fenced:
            self._guarded(self._fence)

    def doubt(self) -> None:
        """Somebody else may have written: the next `prepare` makes sure."""
        self._is_fenced = False

    def append(self, records: Sequence[KeyValue]) -> None:
        """Write what was decided after `prepare`; return when the records have been applied."""
        if not self._is_fenced:
            raise Deposed("the store was not prepared for this write")
        self._guarded(lambda: self._await(self._writer.write(records)))

    def _fence(self) -> None:
        self._writer.fence()
        if self._fence_record is not None:
            self._await(self._writer.write([self._fence_record]))
        else:
            end = self._end(self._writing, LATEST)
            self._wait_for(lambda: self._offset >= end)
        self._is_fenced = True

    def _guarded(self, step: Callable[[], None]) -> None:
        """Do it; a failure leaves the writer to be fenced again, and becomes an answer."""
        try:
            step()
        except Fenced as error:
            self._is_fenced = False
            raise Deposed(str(error)) from error
        except TimedOut as error:
            self._is_fenced = False
            raise errors.operation_timeout(
                f"Writing to the Kafka store timed out: {error}"
            ) from error
        except BrokerRefused as error:
            self._is_fenced = False
            if error.error in _TOO_LARGE:
                raise errors.RegistryError(
                    42209, f"Write failed because schema is too large: {error}"
                ) from error
            raise errors.store_error(f"Writing to the Kafka store failed: {error}") from error
        except HeadraceError as error:
            self._is_fenced = False
            raise errors.store_error(f"Writing to the Kafka store failed: {error}") from error

    def _await(self, mark: Mark) -> None:
        """Return when the reader has applied the batch with this mark."""
        self._wait_for(lambda: self._has_seen(mark))

    def _wait_for(self, is_read: Callable[[], bool]) -> None:
        timeout_s = self._settings.timeout_ms / 1000
        with self._moved:
            if not self._moved.wait_for(is_read, timeout_s):
                raise TimedOut(
                    f"{self._place.topic} was not read back within {timeout_s:g} s "
                    f"(kafkastore.timeout.ms); {self._failure or 'the reader is behind'}"
                )

    def _has_seen(self, mark: Mark) -> bool:
        return self._seen.get(mark.producer_id, _NONE) >= mark

    # -- reading ----------------------------------------------------------------------------------

    def _end(self, cluster: Cluster, which: int) -> int:
        found = list_offsets(cluster, {self._place: which}, read_committed=False)
        return found[self._place].offset

    def _fetcher(self, cluster: Cluster) -> PartitionFetcher:
        return PartitionFetcher(
            cluster,
            *self._place,
            read_committed=False,
            max_bytes=_FETCH_BYTES,
            max_wait_ms=_FETCH_WAIT_MS,
        )

    def _follow(self) -> None:
        fetcher = self._fetcher(self._reading)
        while not self._closing.is_set():
            try:
                self._read(fetcher)
                self._failure = None
            except OffsetOutOfRange as error:
                self._failure = str(error)
                if error.offset > error.end_offset:
                    _LOG.error("%s. What was read before is served on; nothing is written", error)
                    self._closing.wait(_FETCH_WAIT_MS / 1000)
                else:
                    self._offset = error.log_start_offset
            except HeadraceError as error:
                if self._failure is None:
                    _LOG.warning("the topic %s cannot be followed: %s", self._place.topic, error)
                self._failure = str(error)
                self._closing.wait(_RETRY_S)
        # Here and not in `close`: a fetch under way would connect anew.
        self._reading.close()

    def _read(self, fetcher: PartitionFetcher) -> None:
        """Fetch once and apply what came, batch by batch."""
        fetched = fetcher.fetch(self._offset)
        for header, view in split_batches(fetched.records, allow_partial_tail=True):
            if header.next_offset <= self._offset:
                continue
            self._apply(self._records(header, view))
            self._advance(header)

    def _records(self, header: BatchHeader, view: memoryview) -> list[StoredRecord]:
        if header.is_control:
            return []
        wrong = damage(view, header)
        try:
            if wrong is not None:
                raise CorruptData(f"the batch at offset {header.base_offset} is damaged: {wrong}")
            return [
                StoredRecord(record.key or b"", record.value, record.offset, record.timestamp)
                for record in iterate(header, view)
                if record.offset >= self._offset
            ]
        except CorruptData as error:
            _LOG.error("%s: %s; it is left out", self._place, error)
            return []

    def _advance(self, header: BatchHeader) -> None:
        with self._moved:
            self._offset = header.next_offset
            if header.has_producer_id:
                producer_id = header.producer_id
                self._seen.pop(producer_id, None)
                self._seen[producer_id] = Mark(
                    producer_id, header.producer_epoch, header.last_sequence
                )
                if len(self._seen) > _REMEMBERED_PRODUCERS:
                    del self._seen[next(iter(self._seen))]
            self._moved.notify_all()
