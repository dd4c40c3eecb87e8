"""Raw batches into partitions, each exactly once, in transactions if wanted.

The producer gives batches their identity (producer id, epoch, sequence) and keeps the order of a
transaction's steps; `delivery` carries the batches, `transactions` speaks to coordinators. Records
come encoded and compressed; nothing here looks into them.

    NEW ──begin──> OPEN ──commit, abort──> READY ──begin──> OPEN        with a transactional id
    NEW ──begin, send──> OPEN                                           without

A failure leaves the producer FAILED: `abort`, or `begin` without a transactional id, makes it NEW.
One that was fenced stays so, because beginning again would fence the one that took its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeVar

from headrace.client.cluster import Cluster
from headrace.client.delivery import Batch, Delivery
from headrace.client.faults import Fenced, TimedOut
from headrace.client.transactions import LAST_PRODUCE_V1, Identity, Transactions, init_idempotent
from headrace.errors import ConfigError, HeadraceError
from headrace.records.batch import MAGIC, TRANSACTIONAL_BIT, BatchHeader, seal
from headrace.records.compression import Codec
from headrace.types import NO_EPOCH, Buffer, TopicPartition
from headrace.wire.schema import LAST_VERSION

__all__ = ["Fenced", "RawProducer", "RecordsPayload"]

_T = TypeVar("_T")

_SEQUENCE_MASK: Final = 0x7FFFFFFF
_FILLED_IN: Final = 0
"""In place of what `seal` computes, or the leader stamps."""


@dataclass(frozen=True, slots=True)
class RecordsPayload:
    """The part of a batch after its header, compressed already."""

    records: Buffer
    codec: Codec
    count: int
    base_timestamp: int
    max_timestamp: int


class _State(Enum):
    NEW = "has not begun"
    READY = "has no open transaction"
    OPEN = "is open"
    FAILED = "has failed; abort first"
    FENCED = "was fenced, and another one goes on in its place"


class RawProducer:
    """An idempotent producer of batches, transactional if it has an id."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
        acks: int = -1,
        max_request_bytes: int = 1 << 20,
    ) -> None:
        if acks not in (-1, 1):
            raise ConfigError(f"acks={acks}: allowed are all (-1) and 1, since nothing may be lost")
        self._cluster = cluster
        self._state = _State.NEW
        self._identity = Identity(-1, NO_EPOCH)
        self._sequences: defaultdict[TopicPartition, int] = defaultdict(int)
        self._attributes = 0 if transactional_id is None else TRANSACTIONAL_BIT
        self._transactions = (
            None
            if transactional_id is None
            else Transactions(cluster, transactional_id, transaction_timeout_ms)
        )
        # What the transaction has touched: partitions, and groups whose offsets it commits.
        self._partitions: set[TopicPartition] = set()
        self._groups: set[str] = set()
        self._delivery = Delivery(
            cluster,
            transactional_id=transactional_id,
            acks=acks,
            max_request_bytes=max_request_bytes,
            admit=self._admit,
            last_version=self._last_produce_version,
        )

    def begin(self) -> None:
        """Become this producer (fencing others of the same id) and open a transaction."""
        if self._transactions is None:
            if self._state is not _State.OPEN:
                self._delivery.drop()
                self._become(init_idempotent(self._cluster))
        else:
            self._require(_State.NEW, _State.READY, doing="begin a transaction")
            if self._state is _State.NEW:
                self._become(self._transactions.init())
        self._state = _State.OPEN

    def send(self, topic: str, partition: int, payload: RecordsPayload) -> None:
        """Queue one batch; may wait for room. Failures surface here or in `flush`."""
        if self._state is _State.NEW and self._transactions is None:
            self.begin()
        self._require(_State.OPEN, doing="send")
        batch = self._sealed(TopicPartition(topic, partition), payload)
        self._guarded(lambda: self._delivery.add(batch))

    def flush(self) -> None:
        """Return when everything sent is acknowledged."""
        if self._state in (_State.NEW, _State.READY):
            return
        self._require(_State.OPEN, doing="flush")
        self._guarded(self._delivery.flush)

    def send_offsets(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """Commit offsets of a group (offset, metadata) inside the transaction."""
        transactions = self._transactional("send_offsets")
        self._require(_State.OPEN, doing="send offsets")

        def commit() -> None:
            if group not in self._groups:
                if not transactions.is_v2:
                    transactions.add_group(self._identity, group)
                self._groups.add(group)
            transactions.commit_offsets(self._identity, group, offsets)

        if offsets:
            self._guarded(commit)

    def commit(self) -> None:
        """Flush, then make the transaction's records visible and its offsets count."""
        transactions = self._transactional("commit")
        self.flush()
        self._require(_State.OPEN, doing="commit")
        if self._is_empty:
            self._state = _State.READY
            return
        try:
            after = self._guarded(lambda: transactions.end(self._identity, commit=True))
        except TimedOut as error:
            raise TimedOut(
                f"{error}. Whether the transaction is committed is not known: the coordinator has "
                "decided or will; the next producer with this transactional id waits for it"
            ) from error
        self._end(after)

    def abort(self) -> None:
        """Drop what is not sent yet and make sure that nobody reads the rest."""
        transactions = self._transactional("abort")
        leaves_a_gap = self._delivery.drop() or self._state is _State.FAILED
        # Whoever fenced this producer has ended its transaction as well.
        if self._state not in (_State.OPEN, _State.FAILED):
            return
        before = self._identity
        if not self._is_empty:
            self._end(self._guarded(lambda: transactions.end(before, commit=False)))
        # Batches that were dropped have used up their sequences, and one that failed may be on its
        # way still. If the end did not raise the epoch, the next beginning must.
        has_new_epoch = self._identity != before
        self._state = _State.NEW if leaves_a_gap and not has_new_epoch else _State.READY

    def close(self) -> None:
        """Give up what is not acknowledged and abort an open transaction. The cluster stays."""
        try:
            if self._transactions is not None:
                self.abort()
            self._delivery.drop()
        except HeadraceError:
            pass  # The coordinator aborts it when its time-out has passed.
        if self._state is not _State.FENCED:
            self._state = _State.NEW

    # -- state ------------------------------------------------------------------------------------

    @property
    def _is_empty(self) -> bool:
        return not self._partitions and not self._groups

    def _become(self, identity: Identity) -> None:
        if identity == self._identity:
            return
        self._identity = identity
        self._sequences.clear()
        self._delivery.forget_sequences()

    def _end(self, identity: Identity) -> None:
        self._partitions.clear()
        self._groups.clear()
        self._become(identity)
        self._state = _State.READY

    def _require(self, *states: _State, doing: str) -> None:
        if self._state not in states:
            raise HeadraceError(f"cannot {doing}: the producer {self._state.value}")

    def _transactional(self, doing: str) -> Transactions:
        if self._transactions is None:
            raise HeadraceError(f"{doing} needs a producer with a transactional id")
        return self._transactions

    def _guarded(self, step: Callable[[], _T]) -> _T:
        try:
            return step()
        except HeadraceError as error:
            self._state = _State.FENCED if isinstance(error, Fenced) else _State.FAILED
            raise

    # -- batches ----------------------------------------------------------------------------------

    def _sealed(self, place: TopicPartition, payload: RecordsPayload) -> Batch:
        sequence = self._sequences[place]
        self._sequences[place] = (sequence + payload.count) & _SEQUENCE_MASK
        header = BatchHeader(
            base_offset=0,
            batch_length=_FILLED_IN,
            partition_leader_epoch=NO_EPOCH,
            magic=MAGIC,
            crc=_FILLED_IN,
            attributes=payload.codec | self._attributes,
            last_offset_delta=payload.count - 1,
            base_timestamp=payload.base_timestamp,
            max_timestamp=payload.max_timestamp,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            base_sequence=sequence,
            record_count=payload.count,
        )
        return Batch(place, seal(header, payload.records), payload.count)

    def _admit(self, places: Collection[TopicPartition]) -> None:
        """Before batches leave: their partitions belong to the transaction from here on."""
        if self._transactions is None:
            return
        new = [place for place in places if place not in self._partitions]
        if new and not self._transactions.is_v2:
            self._transactions.add_partitions(self._identity, new)
        self._partitions.update(new)

    def _last_produce_version(self) -> int:
        if self._transactions is None or self._transactions.is_v2:
            return LAST_VERSION
        return LAST_PRODUCE_V1
