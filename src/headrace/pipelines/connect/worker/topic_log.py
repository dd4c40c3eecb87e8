"""A topic of the cluster's state, read to its end and then followed in a thread of its own.

What is read is handed to `apply` in the order of each partition, own writes included: who has
written waits with `read_to_end` until it has come back. Keys and values are bytes here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from headrace.client.cluster import Cluster
from headrace.client.faults import TimedOut
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.client.reading import PartitionsReader, Read
from headrace.client.retrying import OUTAGE
from headrace.client.settings import ClientSettings
from headrace.errors import HeadraceError
from headrace.pipelines.source.gaps import Unfilled
from headrace.pipelines.source.selection import select
from headrace.pipelines.source.split import OffsetRange
from headrace.records.record import Record, iterate
from headrace.types import TopicPartition

_LOG: Final = logging.getLogger(__name__)
_NO_END: Final = (1 << 63) - 1
_WAIT_MS: Final = 500
_REST_S: Final = 1.0
_CALL_MS: Final = 10_000
"""How long one attempt to find a leader may take: between attempts it is looked who has closed."""
PATIENCE_S: Final = 60.0

_REMEDY: Final = (
    "Bring back the brokers that have the replicas of its partitions, so that each has a leader, "
    "and start again what reads it"
)

Apply = Callable[[Sequence[Record]], None]
"""Takes records of one partition, all that one answer of a broker had of it."""


class TopicLog:
    """`open` it, `follow` it, `close` it. `apply` is called by one thread at a time."""

    def __init__(
        self, settings: ClientSettings, topic: str, apply: Apply, *, read_committed: bool
    ) -> None:
        self.topic = topic
        self._apply = apply
        self._read_committed = read_committed
        attempt_ms = min(settings.api_timeout_ms, _CALL_MS)
        self._reading = Cluster(replace(settings, api_timeout_ms=attempt_ms))
        self._reader = PartitionsReader(
            self._reading, read_committed=read_committed, max_wait_ms=_WAIT_MS
        )
        # Ends are asked for by other threads than the one that reads.
        self._asking = Cluster(settings)
        self._asks = threading.Lock()
        self._reads = threading.Lock()
        """Held by who reads: nobody else lets its connections go."""
        self._fault: Exception | None = None
        self._moved = threading.Condition()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"reader of {topic}", daemon=True)

    def open(self, patience_s: float = PATIENCE_S) -> None:
        """Read all that is there; TimedOut if nothing comes for so long and more is to come."""
        with self._reads:
            try:
                self._read_all(patience_s)
            except BaseException:
                self._reading.close()
                raise

    def follow(self) -> None:
        """Go on reading, in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """Stop reading, also what is being opened; bounded by the longest fetch."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(_WAIT_MS / 1000 + _REST_S)
        if self._reads.acquire(timeout=_REST_S):  # whoever still reads closes it later
            self._reading.close()
            self._reads.release()
        with self._asks:
            self._asking.close()

    def read_to_end(self, timeout_s: float) -> None:
        """Return when all that the topic has now was applied; TimedOut if that takes too long."""
        with self._asks:
            ends = self._ends(self._asking)
        with self._moved:
            if not self._moved.wait_for(lambda: self._is_at(ends), timeout_s):
                raise TimedOut(
                    f"the topic {self.topic} was not read to its end within {timeout_s:g} s; "
                    f"{self._told() or self._reader.fault or 'its reader is behind'}"
                )

    def _told(self) -> str:
        """The fault of the reader, with its kind: not every fault has a text."""
        fault = self._fault
        if fault is None or isinstance(fault, HeadraceError):
            return str(fault or "")
        return f"its reader fails, the log of this worker has the trace: {fault!r}"

    # -- reading ----------------------------------------------------------------------------------

    def _read_all(self, patience_s: float) -> None:
        began = time.monotonic()
        while (found := self._limits(began + patience_s)) is None:
            pass
        begins, ends = found
        self._reader.assign(begins)
        seen, until = dict(begins), time.monotonic() + patience_s
        while not self._is_at(ends):
            self._check_open()
            self._read()
            if seen != self._reader.positions:
                seen, until = dict(self._reader.positions), time.monotonic() + patience_s
            elif time.monotonic() > until:
                raise TimedOut(self._stuck(ends, patience_s))

    def _limits(
        self, until: float
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]] | None:
        """Where the partitions begin and end; None if that is to be asked again."""
        self._check_open()
        try:
            found = list_offsets(
                self._reading,
                dict.fromkeys(self._places(self._reading), EARLIEST),
                read_committed=self._read_committed,
            )
            return {place: each.offset for place, each in found.items()}, self._ends(self._reading)
        except OUTAGE as fault:
            if time.monotonic() > until:
                raise TimedOut(
                    f"the topic {self.topic} cannot be read: {fault}. {_REMEDY}"
                ) from fault
            return None

    def _check_open(self) -> None:
        if self._closing.is_set():
            raise HeadraceError(
                f"the topic {self.topic} was not read to its end: who reads it stops. Start it "
                "again to read all of it"
            )

    def _stuck(self, ends: Mapping[TopicPartition, int], patience_s: float) -> str:
        positions = self._reader.positions
        missing = ", ".join(
            f"{place} (at offset {positions[place]} of {end})"
            for place, end in ends.items()
            if positions[place] < end
        )
        cause = self._reader.fault or "the broker answers without records"
        return f"nothing came of {missing} for {patience_s:g} s: {cause}. {_REMEDY}"

    def _places(self, cluster: Cluster) -> list[TopicPartition]:
        return [TopicPartition(self.topic, each) for each in cluster.topic(self.topic).partitions]

    def _ends(self, cluster: Cluster) -> dict[TopicPartition, int]:
        found = list_offsets(
            cluster,
            dict.fromkeys(self._places(cluster), LATEST),
            read_committed=self._read_committed,
        )
        return {place: each.offset for place, each in found.items()}

    def _is_at(self, ends: dict[TopicPartition, int]) -> bool:
        positions = self._reader.positions
        return all(positions.get(place, end) >= end for place, end in ends.items())

    def _follow(self) -> None:
        """Whatever a record or a broker does, the next attempt may go well; until then it is told,
        here and to who waits for the end of the topic."""
        with self._reads:
            while not self._closing.is_set():
                try:
                    self._read()
                    self._fault = None
                except Exception as fault:
                    self._fault = fault
                    is_known = isinstance(fault, HeadraceError)
                    _LOG.error(
                        "the topic %s cannot be read, it is tried again: %s",
                        self.topic,
                        fault if is_known else repr(fault),
                        exc_info=None if is_known else fault,
                    )
                    self._closing.wait(_REST_S)
            self._reading.close()

    def _read(self) -> None:
        for read in self._reader.poll():
            if read.fetched is None:
                self._begin_again(read.place)
            else:
                self._take(read)

    def _take(self, read: Read) -> None:
        assert read.fetched is not None
        wanted = OffsetRange(*read.place, read.offset, _NO_END)
        found = select(
            read.fetched, wanted, read_committed=self._read_committed, unfilled=Unfilled()
        )
        records = [
            record
            for header, view in found.data
            for record in iterate(header, view)
            if record.offset >= read.offset
        ]
        if records:
            self._apply(records)
        with self._moved:
            self._reader.advance(read.place, found.next_offset)
            self._moved.notify_all()

    def _begin_again(self, place: TopicPartition) -> None:
        """The offset is gone: compaction or a new topic of the same name."""
        found = list_offsets(self._reading, {place: EARLIEST}, read_committed=self._read_committed)
        _LOG.warning("%s is read again from offset %d on", place, found[place].offset)
        self._reader.advance(place, found[place].offset)
