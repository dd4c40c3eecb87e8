"""The machine's file system behind the `Disk` protocol, with lazily opened and capped handles.

A broker holds thousands of segments; the kernel allows far fewer open files. An `OsFile` therefore
is a name that opens itself when used, and `HandleCache` closes the handle used longest ago when the
cap is reached. A pinned handle (one that `sendfile` is reading from) is never closed. Where the
process or the machine is out of descriptors all handles that are not pinned are closed and the call
is made once more: segments that rest give way to sockets.

A name may be given to another file while the handle is closed. `abandon` says so beforehand, and
what is opened again must be the same inode as the first time; otherwise the file counts as missing.
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
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from headrace.runtime.disk import NO_DESCRIPTOR
from headrace.types import Buffer

T = TypeVar("T")

FILE_MODE: Final = 0o600
"""Only the broker's user may read records and settings."""
_FOLDER_MODE: Final = 0o700
_OF_OTHERS: Final = 0o077
_MAX_IOV: Final = 1024


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

    def with_room(self, call: Callable[[], T]) -> T:
        """What `call` returns; if it finds no free descriptor, after the idle ones were closed."""
        try:
            return call()
        except OSError as fault:
            if fault.errno not in NO_DESCRIPTOR:
                raise
        with self.lock:
            for file in list(self._open):
                file.close()  # not if it is pinned
        return call()


class OsFile:
    """A file by name; see the module for when it is open."""

    __slots__ = ("_abandoned", "_cache", "_fd", "_identity", "_path", "_size", "pins")

    def __init__(self, path: str, cache: HandleCache) -> None:
        self._path = path
        self._cache = cache
        self._fd = -1
        self._size = -1
        self._identity: tuple[int, int] | None = None  # device and inode, once it was open
        self._abandoned = False
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
                self._fd = self._open()
            except OSError:
                self.pins -= 1
                raise
            cache.add(self)
            return self._fd

    def _open(self) -> int:
        """A descriptor of this very file; FileNotFoundError if another one has its name now."""
        self._check_present()
        fd = self._cache.with_room(lambda: _open_for_any_use(self._path))
        found = os.fstat(fd)
        identity = found.st_dev, found.st_ino
        if self._identity is None:
            self._identity = identity
        elif identity != self._identity:
            os.close(fd)
            raise _missing(self._path)
        return fd

    def adopt(self, fd: int) -> None:
        """Take the descriptor with which the file was created."""
        with self._cache.lock:
            found = os.fstat(fd)
            self._identity = found.st_dev, found.st_ino
            self._fd = fd
            self.pins += 1  # as in `_pin`
            self._cache.add(self)
            self.pins -= 1

    def _check_present(self) -> None:
        if self._abandoned:
            raise _missing(self._path)

    def _unpin(self) -> None:
        with self._cache.lock:
            self.pins -= 1
            if self._abandoned:
                self.close()

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
            self._check_present()
            self._size = os.stat(self._path).st_size if self._fd < 0 else os.fstat(self._fd).st_size
        return self._size

    def close(self) -> None:
        with self._cache.lock:
            if self._fd >= 0 and self.pins == 0:
                os.close(self._fd)
                self._fd = -1
                self._cache.discard(self)

    def abandon(self) -> None:
        with self._cache.lock:
            self._abandoned = True
            self.close()

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


def _missing(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _mode(path: str) -> int | None:
    """What is at the path, or None. A drive that fails raises; it does not look empty."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def make_private(path: str) -> bool:
    """See `Disk`. What belongs to another user, or to everybody as /tmp does, stays as it is."""
    try:
        found = os.stat(path)
        if found.st_uid != os.geteuid() or found.st_mode & stat.S_ISVTX:
            return False
        if not found.st_mode & _OF_OTHERS:
            return False
        os.chmod(path, _FOLDER_MODE if stat.S_ISDIR(found.st_mode) else FILE_MODE)
    except OSError:
        return False  # It is missing, or the file system knows no such thing.
    return True


class OsLock:
    """Both kinds of lock: `flock` also holds inside one process, `lockf` is what Java takes."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
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
        file = OsFile(path, self._handles)
        if create:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            file.adopt(self._handles.with_room(lambda: os.open(path, flags, FILE_MODE)))
        elif _mode(path) is None:
            raise _missing(path)
        return file

    def exists(self, path: str) -> bool:
        return _mode(path) is not None

    def list(self, folder: str) -> list[str]:
        return sorted(self._handles.with_room(lambda: os.listdir(folder)))

    def is_folder(self, path: str) -> bool:
        mode = _mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def make_folder(self, path: str) -> None:
        try:
            os.mkdir(path, _FOLDER_MODE)
        except OSError:
            # Its parents are missing, or it is there.
            os.makedirs(path, _FOLDER_MODE, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def remove(self, path: str) -> None:
        os.remove(path)

    def remove_folder(self, path: str) -> None:
        self._handles.with_room(lambda: shutil.rmtree(path))

    def sync_folder(self, path: str) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        fd = self._handles.with_room(lambda: os.open(path, flags))
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def lock(self, path: str) -> OsLock:
        return OsLock(path)

    def make_private(self, path: str) -> bool:
        return make_private(path)

    def room(self, folder: str) -> tuple[int, int]:
        usage = shutil.disk_usage(folder)
        return usage.total, usage.free
