"""What one partition knows of its producers: idempotence and open transactions.

A producer numbers its batches. The partition remembers the last five of each producer, so that a
retry is answered with the offset of the first try instead of being written twice, and a gap is
refused. It also remembers where each open transaction began: a `read_committed` reader may not see
past the first of them. The rules are those of Apache Kafka 4.3, but for one: a retry ends with its
transaction (decision 0011).

The state is a pure function of the log below `map_end_offset`; it knows no file, no clock and no
segment. `check` decides before a batch is written and changes nothing; `update` tells that it was
written. Batches without a producer id must not be shown to either.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.errors import ClientFault, Error, InvariantViolated
from headrace.log.origin import CLIENT, REPLICATION, Origin
from headrace.log.snapshot import ProducerEntry, Snapshots, decode, encode
from headrace.types import NO_EPOCH, NO_OFFSET, NO_SEQUENCE, NO_TIMESTAMP

if TYPE_CHECKING:
    from headrace.records.batch import BatchHeader
    from headrace.records.control import EndTxnMarker

BATCHES_REMEMBERED: Final = 5
"""A client keeps at most five requests in flight per connection, so older retries cannot happen."""

_MAX_EPOCH: Final = 2**15 - 1
_SEQUENCE_MASK: Final = 2**31 - 1


class CachedBatch(NamedTuple):
    """A batch that was written, with all that a produce response says of it."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class CompletedTransaction(NamedTuple):
    """A transaction whose marker was just written.

    `last_stable_offset` is what readers may reach once the marker is replicated: the next open
    transaction, or the offset after the marker. The transaction index stores it.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    is_abort: bool
    last_stable_offset: int


class _Producer:
    """The changing half of a `ProducerEntry`."""

    __slots__ = (
        "active_ms",
        "batches",
        "coordinator_epoch",
        "epoch",
        "next_sequence",
        "timestamp",
        "txn_first_offset",
    )

    def __init__(self, epoch: int, active_ms: int) -> None:
        self.epoch = epoch
        self.active_ms = active_ms
        self.next_sequence = 0
        self.batches: deque[CachedBatch] = deque(maxlen=BATCHES_REMEMBERED)
        self.timestamp = NO_TIMESTAMP
        self.coordinator_epoch = NO_EPOCH
        self.txn_first_offset = NO_OFFSET

    def begin_epoch(self, epoch: int) -> None:
        """Sequences start over with each epoch; an open transaction goes on."""
        self.epoch = epoch
        self.batches.clear()
        self.next_sequence = 0

    def has_open(self, batch: CachedBatch) -> bool:
        """Whether the batch is part of the transaction that is open here."""
        return 0 <= self.txn_first_offset <= batch.base_offset

    def remember(self, batch: CachedBatch) -> None:
        self.batches.append(batch)
        self.next_sequence = (batch.last_sequence + 1) & _SEQUENCE_MASK
        self.timestamp = batch.timestamp


class ProducerState:
    """Producers and transactions of one partition.

    `map_end_offset` is the offset up to which the log has been taken into account. The log sets it
    after every append, because batches without a producer id move it too.
    """

    __slots__ = (
        "_begun",
        "_ongoing",
        "_producers",
        "_settled",
        "_unreplicated",
        "first_unstable_offset",
        "map_end_offset",
    )

    def __init__(self, map_end_offset: int = 0) -> None:
        self.map_end_offset = map_end_offset
        self.first_unstable_offset: int | None = None
        self._producers: dict[int, _Producer] = {}
        self._ongoing: dict[int, int] = {}  # first offset -> producer id, ascending
        # Ended, but the marker is not replicated yet: (offset of the marker, first offset),
        # ascending. Recovery replicates nothing, so there may be as many as there are in the log.
        self._unreplicated: deque[tuple[int, int]] = deque()
        # First offsets of these and of the ongoing ones, ascending; and those of them that are
        # settled, and wait behind an older one to be dropped.
        self._begun: deque[int] = deque()
        self._settled: set[int] = set()

    def __len__(self) -> int:
        return len(self._producers)

    # Before a batch is written.

    def check(self, header: BatchHeader, origin: Origin) -> CachedBatch | None:
        """Whether a data batch may be written: None, or the written batch that it repeats.

        Raises ClientFault for a fenced producer, a gap, or a batch outside the open transaction.
        """
        producer = self._producers.get(header.producer_id)
        # A producer that is not known may start anywhere: its state may have expired or have left
        # with the segments that retention removed, which is no fault of the client.
        if producer is None or origin is REPLICATION:
            return None
        epoch = header.producer_epoch
        if epoch < producer.epoch:
            raise _fenced(header, producer)
        if origin is CLIENT:
            sequence = header.base_sequence
            if epoch != producer.epoch:
                if sequence != 0:
                    raise _new_epoch_out_of_order(header, producer)
            elif sequence != producer.next_sequence:
                for batch in producer.batches:
                    if batch.first_sequence == sequence:
                        if batch.last_sequence != header.last_sequence:
                            break
                        if header.is_transactional and not producer.has_open(batch):
                            raise _of_another_transaction(header, batch)
                        return batch
                raise _out_of_order(header, producer)
        if producer.txn_first_offset >= 0 and not header.is_transactional:
            raise ClientFault(
                Error.INVALID_TXN_STATE,
                f"producer {header.producer_id} has an open transaction since offset "
                f"{producer.txn_first_offset}; a batch outside it must wait for its end",
            )
        return None

    def check_marker(
        self,
        header: BatchHeader,
        marker: EndTxnMarker,
        origin: Origin,
        *,
        transaction_version: int = 0,
    ) -> None:
        """Whether the end of a transaction may be written.

        From transaction version 2 on (KIP-890) the coordinator raises the epoch before it ends a
        transaction, so a marker with the current epoch is late, unless it repeats one that was
        written already or the epoch cannot be raised any more.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None or origin is REPLICATION:
            return
        epoch = header.producer_epoch
        if epoch < producer.epoch:
            raise _fenced(header, producer)
        if epoch == producer.epoch and transaction_version >= 2:
            repeated = producer.txn_first_offset < 0
            if not repeated and epoch != _MAX_EPOCH:
                raise _fenced(header, producer)
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise ClientFault(
                Error.TRANSACTION_COORDINATOR_FENCED,
                f"the marker for producer {header.producer_id} comes from coordinator epoch "
                f"{marker.coordinator_epoch}; epoch {producer.coordinator_epoch} has taken over",
            )

    # After it was written.

    def update(
        self,
        header: BatchHeader,
        base_offset: int,
        now_ms: int,
        marker: EndTxnMarker | None = None,
    ) -> CompletedTransaction | None:
        """Take a written batch into account; returns the transaction that it ended, if any.

        A control batch without a marker is what compaction leaves of a forgotten transaction.
        """
        producer = self._producers.get(header.producer_id)
        if header.is_control:
            if marker is None:
                return None
            if producer is None:
                producer = self._add(header, now_ms)
            return self._end_transaction(producer, header, base_offset, now_ms, marker)
        if producer is None:
            producer = self._add(header, now_ms)
        elif producer.epoch != header.producer_epoch:
            producer.begin_epoch(header.producer_epoch)
        producer.active_ms = now_ms
        producer.remember(
            CachedBatch(
                header.base_sequence,
                header.last_sequence,
                base_offset,
                base_offset + header.last_offset_delta,
                header.max_timestamp,
            )
        )
        if header.is_transactional and producer.txn_first_offset < 0:
            producer.txn_first_offset = base_offset
            self._ongoing[base_offset] = header.producer_id
            self._begun.append(base_offset)
            if self.first_unstable_offset is None:
                self.first_unstable_offset = base_offset
        return None

    def _add(self, header: BatchHeader, now_ms: int) -> _Producer:
        if header.producer_id < 0:
            raise InvariantViolated(f"a batch with producer id {header.producer_id} has no state")
        producer = self._producers[header.producer_id] = _Producer(header.producer_epoch, now_ms)
        return producer

    def _end_transaction(
        self,
        producer: _Producer,
        header: BatchHeader,
        marker_offset: int,
        now_ms: int,
        marker: EndTxnMarker,
    ) -> CompletedTransaction | None:
        first_offset = producer.txn_first_offset
        if producer.epoch != header.producer_epoch:
            producer.begin_epoch(header.producer_epoch)
        producer.active_ms = now_ms
        producer.timestamp = header.max_timestamp
        producer.coordinator_epoch = marker.coordinator_epoch
        producer.txn_first_offset = NO_OFFSET
        if first_offset < 0:
            return None  # A transaction that wrote nothing here leaves nothing to hide.
        self._ongoing.pop(first_offset, None)
        self._unreplicated.append((marker_offset, first_offset))
        return CompletedTransaction(
            header.producer_id,
            first_offset,
            marker_offset,
            marker.is_abort,
            next(iter(self._ongoing), marker_offset + 1),
        )

    # What readers may see.

    @property
    def first_undecided_offset(self) -> int | None:
        """Where the oldest open transaction began, however far it is replicated."""
        return next(iter(self._ongoing), None)

    def on_high_watermark(self, high_watermark: int) -> None:
        """Markers below the high watermark are safe: their transactions no longer hold readers."""
        if self._unreplicated:
            self._settle_before(high_watermark)

    def on_log_start_offset(self, log_start_offset: int) -> None:
        """The log's beginning was deleted. Producers stay: their retries can still be answered."""
        if self._unreplicated:
            self._settle_before(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)

    def _settle_before(self, offset: int) -> None:
        ended, settled, begun = self._unreplicated, self._settled, self._begun
        while ended and ended[0][0] < offset:
            settled.add(ended.popleft()[1])
        while begun and begun[0] in settled:
            settled.remove(begun.popleft())
        self.first_unstable_offset = begun[0] if begun else None

    # Expiry, snapshots, truncation.

    def expire(self, now_ms: int, expiration_ms: int) -> list[int]:
        """Forget producers that wrote nothing for `expiration_ms`; returns their ids.

        Time is counted from the write itself, not from the records' timestamps: a producer that
        copies last year's records is as alive as any other. An open transaction keeps its producer.
        """
        expired = [
            producer_id
            for producer_id, producer in self._producers.items()
            if producer.txn_first_offset < 0 and now_ms - producer.active_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self._producers[producer_id]
        return expired

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether this producer has written in a transaction that has not ended here."""
        producer = self._producers.get(producer_id)
        return (
            producer is not None
            and producer.txn_first_offset >= 0
            and producer.epoch == producer_epoch
        )

    def active_producers(self) -> list[ProducerEntry]:
        """Every producer, as DescribeProducers and the snapshot show it."""
        entries = []
        for producer_id, producer in self._producers.items():
            last = producer.batches[-1] if producer.batches else None
            entries.append(
                ProducerEntry(
                    producer_id,
                    producer.epoch,
                    NO_SEQUENCE if last is None else last.last_sequence,
                    NO_OFFSET if last is None else last.last_offset,
                    0 if last is None else last.last_offset - last.base_offset,
                    producer.timestamp,
                    producer.coordinator_epoch,
                    producer.txn_first_offset,
                )
            )
        return entries

    def to_snapshot(self) -> bytes:
        return encode(self.active_producers())

    @classmethod
    def from_snapshot(cls, data: bytes, map_end_offset: int, now_ms: int) -> ProducerState:
        state = cls(map_end_offset)
        state._restore(decode(data), now_ms)
        return state

    def truncate_and_reload(
        self, snapshots: Snapshots, log_start_offset: int, log_end_offset: int, now_ms: int
    ) -> None:
        """Fall back to the newest snapshot inside the log after its end was cut off.

        Afterwards the caller replays the log from `map_end_offset`. Snapshots outside the log are
        removed. Nothing is reloaded if the state already ends where the log ends.
        """
        snapshots.remove_outside(log_start_offset, log_end_offset)
        if log_end_offset == self.map_end_offset:
            self.on_log_start_offset(log_start_offset)
            return
        self.clear(log_start_offset)
        newest = snapshots.newest()
        if newest is not None:
            self.map_end_offset, entries = newest
            self._restore(entries, now_ms)

    def clear(self, map_end_offset: int) -> None:
        """Forget everything, as for a log that starts anew at `map_end_offset`."""
        self._producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self._begun.clear()
        self._settled.clear()
        self.first_unstable_offset = None
        self.map_end_offset = map_end_offset

    def _restore(self, entries: Iterable[ProducerEntry], now_ms: int) -> None:
        ongoing: dict[int, int] = {}
        for entry in entries:
            producer = _Producer(entry.producer_epoch, now_ms)
            if entry.last_offset >= 0:
                last_sequence = entry.last_sequence
                delta = entry.offset_delta
                first = (last_sequence - delta) & _SEQUENCE_MASK if last_sequence >= 0 else -1
                base_offset = entry.last_offset - delta
                producer.remember(
                    CachedBatch(
                        first, last_sequence, base_offset, entry.last_offset, entry.timestamp
                    )
                )
            producer.timestamp = entry.timestamp
            producer.coordinator_epoch = entry.coordinator_epoch
            if entry.current_txn_first_offset >= 0:
                producer.txn_first_offset = entry.current_txn_first_offset
                ongoing[entry.current_txn_first_offset] = entry.producer_id
            self._producers[entry.producer_id] = producer
        self._ongoing = dict(sorted(ongoing.items()))
        self._begun.extend(self._ongoing)
        self.first_unstable_offset = self.first_undecided_offset


def _fenced(header: BatchHeader, producer: _Producer) -> ClientFault:
    return ClientFault(
        Error.INVALID_PRODUCER_EPOCH,
        f"producer {header.producer_id} sent epoch {header.producer_epoch}, but epoch "
        f"{producer.epoch} is already in use: another instance has taken over",
    )


def _new_epoch_out_of_order(header: BatchHeader, producer: _Producer) -> ClientFault:
    return ClientFault(
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id} began epoch {header.producer_epoch} (after "
        f"{producer.epoch}) with sequence {header.base_sequence}; a new epoch begins with 0",
    )


def _of_another_transaction(header: BatchHeader, batch: CachedBatch) -> ClientFault:
    """A retry ends with its transaction. Who numbers the records of the next one like those of the
    last has lost count, and an answer that they are written would lose them (decision 0011).
    """
    return ClientFault(
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id} sent sequence {header.base_sequence}, which offset "
        f"{batch.base_offset} has in a transaction that is over; abort, and ask for a new epoch",
    )


def _out_of_order(header: BatchHeader, producer: _Producer) -> ClientFault:
    return ClientFault(
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id} sent sequence {header.base_sequence}, expected "
        f"{producer.next_sequence}; batches before it are missing or it is too old a retry",
    )
