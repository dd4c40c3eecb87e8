"""The machine's file system behind the `Disk` protocol, with lazily opened and capped handles.

A broker holds thousands of segments; the kernel allows far fewer open files. An `OsFile` therefore
is a name that opens itself when used, and `HandleCache` closes the handle used longest ago when the
cap is reached. A pinned handle (one that `sendfile` is reading from) is never closed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from headrace.types import Buffer

_MAX_IOV = 1024


class HandleCache:
    """At most `capacity` open descriptors, the least recently used is closed first.

    Touched from the event loop and from recovery and flush threads, hence the lock.
    """

    def __init__(self, capacity: int) -> None:
        assert capacity > 0
        self.capacity = capacity
        self.lock = threading.RLock()
        self._open: OrderedDict[OsFile, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, file: OsFile) -> None:
        self._open[file] = None
        if len(self._open) > self.capacity:
            self._evict()

    def touch(self, file: OsFile) -> None:
        self._open.move_to_end(file)

    def discard(self, file: OsFile) -> None:
        self._open.pop(file, None)

    def _evict(self) -> None:
        for file in self._open:
            if file.pins == 0:
                file.close()
                return


class OsFile:
    """A file by name; see the module for when it is open."""

    __slots__ = ("_cache", "_fd", "_path", "_size", "pins")

    def __init__(self, path: str, cache: HandleCache) -> None:
        self._path = path
        self._cache = cache
        self._fd = -1
        self._size = -1
        self.pins = 0

    @property
    def path(self) -> str:
        return self._path

    def _pin(self) -> int:
        """Open the file if it is not, and keep it open until `_unpin`."""
        cache = self._cache
        with cache.lock:
            self.pins += 1  # before it is opened: a full cache must not close it again
            if self._fd >= 0:
                cache.touch(self)
                return self._fd
            try:
                self._fd = _open_for_any_use(self._path)
            except OSError:
                self.pins -= 1
                raise
            cache.add(self)
            return self._fd

    def _unpin(self) -> None:
        with self._cache.lock:
            self.pins -= 1

    @contextlib.contextmanager
    def descriptor(self) -> Iterator[int]:
        fd = self._pin()
        try:
            yield fd
        finally:
            self._unpin()

    def append(self, chunks: Sequence[Buffer]) -> int:
        fd = self._pin()
        try:
            position = self._size if self._size >= 0 else self.size()
            expected = 0
            for chunk in chunks:
                expected += len(chunk)
            try:
                written = os.pwritev(fd, chunks[:_MAX_IOV], position)
                if written != expected:
                    self._finish(fd, chunks, position, written)
            except OSError:
                # A full disk may have taken a part: what was not acknowledged must not remain.
                os.ftruncate(fd, position)
                raise
            self._size = position + expected
            return position
        finally:
            self._unpin()

    @staticmethod
    def _finish(fd: int, chunks: Sequence[Buffer], position: int, written: int) -> None:
        """A short write is legal; go on until everything is there."""
        rest = memoryview(b"".join(chunks))
        while written < len(rest):
            count = os.pwrite(fd, rest[written:], position + written)
            if count == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written += count

    def read(self, position: int, size: int) -> bytes:
        fd = self._pin()
        try:
            data = os.pread(fd, size, position)
            while 0 < len(data) < size:
                more = os.pread(fd, size - len(data), position + len(data))
                if not more:
                    break
                data += more
            return data
        finally:
            self._unpin()

    def write_at(self, position: int, data: Buffer) -> None:
        with self.descriptor() as fd:
            view = memoryview(data)
            while view:
                count = os.pwrite(fd, view, position)
                view, position = view[count:], position + count
        self._size = -1

    def truncate(self, size: int) -> None:
        with self.descriptor() as fd:
            os.ftruncate(fd, size)
        self._size = size

    def sync(self) -> None:
        with self.descriptor() as fd:
            os.fdatasync(fd)

    def size(self) -> int:
        if self._size < 0:
            self._size = os.stat(self._path).st_size if self._fd < 0 else os.fstat(self._fd).st_size
        return self._size

    def close(self) -> None:
        with self._cache.lock:
            if self._fd >= 0 and self.pins == 0:
                os.close(self._fd)
                self._fd = -1
                self._cache.discard(self)

    def rename(self, path: str) -> None:
        with self._cache.lock:
            os.rename(self._path, path)
            self._path = path


def _open_for_any_use(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as fault:
        if fault.errno not in (errno.EROFS, errno.EACCES):
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # reading may still be allowed


def _mode(path: str) -> int | None:
    """What is at the path, or None. A drive that fails raises; it does not look empty."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


class OsLock:
    """Both kinds of lock: `flock` also holds inside one process, `lockf` is what Java takes."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise

    def release(self) -> None:
        os.close(self._fd)


class OsDisk:
    """The `Disk` that production uses."""

    def __init__(self, max_open_files: int = 4096) -> None:
        self._handles = HandleCache(max_open_files)

    def open(self, path: str, *, create: bool = False) -> OsFile:
        if create:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
        elif _mode(path) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return OsFile(path, self._handles)

    def exists(self, path: str) -> bool:
        return _mode(path) is not None

    def list(self, folder: str) -> list[str]:
        return sorted(os.listdir(folder))

    def is_folder(self, path: str) -> bool:
        mode = _mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def make_folder(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def remove(self, path: str) -> None:
        os.remove(path)

    def remove_folder(self, path: str) -> None:
        shutil.rmtree(path)

    def sync_folder(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def lock(self, path: str) -> OsLock:
        return OsLock(path)

    def free_bytes(self, folder: str) -> int:
        return shutil.disk_usage(folder).free
