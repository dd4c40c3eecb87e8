"""The small files beside a log: offset and time indexes, producers' state, aborted transactions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from headrace.cli.dump_log.indexes import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    Batches,
    batches_beside,
    used,
)
from headrace.cli.dump_log.mapped import base_offset_of, read_small
from headrace.cli.kafka_compat.administering import Told
from headrace.cli.kafka_compat.dumping.segment import optional
from headrace.log import snapshot, txn_index
from headrace.log.names import LOG

_NO_TIMESTAMP: Final = -1
_TXN_VERSION: Final = 0


class Faults(NamedTuple):
    """What indexes say and their logs do not, as Kafka's tool tells it at the end."""

    offsets: dict[Path, list[tuple[int, int]]]
    times: dict[Path, list[tuple[int, int]]]
    order: dict[Path, list[tuple[int, int]]]
    missing: dict[Path, list[tuple[int, int]]]

    def lines(self) -> Iterator[str]:
        for path, pairs in self.offsets.items():
            yield f"Mismatches in :{path.absolute()}"
            for index, log in sorted(pairs, reverse=True):
                yield f"  Index offset: {index}, log offset: {log}"
        for path, pairs in self.times.items():
            yield f"Found timestamp mismatch in :{path.absolute()}"
            for index, log in pairs:
                yield f"  Index timestamp: {index}, log timestamp: {log}"
        for path, pairs in self.order.items():
            yield f"Found out of order timestamp in :{path.absolute()}"
            for index, before in pairs:
                yield f"  Index timestamp: {index}, Previously indexed timestamp: {before}"
        for pairs in self.missing.values():
            yield "The following indexed offsets are not found in the log."
            for index, log in pairs:
                yield f"Indexed offset: {index}, found log offset: {log}"


def no_faults() -> Faults:
    return Faults({}, {}, {}, {})


def dump_offset_index(
    path: Path, faults: Faults, *, sanity_only: bool, verify_only: bool
) -> Iterator[str]:
    base = base_offset_of(path)
    log = _log_of(path)
    entries = list(OFFSET_ENTRY.iter_unpack(used(path, OFFSET_ENTRY.size)))
    if not entries:
        yield f"{path} is empty."
        return
    if sanity_only:
        if entries[-1][0] < 0 or (len(entries) > 1 and entries[-1][0] == 0):
            raise Told(
                f"Corrupt index found, index file ({path}) has non-zero size but the last offset "
                f"is {base + entries[-1][0]} which is less than the base offset {base}"
            )
        yield f"{path} passed sanity check."
        return
    for relative, position in entries:
        header = log.by_position.get(position)
        found = -1 if header is None else header.last_offset
        if found != base + relative:
            faults.offsets.setdefault(path, []).append((base + relative, found))
        if not verify_only:
            yield f"offset: {base + relative} position: {position}"


def dump_time_index(
    path: Path, faults: Faults, *, sanity_only: bool, verify_only: bool
) -> Iterator[str]:
    base = base_offset_of(path)
    log = _log_of(path)
    entries = list(TIME_ENTRY.iter_unpack(used(path, TIME_ENTRY.size)))
    if sanity_only:
        if entries and entries[-1][0] < entries[0][0]:
            raise Told(
                f"Corrupt time index found, time index file ({path}) has non-zero size but the "
                f"last timestamp is {entries[-1][0]} which is less than the first timestamp "
                f"{entries[0][0]}"
            )
        yield f"{path} passed sanity check."
        return
    before = _NO_TIMESTAMP
    for timestamp, relative in entries:
        offset = base + relative
        header = log.holding(offset)
        found = -1 if header is None else header.last_offset
        if header is None or found != offset:
            faults.missing.setdefault(path, []).append((offset, found))
        else:
            if header.max_timestamp != timestamp:
                faults.times.setdefault(path, []).append((timestamp, header.max_timestamp))
            if before >= timestamp:
                faults.order.setdefault(path, []).append((timestamp, before))
        if not verify_only:
            yield f"timestamp: {timestamp} offset: {offset}"
        before = timestamp


def _log_of(index: Path) -> Batches:
    found = batches_beside(index)
    if found is None:
        raise Told(f"{index.with_suffix(LOG)} does not exist")
    return found


def dump_snapshot(path: Path) -> Iterator[str]:
    for entry in snapshot.decode(read_small(path)):
        first_offset = entry.current_txn_first_offset
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch} "
            f"coordinatorEpoch: {entry.coordinator_epoch} "
            f"currentTxnFirstOffset: {optional(first_offset if first_offset >= 0 else None)} "
            f"lastTimestamp: {entry.timestamp}"
        )
        if entry.last_offset >= 0:
            first_sequence = entry.last_sequence - entry.offset_delta
            line += (
                f" firstSequence: {first_sequence} lastSequence: {entry.last_sequence} "
                f"lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} "
                f"timestamp: {entry.timestamp}"
            )
        yield line


def dump_transactions(path: Path) -> Iterator[str]:
    for aborted in txn_index.decode(read_small(path), str(path)):
        yield (
            f"version: {_TXN_VERSION} producerId: {aborted.producer_id} "
            f"firstOffset: {aborted.first_offset} lastOffset: {aborted.last_offset} "
            f"lastStableOffset: {aborted.last_stable_offset}"
        )
