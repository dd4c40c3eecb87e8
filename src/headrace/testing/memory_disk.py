"""A disk in memory that forgets on a crash what was not synced, behind the `Disk` protocol.

For every file it keeps what a program would read and what a power cut would leave. Bytes survive
after `File.sync`, names after `Disk.sync_folder`: a file that was created, renamed or removed in a
folder that was not synced since may be found as it was before. A rename is atomic; both folders'
sides of it survive or neither.

    disk = MemoryDisk(folders=["/data"])
    log = disk.open("/data/log", create=True)
    log.append([b"hello"])
    log.sync()
    disk.sync_folder("/data")
    log.append([b"lost"])
    assert read_all(disk.crash(), "/data/log") == b"hello"

To crash at every point of some work, let it run again and again and crash one operation later each
time (`crash_at`), then look at the disks that may be left (`crash(rng)` with several seeds). Faults
without a crash: `fail_at`, `make_read_only`, `break_path` and `capacity_bytes`.

One thread only. Nothing here sleeps, and the same seed gives the same disk.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from random import Random
from typing import Final

from headrace.testing.unsynced import (
    Data,
    Folder,
    Journal,
    Node,
    Slot,
    UnsyncedChange,
    Write,
    surviving_tree,
)
from headrace.types import Buffer

UNLIMITED_BYTES: Final = 1 << 40
"""What `room` says when the disk has no capacity set."""


class SimulatedCrash(BaseException):
    """The machine lost power. No `except Exception` catches it, as none would survive it."""


class MemoryFile:
    """A file of a `MemoryDisk`; like `OsFile` a name that finds its content when it is used."""

    __slots__ = ("_abandoned", "_data", "_disk", "_path")

    def __init__(self, disk: MemoryDisk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._data: Data | None = None
        self._abandoned = False

    @property
    def path(self) -> str:
        return self._path

    def _opened(self) -> Data:
        if self._abandoned:
            raise _error(errno.ENOENT, self._path)
        if self._data is None:
            self._data = self._disk._data_at(self._path)
        return self._data

    def append(self, chunks: Sequence[Buffer]) -> int:
        data = b"".join(chunks)
        with self._disk._operation(self._path):
            content = self._opened()
            position = len(content.current)
            self._disk._reserve(self._path, len(data))
            content.write(Write(position, data))
        return position

    def read(self, position: int, size: int) -> bytes:
        self._disk._check(self._path)
        return bytes(memoryview(self._opened().current)[position : position + size])

    def write_at(self, position: int, data: Buffer) -> None:
        with self._disk._operation(self._path):
            content = self._opened()
            self._disk._reserve(self._path, position + len(data) - len(content.current))
            content.write(Write(position, bytes(data)))

    def truncate(self, size: int) -> None:
        with self._disk._operation(self._path):
            content = self._opened()
            self._disk._reserve(self._path, size - len(content.current))
            content.write(Write(size, None))

    def sync(self) -> None:
        with self._disk._operation(self._path) as crashing:
            content = self._opened()
            if not crashing:
                content.sync()

    def size(self) -> int:
        self._disk._check(self._path)
        return len(self._opened().current)

    def rename(self, path: str) -> None:
        self._disk.rename(self._path, path)
        self._path = path

    def close(self) -> None:
        self._data = None

    def abandon(self) -> None:
        self._abandoned = True
        self._data = None

    def descriptor(self) -> AbstractContextManager[int]:
        raise io.UnsupportedOperation("a file in memory has no descriptor: use read")


class MemoryLock:
    """A lock of a `MemoryDisk`; a crash releases it."""

    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        self._held.discard(self._path)


class MemoryDisk:
    """See the module. Paths are absolute; `folders` exist and are durable from the start."""

    def __init__(self, *, folders: Iterable[str] = (), capacity_bytes: int | None = None) -> None:
        self.capacity_bytes = capacity_bytes
        """How many bytes all files may have together; more raises ENOSPC. May be set any time."""
        self.operations = 0
        """How many operations have tried to change the disk, syncs included."""
        self._root = Folder()
        self._journal = Journal()
        self._locks: set[str] = set()
        self._crash_at = -1
        self._crashed = False
        self._failures: dict[int, OSError] = {}
        self._refused: dict[str, tuple[int, bool]] = {}
        for path in folders:
            for parent, name in self._missing_folders(path):
                parent.entries[name] = parent.durable[name] = Folder()

    # What a program does with a disk.

    def open(self, path: str, *, create: bool = False) -> MemoryFile:
        self._check(path, writing=create)
        if create:
            parent, name = self._slot(path)
            node = parent.entries.get(name)
            if isinstance(node, Folder):
                raise _error(errno.EISDIR, path)
            if node is None:
                with self._operation(path):
                    self._reserve(path, 1)
                    self._change((parent, name, Data()))
        elif not self.exists(path):
            raise _error(errno.ENOENT, path)
        return MemoryFile(self, path)

    def exists(self, path: str) -> bool:
        return self._seen(path) is not None

    def is_folder(self, path: str) -> bool:
        return isinstance(self._seen(path), Folder)

    def list(self, folder: str) -> list[str]:
        self._check(folder)
        return sorted(self._folder(folder).entries)

    def make_folder(self, path: str) -> None:
        self._check(path)
        for parent, name in self._missing_folders(path):
            with self._operation(path):
                self._change((parent, name, Folder()))

    def rename(self, old: str, new: str) -> None:
        with self._operation(old, new):
            source, old_name = self._slot(old)
            target, new_name = self._slot(new)
            node = source.entries.get(old_name)
            if node is None:
                raise _error(errno.ENOENT, old)
            replaced = target.entries.get(new_name)
            if replaced is node:
                return
            _check_replacement(node, replaced, old, new)
            self._change((source, old_name, None), (target, new_name, node))

    def remove(self, path: str) -> None:
        with self._operation(path):
            parent, name = self._slot(path)
            node = parent.entries.get(name)
            if node is None:
                raise _error(errno.ENOENT, path)
            if isinstance(node, Folder):
                raise _error(errno.EISDIR, path)
            self._change((parent, name, None))

    def remove_folder(self, path: str) -> None:
        """Removes one entry after the other, so a crash may leave some of them."""
        self._check(path, writing=True)
        for name, node in sorted(self._folder(path).entries.items()):
            inner = f"{path.rstrip('/')}/{name}"
            if isinstance(node, Folder):
                self.remove_folder(inner)
            else:
                self.remove(inner)
        with self._operation(path):
            self._change((*self._slot(path), None))

    def sync_folder(self, path: str) -> None:
        with self._operation(path) as crashing:
            folder = self._folder(path)
            if not crashing:
                self._journal.commit(folder)

    def lock(self, path: str) -> MemoryLock:
        self._check(path, writing=True)
        if path in self._locks:
            raise _error(errno.EWOULDBLOCK, path)
        self.open(path, create=True)
        self._locks.add(path)
        return MemoryLock(self._locks, path)

    def make_private(self, path: str) -> bool:
        return False  # Only its program can see it.

    def room(self, folder: str) -> tuple[int, int]:
        self._check(folder)
        self._folder(folder)
        if self.capacity_bytes is None:
            return UNLIMITED_BYTES, UNLIMITED_BYTES
        return self.capacity_bytes, max(self.capacity_bytes - self._root.bytes_inside(), 0)

    # What a test does to it.

    def crash(self, rng: Random | None = None, *, torn_pages: bool = False) -> MemoryDisk:
        """The disk as a power cut at this moment leaves it; this one stays as it is.

        Without `rng` exactly what was synced survives. With it each unsynced change of a name may
        survive as well, and of each file a part of the unsynced writes, the last one possibly torn;
        `torn_pages` also turns pages of these writes into zeros or garbage. Faults set on this disk
        are not on the new one, its capacity is.
        """
        disk = MemoryDisk(capacity_bytes=self.capacity_bytes)
        disk._root = surviving_tree(self._root, self._journal, rng, torn_pages=torn_pages)
        return disk

    def crash_at(self, n: int) -> None:
        """Crash during the n-th changing operation from now (1 is the next).

        The operation raises SimulatedCrash, and so does everything after it. What it was writing
        counts as not synced: `crash()` loses it, `crash(rng)` may keep a part.
        """
        self._crash_at = self._operation_number(n)

    def fail_at(self, n: int, error: OSError) -> None:
        """Let the n-th changing operation from now raise this error, once, and do nothing else."""
        self._failures[self._operation_number(n)] = error

    def make_read_only(self, folder: str, code: int = errno.EROFS) -> None:
        """Refuse every change at and under this path (EROFS, or EACCES for missing rights)."""
        self._refused[folder] = (code, False)

    def break_path(self, path: str, code: int = errno.EIO) -> None:
        """Refuse reads and changes at and under this path, as a dying drive does."""
        self._refused[path] = (code, True)

    def mend(self, path: str) -> None:
        """Take back `make_read_only` or `break_path` of the same path."""
        self._refused.pop(path, None)

    # How it is done.

    @contextlib.contextmanager
    def _operation(self, *paths: str) -> Iterator[bool]:
        """One changing operation. Yields whether it is the one that crashes."""
        for path in paths:
            self._check(path, writing=True)
        self.operations += 1
        failure = self._failures.pop(self.operations, None)
        if failure is not None:
            raise failure
        crashing = self.operations == self._crash_at
        try:
            yield crashing
        finally:
            if crashing:
                self._crashed = True
                self._check(paths[0])

    def _operation_number(self, n: int) -> int:
        if n < 1:
            raise ValueError(f"operation {n} is not in the future: the next one is 1")
        return self.operations + n

    def _check(self, path: str, *, writing: bool = False) -> None:
        if self._crashed:
            raise SimulatedCrash(f"the power went during operation {self._crash_at}")
        for prefix, (code, reads_too) in self._refused.items():
            if (writing or reads_too) and _is_under(path, prefix):
                raise _error(code, path)

    def _reserve(self, path: str, more: int) -> None:
        """ENOSPC where the files would outgrow the capacity by this many bytes more."""
        capacity = self.capacity_bytes
        if capacity is not None and more > 0 and self._root.bytes_inside() + more > capacity:
            raise _error(errno.ENOSPC, path)

    def _change(self, *edits: tuple[Folder, str, Node | None]) -> None:
        self._journal.add(UnsyncedChange(edits))

    def _seen(self, path: str) -> Node | None:
        """What is at the path, if anything. A broken drive says so instead of "nothing"."""
        self._check(path)
        try:
            return self._node(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _node(self, path: str) -> Node:
        node: Node = self._root
        for name in _parts(path):
            if not isinstance(node, Folder):
                raise _error(errno.ENOTDIR, path)
            found = node.entries.get(name)
            if found is None:
                raise _error(errno.ENOENT, path)
            node = found
        return node

    def _folder(self, path: str) -> Folder:
        node = self._node(path)
        if not isinstance(node, Folder):
            raise _error(errno.ENOTDIR, path)
        return node

    def _data_at(self, path: str) -> Data:
        node = self._node(path)
        if isinstance(node, Folder):
            raise _error(errno.EISDIR, path)
        return node

    def _slot(self, path: str) -> Slot:
        parts = _parts(path)
        if not parts:
            raise _error(errno.EBUSY, path)
        return self._folder("/" + "/".join(parts[:-1])), parts[-1]

    def _missing_folders(self, path: str) -> Iterator[Slot]:
        """The slots that the caller must fill with folders, one by one, to make the path exist."""
        folder = self._root
        for name in _parts(path):
            if name not in folder.entries:
                yield folder, name
            node = folder.entries[name]
            if not isinstance(node, Folder):
                raise _error(errno.EEXIST, path)
            folder = node


def _check_replacement(node: Node, replaced: Node | None, old: str, new: str) -> None:
    """What `os.rename` refuses."""
    if isinstance(node, Folder):
        if _is_under(new, old):
            raise _error(errno.EINVAL, new)
        if isinstance(replaced, Data):
            raise _error(errno.ENOTDIR, new)
        if replaced is not None and replaced.entries:
            raise _error(errno.ENOTEMPTY, new)
    elif isinstance(replaced, Folder):
        raise _error(errno.EISDIR, new)


def _error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)


def _parts(path: str) -> list[str]:
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is not an absolute path")
    return [part for part in path.split("/") if part]


def _is_under(path: str, prefix: str) -> bool:
    above = _parts(prefix)
    return _parts(path)[: len(above)] == above
