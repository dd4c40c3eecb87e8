"""What a partition has published, as one small file for each set of files.

An entry is named by the first offset that it publishes and exists before its files do. Whoever
creates it owns the range: a second writer that comes with the same first offset finds it taken, and
one that comes with a lower one finds a higher one there. So the newest entry alone tells where a
partition stands, and older ones are deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.filesystems.filesystem import Filesystem


class Move(msgspec.Struct, frozen=True):
    """A file that goes from where it was written to where it is read."""

    staged: str
    final: str


class Entry(msgspec.Struct, frozen=True):
    """The offsets from `first` to before `next` are published once all files are in place."""

    first: int
    next: int
    files: list[Move]
    published: bool = False


@dataclass(frozen=True, slots=True)
class Journal:
    """The entries of one partition of a topic."""

    filesystem: Filesystem
    folder: str

    def newest(self) -> Entry | None:
        """The entry with the highest offset."""
        found = self._names()
        if not found:
            return None
        path = f"{self.folder}/{found[-1]}"
        try:
            return msgspec.json.decode(self.filesystem.read(path), type=Entry)
        except msgspec.DecodeError as fault:
            raise LakeFault(
                f"{self.filesystem.url(path)} is not an entry of a journal ({fault}): remove it, "
                "and positions are found from the names of the published files"
            ) from fault

    def claim(self, entry: Entry) -> bool:
        """Write an entry unless another writer was first; whether it is this one's."""
        name = _name(entry)
        if not self.filesystem.claim(f"{self.folder}/{name}", msgspec.json.encode(entry)):
            return False
        if self._names()[-1] > name:  # a slow writer: others have gone on
            self.filesystem.delete(f"{self.folder}/{name}")
            return False
        return True

    def close(self, entry: Entry) -> None:
        """Note that all files are in place, and forget older entries."""
        done = msgspec.structs.replace(entry, files=[], published=True)
        name = _name(entry)
        self.filesystem.replace(f"{self.folder}/{name}", msgspec.json.encode(done))
        for other in list(self.filesystem.files(self.folder)):
            if other < name:  # entries, and what a crash left of writing one
                self.filesystem.delete(f"{self.folder}/{other}")

    def remove(self, entry: Entry) -> None:
        """Take an entry back whose files never came."""
        self.filesystem.delete(f"{self.folder}/{_name(entry)}")

    def _names(self) -> list[str]:
        return sorted(name for name in self.filesystem.files(self.folder) if name.endswith(".json"))


def _name(entry: Entry) -> str:
    return f"{entry.first:020d}.json"
