"""Which leader wrote which part of a log: leader epochs and where they began (KIP-101, KIP-279).

After a failover two replicas may disagree about the tail. The follower asks the leader where its
own last epoch ended and cuts its log there; high watermarks are too old to decide that. The cache
answers this question and keeps itself in the partition's `leader-epoch-checkpoint`; it does not
know the log's records.

    LINE   CONTENT
    1      0                          the version
    2      n                          how many lines follow
    3..    <epoch> <start offset>     both strictly ascending
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

from headrace.errors import CorruptData, InvariantViolated
from headrace.log.checkpoints import decode_lines, encode_lines, parse_number
from headrace.runtime.disk import Disk, read_all, write_atomically
from headrace.types import NO_EPOCH, NO_OFFSET

FILE_NAME: Final = "leader-epoch-checkpoint"


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


UNDEFINED: Final = (NO_EPOCH, NO_OFFSET)


class LeaderEpochs:
    """The epochs of one partition, oldest first, and the file that remembers them.

    Nothing here waits for the disk. What changes is synced by the next flush of the log
    (`needs_sync`); until then the records that are not flushed tell it again after a crash, and set
    right what was forgotten of a truncation (`confirm`).
    """

    __slots__ = ("_disk", "_epochs", "_starts", "latest_epoch", "needs_sync", "path")

    def __init__(self, disk: Disk, folder: str, entries: list[EpochEntry] | None = None) -> None:
        self._disk = disk
        self.path = f"{folder}/{FILE_NAME}"
        self.needs_sync = False
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.latest_epoch = NO_EPOCH
        for entry in entries or ():
            self._insert(*entry)

    @classmethod
    def load(cls, disk: Disk, folder: str) -> LeaderEpochs:
        """Read the folder's file, which may be missing. CorruptData if it cannot be believed."""
        path = f"{folder}/{FILE_NAME}"
        try:
            data = read_all(disk, path)
        except FileNotFoundError:
            return cls(disk, folder)
        return cls(disk, folder, decode(data, path))

    @property
    def entries(self) -> list[EpochEntry]:
        return [EpochEntry(*pair) for pair in zip(self._epochs, self._starts, strict=True)]

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` writes from `start_offset` on; True if that was news.

        Entries that contradict the new one, by a later epoch or a later start, are removed: they
        belong to records that were never written or were cut off.
        """
        if epoch < 0 or start_offset < 0:
            raise InvariantViolated(f"leader epoch {epoch} at offset {start_offset} cannot exist")
        if epoch == self.latest_epoch and start_offset >= self._starts[-1]:
            return False
        before = self.entries
        self._insert(epoch, start_offset)
        try:
            self._write()
        except OSError:
            self._cut(0)
            for entry in before:
                self._insert(*entry)
            raise
        self.needs_sync = True
        return True

    def confirm(self, epoch: int, offset: int) -> None:
        """A record of `epoch` is at `offset`, whatever the file says of the time since it begins.

        Later epochs are forgotten then: their own records tell of them, if there are any.
        """
        if epoch < 0 or (self._starts and offset < self._starts[0]):
            return
        if self.epoch_at(offset) != epoch:
            self._cut(bisect_right(self._epochs, epoch))
            if epoch > self.latest_epoch:
                self._insert(epoch, offset)
            self._write()
            self.needs_sync = True

    def end_offset_for(self, requested_epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest epoch not above the requested one, and where it ended.

        For the latest epoch this is the log's end. An epoch older than all known ones ends where
        the log's history begins. An epoch that is not known yet, or none (-1), is UNDEFINED.
        """
        if requested_epoch == NO_EPOCH:
            return UNDEFINED
        if requested_epoch == self.latest_epoch:
            return requested_epoch, log_end_offset
        above = bisect_right(self._epochs, requested_epoch)
        if above == len(self._epochs):
            return UNDEFINED
        found = self._epochs[above - 1] if above > 0 else requested_epoch
        return found, self._starts[above]

    def epoch_at(self, offset: int) -> int | None:
        """The epoch that wrote `offset`, or None before the first entry."""
        index = bisect_right(self._starts, offset)
        return self._epochs[index - 1] if index > 0 else None

    def truncate_from_end(self, end_offset: int) -> bool:
        """The log now ends at `end_offset`: epochs that began there or later have no record."""
        keep = bisect_left(self._starts, end_offset)
        if keep == len(self._starts):
            return False
        self._cut(keep)
        self._write()
        self.needs_sync = True
        return True

    def truncate_from_start(self, start_offset: int) -> bool:
        """The log now begins at `start_offset`, and so does its epoch; older ones are forgotten."""
        index = bisect_right(self._starts, start_offset) - 1
        if index < 0 or (index == 0 and self._starts[0] == start_offset):
            return False
        del self._epochs[:index], self._starts[:index]
        self._starts[0] = start_offset
        self._write()
        return True

    def clear(self) -> None:
        self._cut(0)
        self._write()
        self.needs_sync = True

    def _insert(self, epoch: int, start_offset: int) -> None:
        self._cut(min(bisect_left(self._epochs, epoch), bisect_left(self._starts, start_offset)))
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.latest_epoch = epoch

    def _cut(self, keep: int) -> None:
        del self._epochs[keep:], self._starts[keep:]
        self.latest_epoch = self._epochs[-1] if self._epochs else NO_EPOCH

    def _write(self) -> None:
        write_atomically(self._disk, self.path, encode(self.entries), sync=False)


def encode(entries: list[EpochEntry]) -> bytes:
    return encode_lines(f"{entry.epoch} {entry.start_offset}" for entry in entries)


def decode(data: bytes, path: str) -> list[EpochEntry]:
    if not data:
        # Without any epoch it has two lines; this one lost them to a crash.
        raise CorruptData(f"{path}: it is empty")
    entries: list[EpochEntry] = []
    for index, line in enumerate(decode_lines(data, path)):
        numbers = [parse_number(field) for field in line.split()]
        if len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
            raise CorruptData(f"{path} line {index + 3}: {line!r} is not 'epoch start_offset'")
        entry = EpochEntry(numbers[0], numbers[1])
        if entries and (entry.epoch <= entries[-1].epoch or entry[1] <= entries[-1].start_offset):
            raise CorruptData(f"{path} line {index + 3}: {line!r} does not follow {entries[-1]}")
        entries.append(entry)
    return entries
