"""Logs, batches and readers that the tests of this folder share."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from headrace.log import Appended, LogConfig, LogSlice, Origin, PartitionLog
from headrace.log.directory import LogDirectory
from headrace.records.batch import read_header, split_batches
from headrace.records.builder import BatchBuilder
from headrace.records.control import EndTxnMarker, build_end_txn_marker
from headrace.records.record import Record, iterate
from headrace.runtime.disk import Disk
from headrace.testing import MemoryDisk
from headrace.types import TopicPartition
from tests.settings import log_config

NOW_MS = 1_700_000_000_000
PARENT = "/data"
FOLDER = "/data/orders-0"
ORDERS = TopicPartition("orders", 0)
TOPIC_ID = UUID("11223344-5566-4788-99aa-bbccddeeff00")
EVERYTHING = 1 << 40


def new_disk() -> MemoryDisk:
    return MemoryDisk(folders=[PARENT])


def new_log(disk: Disk, config: LogConfig | None = None, now_ms: int = NOW_MS) -> PartitionLog:
    """An empty log, whose folder survives a crash, as that of a created topic does."""
    log = PartitionLog.create(disk, FOLDER, ORDERS, TOPIC_ID, config or log_config(), now_ms)
    disk.sync_folder(PARENT)
    return log


def reopened(disk: Disk, config: LogConfig | None = None, **options: Any) -> PartitionLog:
    options = {"clean": True, "now_ms": NOW_MS, **options}
    return PartitionLog.open(disk, FOLDER, ORDERS, config or log_config(), **options)


def batch(
    count: int = 1,
    *,
    size: int = 10,
    timestamp: int = NOW_MS,
    key: bytes | None = None,
    **options: Any,
) -> memoryview:
    """A batch of `count` records with a value of `size` bytes each, as a producer sends it."""
    builder = BatchBuilder(**options)
    for index in range(count):
        builder.append(key, bytes([index % 251]) * size, timestamp)
    return memoryview(builder.build())


def marker(*, commit: bool, producer_id: int, epoch: int = 0) -> memoryview:
    """The control batch with which a coordinator ends a transaction."""
    return memoryview(
        build_end_txn_marker(
            EndTxnMarker(commit, 0),
            producer_id=producer_id,
            producer_epoch=epoch,
            timestamp=NOW_MS,
        )
    )


def remove_doomed(directory: LogDirectory, now_ms: int) -> int:
    """Remove the deleted logs whose time has come; how many there were."""
    due = directory.take_doomed(now_ms)
    directory.remove_folders(due)
    return len(due)


def append(
    log: PartitionLog,
    data: memoryview | None = None,
    *,
    leader_epoch: int = 0,
    origin: Origin = Origin.CLIENT,
    now_ms: int = NOW_MS,
    **options: Any,
) -> Appended:
    """Append `data`, or else `batch(**options)`."""
    data = batch(**options) if data is None else data
    return log.append(data, leader_epoch=leader_epoch, origin=origin, now_ms=now_ms)


def replicated(log: PartitionLog, *batches: memoryview, now_ms: int = NOW_MS) -> Appended:
    joined = memoryview(b"".join(batches))
    return log.append(joined, leader_epoch=0, origin=Origin.REPLICATION, now_ms=now_ms)


def content(piece: LogSlice) -> bytes:
    return b"" if piece.file is None else piece.file.read(piece.position, piece.size)


def records_in(data: bytes) -> list[Record]:
    return [
        record
        for header, view in split_batches(memoryview(data), allow_partial_tail=True)
        for record in iterate(header, view)
    ]


def read_from(log: PartitionLog, offset: int, max_bytes: int = EVERYTHING) -> list[Record]:
    """Records of one read, as far as the log's end."""
    return records_in(content(log.read(offset, max_bytes, up_to=log.log_end_offset)))


def read_everything(log: PartitionLog, start: int | None = None) -> list[Record]:
    """All records from the log's start on, by one read after the other, as a consumer does it."""
    offset = log.log_start_offset if start is None else start
    found: list[Record] = []
    while offset < log.log_end_offset:
        data = content(log.read(offset, 1000, up_to=log.log_end_offset))
        assert data, f"nothing at {offset}, although the log ends at {log.log_end_offset}"
        headers = [header for header, _ in split_batches(memoryview(data), allow_partial_tail=True)]
        found += [record for record in records_in(data) if record.offset >= offset]
        offset = headers[-1].next_offset
    return found


def offsets(log: PartitionLog) -> list[int]:
    return [record.offset for record in read_everything(log)]


def files(disk: Disk, suffix: str = "") -> list[str]:
    """The names in the partition's folder."""
    return [name for name in disk.list(FOLDER) if name.endswith(suffix)]


def file_bytes(disk: Disk, name: str) -> bytes:
    file = disk.open(f"{FOLDER}/{name}")
    return file.read(0, file.size())


def batch_positions(data: bytes) -> list[tuple[int, int, int]]:
    """Position, base offset and last offset of each batch in a log file."""
    places = []
    position = 0
    while position < len(data):
        header = read_header(data, position)
        places.append((position, header.base_offset, header.last_offset))
        position += header.size
    return places
