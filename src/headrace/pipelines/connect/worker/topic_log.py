"""A topic of the cluster's state, read to its end and then followed in a thread of its own.

What is read is handed to `apply` in the order of each partition, own writes included: who has
written waits with `read_to_end` until it has come back. Keys and values are bytes here.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from headrace.client.cluster import Cluster
from headrace.client.faults import TimedOut
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.client.reading import PartitionsReader, Read
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
        self._reading = Cluster(settings)
        self._reader = PartitionsReader(
            self._reading, read_committed=read_committed, max_wait_ms=_WAIT_MS
        )
        # Ends are asked for by other threads than the one that reads.
        self._asking = Cluster(settings)
        self._asks = threading.Lock()
        self._moved = threading.Condition()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"reader of {topic}", daemon=True)

    def open(self) -> None:
        """Read all that is there."""
        places = self._places(self._reading)
        found = list_offsets(
            self._reading,
            dict.fromkeys(places, EARLIEST),
            read_committed=self._read_committed,
        )
        self._reader.assign({place: each.offset for place, each in found.items()})
        ends = self._ends(self._reading)
        while not self._is_at(ends):
            self._read()

    def follow(self) -> None:
        """Go on reading, in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """Stop reading; bounded by the longest fetch."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(_WAIT_MS / 1000 + _REST_S)
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
                    f"{self._reader.fault or 'its reader is behind'}"
                )

    # -- reading ----------------------------------------------------------------------------------

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
        while not self._closing.is_set():
            try:
                self._read()
            except HeadraceError as fault:
                _LOG.error("the topic %s cannot be read, it is tried again: %s", self.topic, fault)
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
