"""The transaction index: the aborted transactions whose abort marker lies in one segment.

A `read_committed` consumer is told which producers' records to drop. Only aborts are indexed,
because commits are the rule; so most segments have no such file, and it is created by the first
abort. The index knows transactions by offsets, not the records between them.

One entry, all integers big-endian, one after the other without a header:

    OFFSET  SIZE  TYPE    FIELD
    0       2     int16   version               always 0
    2       8     int64   producer_id
    10      8     int64   first_offset          its first record, maybe in an older segment
    18      8     int64   last_offset           the abort marker, in this segment
    26      8     int64   last_stable_offset    next open transaction, or after the marker
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from headrace.errors import CorruptData, InvariantViolated
from headrace.runtime.disk import Disk, File
from headrace.types import Buffer

VERSION: Final = 0

_ENTRY: Final = struct.Struct(">hqqqq")
ENTRY_SIZE: Final = _ENTRY.size
_READ_BYTES: Final = ENTRY_SIZE * 1024


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode(transaction: AbortedTransaction) -> bytes:
    return _ENTRY.pack(VERSION, *transaction)


def decode(data: Buffer, path: str) -> list[AbortedTransaction]:
    """The whole entries in `data`; CorruptData for a version that is not known."""
    whole = len(data) - len(data) % ENTRY_SIZE
    entries = []
    for version, *fields in _ENTRY.iter_unpack(memoryview(data)[:whole]):
        if version != VERSION:
            raise CorruptData(f"{path}: entry of version {version}, only {VERSION} is known")
        entries.append(AbortedTransaction(*fields))
    return entries


class TransactionIndex:
    """The index of one segment. `exists` spares the look: the caller has listed the folder."""

    __slots__ = ("_disk", "_file", "_last_offset", "_path", "is_new")

    def __init__(self, disk: Disk, path: str, *, exists: bool) -> None:
        self._disk = disk
        self._path = path
        self._file: File | None = disk.open(path) if exists else None
        self._last_offset: int | None = None
        self.is_new = False  # the file was created, and no flush has made its name durable

    @property
    def path(self) -> str:
        return self._path

    @property
    def exists(self) -> bool:
        return self._file is not None

    def append(self, transaction: AbortedTransaction) -> None:
        """Note an abort. Markers are written in order, so their offsets must ascend."""
        last = self._find_last_offset()
        if last is not None and transaction.last_offset <= last:
            raise InvariantViolated(
                f"{self._path}: abort at offset {transaction.last_offset} after one at {last}"
            )
        if self._file is None:
            self._file = self._disk.open(self._path, create=True)
            self.is_new = True
        self._file.append([encode(transaction)])
        self._last_offset = transaction.last_offset

    def collect(self, from_offset: int, up_to_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """Aborted transactions that touch [from_offset, up_to_offset), ordered by first offset.

        The flag tells that later segments hold no further ones: an entry says that everything
        below its last stable offset was decided when it was written.
        """
        found = []
        complete = False
        for transaction in self:
            if transaction.last_offset >= from_offset and transaction.first_offset < up_to_offset:
                found.append(transaction)
            if transaction.last_stable_offset >= up_to_offset:
                complete = True
                break
        return sorted(found, key=lambda transaction: transaction.first_offset), complete

    def truncate(self, offset: int) -> None:
        """Drop the transactions whose marker lies at or after `offset`."""
        for index, transaction in enumerate(self):
            if transaction.last_offset >= offset:
                assert self._file is not None
                self._file.truncate(index * ENTRY_SIZE)
                self._last_offset = None
                return

    def reset(self) -> None:
        """Drop everything, before recovery fills the index anew."""
        if self._file is not None:
            self._file.truncate(0)
        self._last_offset = None

    def sanity_check(self, segment_base_offset: int) -> None:
        """CorruptData if the file cannot be the index of this segment; it must be rebuilt then."""
        if self._file is None:
            return
        size = self._file.size()
        if size % ENTRY_SIZE:
            raise CorruptData(f"{self._path}: {size} bytes are no multiple of {ENTRY_SIZE}")
        last = segment_base_offset - 1
        for transaction in self:
            if not last < transaction.last_offset >= transaction.first_offset >= 0:
                raise CorruptData(
                    f"{self._path}: {transaction} cannot follow offset {last} in the segment of "
                    f"{segment_base_offset}"
                )
            last = transaction.last_offset

    def __iter__(self) -> Iterator[AbortedTransaction]:
        if self._file is None:
            return
        position = 0
        while entries := decode(self._file.read(position, _READ_BYTES), self._path):
            yield from entries
            position += len(entries) * ENTRY_SIZE

    def sync(self) -> None:
        if self._file is not None:
            self._file.sync()

    def rename(self, path: str) -> None:
        """Follow the segment to another name, even if there is no file yet."""
        if self._file is not None:
            self._file.rename(path)
        self._path = path

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def remove(self) -> None:
        if self._file is not None:
            self._file.close()
            self._disk.remove(self._path)
            self._file = None
            self._last_offset = None

    def _find_last_offset(self) -> int | None:
        if self._last_offset is None and self._file is not None:
            whole = self._file.size() // ENTRY_SIZE
            if whole:
                tail = self._file.read((whole - 1) * ENTRY_SIZE, ENTRY_SIZE)
                self._last_offset = decode(tail, self._path)[0].last_offset
        return self._last_offset
