"""What both indexes of a segment have in common: fixed-size entries, sorted, in one file.

The indexes of the active segment are *hot*: all entries are in memory, new ones are only added
there, and `save` appends them to the file. All other indexes are *cold*: nothing is in memory, and
a search reads the few entries that it compares, so thousands of segments cost nothing at start and
nothing while they rest. An index can always be rebuilt from its log, hence nothing here is synced
unless asked. What the entries mean is the subclasses' business.
"""

from __future__ import annotations

from bisect import bisect_right
from struct import Struct
from typing import Final

from headrace.errors import InvariantViolated
from headrace.runtime.disk import Disk, File

_ENTRIES_PER_READ: Final = 2048


class IndexFile:
    """The entries of one index, wherever they are."""

    __slots__ = ("_disk", "_file", "_path", "_saved_bytes", "base_offset", "entries", "needs_sync")

    entry_size: int
    key: Struct
    """How the number is read by which the entries are sorted, at the start of an entry."""

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        self.base_offset = base_offset
        self.entries: bytearray | None = None
        self.needs_sync = False
        self._disk = disk
        self._path = path
        self._file: File | None = None
        self._saved_bytes = 0

    @property
    def path(self) -> str:
        return self._path

    @property
    def file(self) -> File:
        """The file; FileNotFoundError if it is missing."""
        file = self._file
        if file is None:
            file = self._file = self._disk.open(self._path)
        return file

    def start(self) -> None:
        """Begin hot and empty, whatever the file holds. A missing one stays missing for now."""
        if self._disk.exists(self._path):
            if self.file.size():
                self.file.truncate(0)
            self.needs_sync = True
        else:
            self._file = None
        self.entries = bytearray()
        self._saved_bytes = 0

    def make_real(self) -> None:
        """Let there be a file, even if the index has no entries; a clean start expects it."""
        if self._file is None and not self._disk.exists(self._path):
            self._file = self._disk.open(self._path, create=True)
            self.needs_sync = True

    def load(self) -> None:
        """Become hot. The zeros behind the last entry, which Kafka allocates ahead, are cut off."""
        if self.entries is not None:
            return
        data = self.file.read(0, self.file.size())
        used = len(data.rstrip(b"\0"))
        used += -used % self.entry_size
        if used > len(data):
            used -= self.entry_size
        if used == 0 and len(data) == self.entry_size:
            used = self.entry_size  # One entry of zeros may be real: the time 0 at offset 0.
        if used < len(data):
            self.file.truncate(used)
        self.entries = bytearray(data[:used])
        self._saved_bytes = used

    def save(self) -> None:
        """Append to the file what is in memory only."""
        entries = self.entries
        if entries is not None and len(entries) > self._saved_bytes:
            self.make_real()
            self.file.append([bytes(entries[self._saved_bytes :])])
            self._saved_bytes = len(entries)
            self.needs_sync = True

    def cool(self) -> None:
        """Forget the entries in memory, once they are in the file."""
        self.save()
        self.entries = None
        self.close()

    def keep(self, count: int) -> None:
        """Drop all entries but the first `count`; the index must be hot."""
        if self.entries is None:
            raise InvariantViolated(f"{self._path}: a cold index cannot be cut")
        size = count * self.entry_size
        del self.entries[size:]
        if self._saved_bytes > size:
            self.file.truncate(size)
            self._saved_bytes = size
            self.needs_sync = True

    def sync(self) -> None:
        self.save()
        self.make_real()
        self.file.sync()
        self.needs_sync = False

    def rename(self, path: str) -> None:
        """Follow the segment to another name; a missing index stays missing."""
        try:
            self.file.rename(path)
        except FileNotFoundError:
            pass
        self._path = path

    def remove(self) -> None:
        self.close()
        try:
            self._disk.remove(self._path)
        except FileNotFoundError:
            pass  # It can be rebuilt, so it may have been missing all along.

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        entries = self.entries
        return (self.file.size() if entries is None else len(entries)) // self.entry_size

    def read(self, index: int) -> bytes:
        """The bytes of one entry."""
        start = index * self.entry_size
        entries = self.entries
        if entries is None:
            return self.file.read(start, self.entry_size)
        return bytes(entries[start : start + self.entry_size])

    def is_whole(self) -> bool:
        """Whether the file exists and ends with a whole entry."""
        try:
            return self.entries is not None or self.file.size() % self.entry_size == 0
        except FileNotFoundError:
            return False

    def last_at_most(self, target: int) -> int:
        """The number of the last entry whose key is at most `target`, or -1."""
        size = self.entry_size
        unpack = self.key.unpack_from
        entries: bytearray | bytes | None = self.entries
        first, count = 0, len(self)
        if entries is None:
            # Look at single entries until one read can fetch all that are left.
            while count > _ENTRIES_PER_READ:
                half = count // 2
                if unpack(self.file.read((first + half) * size, size))[0] <= target:
                    first, count = first + half, count - half
                else:
                    count = half
            entries = self.file.read(first * size, count * size)
        found: int = bisect_right(range(count), target, key=lambda i: unpack(entries, i * size)[0])
        return first + found - 1
