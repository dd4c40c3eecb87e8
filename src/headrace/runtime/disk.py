"""Everything durable, as two small protocols: a disk with folders and files that grow at the end.

`os_disk` implements them on the machine's file system; `headrace.testing.MemoryDisk` forgets on a
crash what was not synced. The protocols refuse to know what the bytes mean.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol

from headrace.types import Buffer

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
NO_DESCRIPTOR: Final = frozenset({errno.EMFILE, errno.ENFILE})


def is_passing(fault: BaseException | None) -> bool:
    """Whether a disk refused only for now: it is full, or the process has too many files open.

    Nothing is wrong with the disk then, and the same call may succeed later.
    """
    return isinstance(fault, OSError) and (
        fault.errno in NO_ROOM or fault.errno in NO_DESCRIPTOR or fault.errno == errno.EAGAIN
    )


class File(Protocol):
    """One file. It may be opened lazily and closed behind the scenes; the object stays valid."""

    @property
    def path(self) -> str: ...

    def append(self, chunks: Sequence[Buffer]) -> int:
        """Write all chunks at the end in one go; returns the position of the first byte.

        On failure (full disk) nothing of this append remains in the file and OSError is raised.
        """
        ...

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position`; shorter only at the end of the file."""
        ...

    def write_at(self, position: int, data: Buffer) -> None:
        """Overwrite bytes inside the file."""
        ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Return when every byte written so far survives a power cut."""
        ...

    def size(self) -> int: ...

    def rename(self, path: str) -> None:
        """Give the file another name; this object stays usable."""
        ...

    def close(self) -> None:
        """Give the handle back; a later call opens it again."""
        ...

    def abandon(self) -> None:
        """Close for good: every later use raises FileNotFoundError.

        For a file that goes, or whose bytes are replaced: its name may soon belong to another one,
        and a reader that still holds this object must never get the other's bytes.
        """
        ...

    def descriptor(self) -> AbstractContextManager[int]:
        """An open descriptor for `sendfile`, pinned while the context lasts.

        Files without one (memory) raise io.UnsupportedOperation.
        """
        ...


class Lock(Protocol):
    def release(self) -> None: ...


class Disk(Protocol):
    """Paths are absolute strings with `/`. Missing paths raise FileNotFoundError as in `os`."""

    def open(self, path: str, *, create: bool = False) -> File:
        """The file at `path`. Without `create` it must exist."""
        ...

    def exists(self, path: str) -> bool: ...

    def list(self, folder: str) -> list[str]:
        """Names inside a folder, sorted."""
        ...

    def is_folder(self, path: str) -> bool: ...

    def make_folder(self, path: str) -> None:
        """Create a folder and its parents; it may exist already."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Replace `new` atomically; also moves folders. An open `File` has its own rename."""
        ...

    def remove(self, path: str) -> None: ...

    def remove_folder(self, path: str) -> None:
        """Remove a folder and all that is in it."""
        ...

    def sync_folder(self, path: str) -> None:
        """Make creations, renames and removals inside the folder survive a power cut."""
        ...

    def lock(self, path: str) -> Lock:
        """Take an exclusive lock file; BlockingIOError if another process has it."""
        ...

    def make_private(self, path: str) -> bool:
        """Let only the broker's own user read and write a file or folder, if it is this user's;
        whether others could until now.
        """
        ...

    def room(self, folder: str) -> tuple[int, int]:
        """(total, free) bytes of the file system with the folder."""
        ...


def write_atomically(disk: Disk, path: str, data: bytes, *, sync: bool = True) -> None:
    """Replace a small file so that a crash leaves the old content or the new, never a mixture."""
    temporary = path + ".tmp"
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.append([data])
        if sync:
            file.sync()
    finally:
        file.close()
    disk.rename(temporary, path)
    if sync:
        disk.sync_folder(path.rsplit("/", 1)[0])


def read_all(disk: Disk, path: str) -> bytes:
    """The whole content of a small file."""
    file = disk.open(path)
    try:
        return file.read(0, file.size())
    finally:
        file.close()
