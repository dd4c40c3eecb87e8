"""Producer snapshots: what a partition knew of its producers at one offset, in a file.

Without them a restart would have to read the whole log to answer a producer's retry. A snapshot
named after offset N holds the state just before N was written, so recovery loads the newest one and
replays the log from N only. This module knows the bytes and the files of one folder; it refuses to
know what an entry means for the next append (see `producer_state`).

The file, all integers big-endian:

    OFFSET  SIZE  TYPE    FIELD
    0       2     int16   version                     always 1
    2       4     uint32  crc                         CRC-32C of everything from offset 6 to the end
    6       4     int32   entry count
    10      46n           entries

One entry:

    OFFSET  SIZE  TYPE    FIELD
    0       8     int64   producer_id
    8       2     int16   producer_epoch
    10      4     int32   last_sequence               -1: no batch is remembered
    14      8     int64   last_offset                 -1: no batch is remembered
    22      4     int32   offset_delta                last minus first offset of the last batch
    26      8     int64   timestamp                   of the last batch or marker
    34      4     int32   coordinator_epoch           -1: no transaction was ever ended
    38      8     int64   current_txn_first_offset    -1: no transaction is open
"""

from __future__ import annotations

import struct
from bisect import insort
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from headrace.errors import CorruptData
from headrace.log import names
from headrace.records.checksum import crc32c
from headrace.runtime.disk import Disk, read_all, write_atomically
from headrace.types import Buffer

VERSION: Final = 1
SUFFIX: Final = ".snapshot"

_HEADER: Final = struct.Struct(">hIi")
_CRC_END: Final = 6
_ENTRY: Final = struct.Struct(">qhiqiqiq")


class ProducerEntry(NamedTuple):
    """One producer of one partition, with the fields and the order of the file."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


def encode(entries: Collection[ProducerEntry]) -> bytes:
    body = bytearray(struct.pack(">i", len(entries)))
    for entry in entries:
        body += _ENTRY.pack(*entry)
    return struct.pack(">hI", VERSION, crc32c(body)) + bytes(body)


def decode(data: Buffer) -> list[ProducerEntry]:
    """The entries of a snapshot; CorruptData says which condition of the format is broken."""
    if len(data) < _HEADER.size:
        raise CorruptData(f"producer snapshot of {len(data)} bytes, the header alone has 10")
    version, crc, count = _HEADER.unpack_from(data)
    if version != VERSION:
        raise CorruptData(f"producer snapshot has version {version}, only {VERSION} is known")
    computed = crc32c(memoryview(data)[_CRC_END:])
    if crc != computed:
        raise CorruptData(f"producer snapshot has CRC {crc:08x}, its bytes give {computed:08x}")
    if _HEADER.size + count * _ENTRY.size != len(data):
        raise CorruptData(f"producer snapshot of {len(data)} bytes cannot hold {count} entries")
    return [ProducerEntry(*fields) for fields in _ENTRY.iter_unpack(data[_HEADER.size :])]


def offset_of(name: str) -> int | None:
    """The offset that a snapshot's file name carries; None for other files."""
    parsed = names.parse(name)
    return parsed[0] if parsed is not None and parsed[1] == SUFFIX else None


class Snapshots:
    """The snapshot files of one partition's folder.

    The caller lists the folder once for all kinds of files and passes the names in.
    """

    __slots__ = ("_disk", "_folder", "_offsets")

    def __init__(self, disk: Disk, folder: str, listing: Iterable[str]) -> None:
        self._disk = disk
        self._folder = folder
        self._offsets = sorted(offset for offset in map(offset_of, listing) if offset is not None)

    @property
    def offsets(self) -> list[int]:
        """The offsets that have a snapshot, ascending."""
        return list(self._offsets)

    def write(self, offset: int, entries: Collection[ProducerEntry], *, sync: bool) -> None:
        """Keep the state before `offset`.

        A roll passes `sync=False`: a snapshot that a power cut tears is found out by its CRC, and
        recovery falls back to an older one.
        """
        write_atomically(self._disk, self._path(offset), encode(entries), sync=sync)
        if offset not in self._offsets:
            insort(self._offsets, offset)

    def newest(self) -> tuple[int, list[ProducerEntry]] | None:
        """The newest snapshot that can be read; damaged ones newer than it are removed."""
        while self._offsets:
            offset = self._offsets[-1]
            try:
                return offset, decode(read_all(self._disk, self._path(offset)))
            except (CorruptData, FileNotFoundError):
                self.remove(offset)
        return None

    def remove(self, offset: int) -> None:
        self._offsets.remove(offset)
        try:
            self._disk.remove(self._path(offset))
        except FileNotFoundError:
            pass  # Someone tidied the folder; the outcome is what was wanted.

    def remove_outside(self, log_start_offset: int, log_end_offset: int) -> None:
        """Remove what lies at or below the log's start or above its end.

        Below the start there is nothing to replay from; above the end the snapshot describes
        batches that a truncation has taken away.
        """
        for offset in self.offsets:
            if offset <= log_start_offset or offset > log_end_offset:
                self.remove(offset)

    def remove_strays(self, segment_base_offsets: Collection[int]) -> None:
        """Remove snapshots that belong to no segment, as a start after a crash must.

        The newest stray survives if it lies at or above the last segment's base: that is the one
        which a clean shutdown writes at the log's end.
        """
        strays = [offset for offset in self._offsets if offset not in segment_base_offsets]
        if strays and strays[-1] >= max(segment_base_offsets, default=0):
            strays.pop()
        for offset in strays:
            self.remove(offset)

    def _path(self, offset: int) -> str:
        return names.segment_path(self._folder, offset, SUFFIX)
