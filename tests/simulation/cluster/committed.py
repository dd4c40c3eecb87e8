"""What is committed of one partition, as nobody in the cluster knows it: one sequence of batches.

The first leader whose high watermark passes a batch makes it committed. From then on it must be
there: every other replica that says of a batch that it is below its own high watermark must have
the same one, in the same place, after the same predecessors. That is compared with a hash chain:
each batch has one number that stands for it and for all before it.

It also knows what a reader of committed records must see of it, and that no idempotent producer has
a batch twice, or out of order, or with one missing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from headrace.log import PartitionLog
from headrace.records.batch import BatchHeader, split_batches
from headrace.records.control import parse_control
from headrace.records.record import iterate
from headrace.types import TopicPartition
from tests.simulation.failure import check, fail
from tests.simulation.reading import VisibleRecord

_MOST_BYTES: Final = 1 << 20
_NOTHING: Final = b""


class Batch(NamedTuple):
    """A committed batch: where it ends, what it is, and the chain up to it."""

    base_offset: int
    end_offset: int
    crc: int
    chain: bytes
    header: BatchHeader
    is_abort: bool
    values: tuple[bytes, ...]


def read_batches(log: PartitionLog, offset: int, up_to: int) -> Iterator[tuple[BatchHeader, bytes]]:
    """The batches of a replica from `offset` on that end at or before `up_to`."""
    while offset < up_to:
        data = memoryview(log.read(offset, _MOST_BYTES, up_to=up_to).data())
        before = offset
        for header, view in split_batches(data, allow_partial_tail=True):
            if header.next_offset > offset:
                yield header, bytes(view)
                offset = header.next_offset
        if offset == before:
            return


class CommittedLog:
    """See the module."""

    def __init__(self, where: TopicPartition, topic_id: UUID) -> None:
        self.where = where
        self.topic_id = topic_id
        self.batches: list[Batch] = []
        self.epoch = -1  # the last leader epoch that committed something
        self.era = 0  # grows when records may be lost and are
        self.era_epoch = -1
        self.stable = 0
        self._ends: list[int] = []
        self._sequences: dict[int, tuple[int, int]] = {}  # producer id: epoch, last sequence
        self._open: dict[int, int] = {}  # producer id: first offset of its transaction
        # Each transaction's end, once it is there: by producer while it is open, and by the base
        # offsets of its batches.
        self._fates: dict[int, list[bool]] = {}
        self._outcomes: dict[int, list[bool]] = {}

    @property
    def end(self) -> int:
        return self._ends[-1] if self._ends else 0

    def chain_at(self, offset: int) -> bytes | None:
        """The chain of everything below an offset where a batch ends; None if none ends there."""
        if offset == 0:
            return _NOTHING
        index = bisect_left(self._ends, offset)
        found = index < len(self._ends) and self._ends[index] == offset
        return self.batches[index].chain if found else None

    def batch_at(self, base_offset: int) -> Batch | None:
        """The batch that begins at an offset."""
        index = bisect_left(self._ends, base_offset + 1)
        if index < len(self.batches) and self.batches[index].base_offset == base_offset:
            return self.batches[index]
        return None

    def extend(self, header: BatchHeader, data: bytes, leader_epoch: int) -> None:
        """One more batch is committed."""
        chain = chained(self.batches[-1].chain if self.batches else _NOTHING, data)
        is_abort, values = False, []
        for record in iterate(header, memoryview(data)):
            if header.is_control:
                marker = parse_control(record)
                is_abort = marker is not None and not marker.commit
            else:
                values.append(bytes(record.value or b""))
        batch = Batch(
            header.base_offset,
            header.next_offset,
            header.crc,
            chain,
            header,
            is_abort,
            tuple(values),
        )
        self._check_sequence(header)
        self.batches.append(batch)
        self._ends.append(batch.end_offset)
        self.epoch = max(self.epoch, leader_epoch)
        self._take(batch)

    def _check_sequence(self, header: BatchHeader) -> None:
        producer_id = header.producer_id
        if producer_id < 0:
            return
        known = self._sequences.get(producer_id)
        epoch, last = known if known is not None else (header.producer_epoch, -1)
        if header.producer_epoch < epoch and not header.is_control:
            fail(
                "no-duplicates",
                f"{self.where} has a batch of producer {producer_id} of epoch "
                f"{header.producer_epoch} after one of {epoch}",
            )
        if header.is_control:
            if header.producer_epoch > epoch:  # transactions v2 raise it with every end
                epoch, last = header.producer_epoch, -1
            self._sequences[producer_id] = (epoch, last)
            return
        if header.base_sequence < 0:
            return
        if header.producer_epoch > epoch:
            last = -1
        if header.base_sequence <= last:
            fail(
                "no-duplicates",
                f"{self.where} has sequence {header.base_sequence} of producer {producer_id} at "
                f"offset {header.base_offset} after {last}",
            )
        if header.base_sequence != last + 1 and known is not None:
            fail(
                "no-gaps",
                f"{self.where} has sequence {header.base_sequence} of producer {producer_id} at "
                f"offset {header.base_offset} after {last}",
            )
        self._sequences[producer_id] = (header.producer_epoch, header.last_sequence)

    def _take(self, batch: Batch) -> None:
        """Follow the transactions."""
        header = batch.header
        if not header.is_transactional:
            return
        if header.is_control:
            fate = self._fates.pop(header.producer_id, None)
            self._open.pop(header.producer_id, None)
            if fate is not None:
                fate.append(not batch.is_abort)
            return
        self._open.setdefault(header.producer_id, batch.base_offset)
        fate = self._fates.setdefault(header.producer_id, [])
        self._outcomes[batch.base_offset] = fate

    # What a reader of committed records sees.

    def newly_stable(self) -> list[VisibleRecord]:
        """What has become visible since the last look, in the order of offsets."""
        stable = min(self._open.values(), default=self.end)
        if stable <= self.stable:
            return []
        index = bisect_left(self._ends, self.stable + 1)
        found: list[VisibleRecord] = []
        while index < len(self.batches) and self.batches[index].end_offset <= stable:
            found += self._visible(self.batches[index])
            index += 1
        self.stable = stable
        return found

    def _visible(self, batch: Batch) -> list[VisibleRecord]:
        header = batch.header
        if header.is_control:
            return []
        if header.is_transactional and not self._outcomes[batch.base_offset][0]:
            return []
        return [
            VisibleRecord(offset, value)
            for offset, value in enumerate(batch.values, batch.base_offset)
        ]

    def visible_between(self, first: int, up_to: int) -> list[VisibleRecord]:
        """What must be seen of whole batches from `first` to `up_to`, all of it stable."""
        index = bisect_left(self._ends, first + 1)
        found: list[VisibleRecord] = []
        while index < len(self.batches) and self.batches[index].end_offset <= up_to:
            found += self._visible(self.batches[index])
            index += 1
        return [record for record in found if record.offset >= first]

    # When records may be lost.

    def cut(self, end: int, leader_epoch: int) -> None:
        """What is beyond is lost, and nobody promised otherwise."""
        keep = bisect_left(self._ends, end + 1)
        batches = self.batches[:keep]
        self.batches, self._ends = [], []
        self._sequences, self._open, self._fates = {}, {}, {}
        self._outcomes = {}
        for batch in batches:
            self.batches.append(batch)
            self._ends.append(batch.end_offset)
            header = batch.header
            if header.producer_id >= 0 and not header.is_control and header.base_sequence >= 0:
                self._sequences[header.producer_id] = (header.producer_epoch, header.last_sequence)
            self._take(batch)
        self.stable = min(self.stable, self.end)
        self.era += 1
        self.era_epoch = leader_epoch


class Mortal(Protocol):
    """The life of a broker, of which it matters here only whether it is over."""

    @property
    def is_dead(self) -> bool: ...


class ReplicaView:
    """How far one replica was compared with what is committed."""

    __slots__ = ("compared", "era", "high_watermark", "leads", "led", "life", "log", "truncations")

    def __init__(self, log: PartitionLog, life: Mortal) -> None:
        self.log = log
        self.life = life
        self.truncations = log.truncations
        self.compared = 0  # offset
        self.era = 0
        self.high_watermark = 0
        self.leads = -1  # in which leader epoch
        self.led = -1  # in which one it died, until it was looked at again

    def compare(self, committed: CommittedLog, up_to: int, who: str) -> None:
        """Compare this replica's batches below an offset with the committed ones."""
        up_to = min(up_to, committed.end)
        if up_to <= self.compared:
            return
        chain = committed.chain_at(self.compared)
        assert chain is not None
        for header, data in read_batches(self.log, self.compared, up_to):
            chain = chained(chain, data)
            wanted = committed.chain_at(header.next_offset)
            check(
                wanted == chain,
                "logs-agree",
                f"{who} of {committed.where} differs from what is committed at offset "
                f"{header.base_offset} (leader epoch {header.partition_leader_epoch})",
            )
            self.compared = header.next_offset


def chained(chain: bytes, data: bytes) -> bytes:
    return blake2b(data, key=chain, digest_size=8).digest()
