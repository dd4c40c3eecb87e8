"""What compaction leaves of one batch.

A batch stays as it is, loses records, or goes. The rules are those of Apache Kafka 4.3:

- a record stays if it is the newest of its key; records of aborted transactions go;
- a tombstone, the newest record of its key without a value, stays for `delete.retention.ms` after
  the compaction that first met it. That compaction notes in the batch when the time will be over:
  the delete horizon (KIP-534);
- a marker stays while its transaction has records, and then for `delete.retention.ms` likewise;
- the last batch of each active producer stays, if need be without records, because a restarted
  broker learns the producer's sequence from it; so does the last batch that is compacted at all,
  because it says how far the log had come.

Batches keep their base offset, last offset, producer and codec. Nothing here reads or writes files.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import Final

from headrace.log.compaction.key_map import STAYS, SUPERSEDED, TOMBSTONE, KeyMap
from headrace.log.compaction.plan import CleaningPlan
from headrace.log.compaction.record_keys import cut_out, read_keys, shift_time, time_delta
from headrace.log.compaction.transactions import TransactionWalk
from headrace.records.batch import DELETE_HORIZON_BIT, LOG_APPEND_TIME_BIT, BatchHeader, seal
from headrace.records.builder import rebuild_batch
from headrace.records.compression import compress as compress_payload
from headrace.records.record import read_payload, wrap_int64
from headrace.types import Buffer

_IS_KEPT: Final = bytes(fate != SUPERSEDED for fate in range(256))
"""Translates fates into truth values."""


@dataclass(slots=True)
class Retention:
    """Judges the batches of one compaction, each once and in the order of the log."""

    plan: CleaningPlan
    keys: KeyMap
    mapped_from: int
    """Base offset of the first batch whose keys are in the map."""
    mapped_up_to: int
    """Base offset of the first batch behind them. What is there is left to the next compaction."""
    transactions: TransactionWalk
    _mapped_records: int = 0

    def what_is_left(self, header: BatchHeader, batch: memoryview) -> Buffer | None:
        """The batch, another one in its place, or None."""
        if header.is_control:
            return self._of_control(header, batch)
        is_aborted = self.transactions.is_aborted(header)
        is_mapped = self.mapped_from <= header.base_offset < self.mapped_up_to
        first = self._mapped_records
        if is_mapped:
            self._mapped_records += header.record_count
        if is_aborted:
            return self._without_records(header)
        if header.base_offset >= self.mapped_up_to:
            return batch
        count = header.record_count
        fates = self.keys.fates(first, count) if is_mapped else self._look_up(header, batch)
        if self._is_over(header.delete_horizon_ms):
            fates = fates.replace(bytes((TOMBSTONE,)), bytes((SUPERSEDED,)))
        superseded = fates.count(SUPERSEDED)
        if superseded == count:
            return self._without_records(header)
        if header.delete_horizon_ms is None and TOMBSTONE in fates:
            return _rebuilt(header, batch, fates, self._horizon_ms)
        return batch if superseded == 0 else _rebuilt(header, batch, fates)

    def _of_control(self, header: BatchHeader, batch: memoryview) -> Buffer | None:
        if not self.transactions.is_spent(header, batch):
            return batch
        if header.record_count == 0 or self._is_over(header.delete_horizon_ms):
            return self._without_records(header)
        if header.delete_horizon_ms is None:
            return _rebuilt(header, batch, bytes(header.record_count), self._horizon_ms)
        return batch

    def _look_up(self, header: BatchHeader, batch: memoryview) -> bytes:
        """The fates of older records, which depend on what is in the map."""
        keys, tombstones, keyless = read_keys(read_payload(header, batch), header.record_count)
        fates = bytearray(len(keys))
        for index in self.keys.find(keys):
            fates[index] = SUPERSEDED
        for index in keyless:
            fates[index] = SUPERSEDED
        for index in tombstones:
            if fates[index] == STAYS:
                fates[index] = TOMBSTONE
        return bytes(fates)

    def _is_over(self, horizon_ms: int | None) -> bool:
        return horizon_ms is not None and horizon_ms <= self.plan.now_ms

    def _without_records(self, header: BatchHeader) -> bytes | None:
        return rebuild_batch(header, ()) if self._must_stay(header) else None

    def _must_stay(self, header: BatchHeader) -> bool:
        if header.next_offset == self.plan.first_uncleanable_offset:
            return True
        last = self.plan.producers.get(header.producer_id)
        if last is None:
            return False
        if last.last_offset >= 0:
            return header.last_offset == last.last_offset
        return header.is_control and header.producer_epoch == last.epoch

    @property
    def _horizon_ms(self) -> int:
        """When tombstones and markers may go that are met now for the first time."""
        return self.plan.now_ms + self.plan.delete_retention_ms


def _rebuilt(
    header: BatchHeader, batch: memoryview, fates: bytes, horizon_ms: int | None = None
) -> bytes:
    """The records that stay, byte by byte as they were, in a batch that is as it was otherwise.

    A new delete horizon takes the place of the base timestamp, from which records count their own.
    """
    kept = compress(range(len(fates)), fates.translate(_IS_KEPT))
    records = cut_out(read_payload(header, batch), kept)
    header = header._replace(record_count=len(records))
    if horizon_ms is not None:
        shift = header.base_timestamp - horizon_ms
        records = [shift_time(record, shift) for record in records]
        attributes = header.attributes | DELETE_HORIZON_BIT
        header = header._replace(attributes=attributes, base_timestamp=horizon_ms)
    if not header.attributes & LOG_APPEND_TIME_BIT:
        latest = wrap_int64(header.base_timestamp + max(map(time_delta, records)))
        header = header._replace(max_timestamp=latest)
    return seal(header, compress_payload(header.compression, b"".join(records)))
