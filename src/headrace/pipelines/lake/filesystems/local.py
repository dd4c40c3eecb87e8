"""A folder of this machine, or one that is mounted here."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from headrace.pipelines.lake.faults import LakeFault

_BUFFER: Final = 1 << 20
_REMEDIES: Final = {
    errno.ENOSPC: "make room on it",
    errno.EDQUOT: "raise the quota or make room",
    errno.EROFS: "mount it for writing",
    errno.EACCES: "let the worker's user write there",
    errno.EPERM: "let the worker's user write there",
    errno.ENOTDIR: "a file stands where a folder must be: move it away",
    errno.EEXIST: "something else stands in its place: move it away",
    errno.ENOENT: "something removed it while it was written: leave the folder to the writer",
}
_PASSING: Final = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.ENOENT)


class LocalFilesystem:
    """Renames are atomic; what is published is synced."""

    fences = True

    def __init__(self, root: Path) -> None:
        self._root = root

    def url(self, path: str) -> str:
        return str(self._root / path)

    @contextlib.contextmanager
    def told(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            raise os_fault(self.url(path), fault) from fault

    def stage(self, path: str) -> BinaryIO:
        with self.told(path):
            whole = self._root / path
            _make(whole.parent)
            return open(whole, "xb", buffering=_BUFFER)

    def seal(self, path: str, out: BinaryIO) -> None:
        with self.told(path):
            out.flush()
            os.fsync(out.fileno())
            out.close()

    def discard(self, path: str, out: BinaryIO | None) -> None:
        with contextlib.suppress(OSError):  # a full disk: what is buffered has no place
            if out is not None:
                out.close()
        with contextlib.suppress(OSError):
            (self._root / path).unlink()

    def is_staged(self, path: str) -> bool:
        with self.told(path):
            return (self._root / path).exists()

    def publish(self, path: str, final: str) -> bool:
        with self.told(final):
            target = self._root / final
            _make(target.parent)
            try:
                (self._root / path).rename(target)
            except FileNotFoundError:
                if not target.exists():
                    return False
            _sync(target.parent)
            return True

    def claim(self, path: str, data: bytes) -> bool:
        with self.told(path), self._written_aside(path, data) as aside:
            try:
                os.link(aside, self._root / path)
            except FileExistsError:
                return False
            _sync(aside.parent)
            return True

    def replace(self, path: str, data: bytes) -> None:
        with self.told(path), self._written_aside(path, data) as aside:
            aside.rename(self._root / path)
            _sync(aside.parent)

    def read(self, path: str) -> bytes:
        with self.told(path):
            return (self._root / path).read_bytes()

    def delete(self, path: str) -> None:
        with self.told(path):
            (self._root / path).unlink(missing_ok=True)

    def files(self, folder: str) -> Iterator[str]:
        whole = self._root / folder
        with self.told(folder):
            for here, _, names in os.walk(whole):
                inside = Path(here).relative_to(whole)
                yield from (str(inside / name) for name in names)

    def close(self) -> None:
        """There is nothing to let go of."""

    @contextlib.contextmanager
    def _written_aside(self, path: str, data: bytes) -> Iterator[Path]:
        """A file beside the one that it becomes, its bytes safe."""
        folder = (self._root / path).parent
        _make(folder)
        aside = folder / f".{uuid.uuid4().hex}"
        try:
            with open(aside, "xb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            yield aside
        finally:
            aside.unlink(missing_ok=True)


def os_fault(url: str, fault: OSError) -> LakeFault:
    """A fault of the operating system, with what to do about it."""
    number = fault.errno or 0
    remedy = _REMEDIES.get(number, "see that the disk is there and can be written")
    cause = os.strerror(number) if number else str(fault)
    return LakeFault(f"cannot use {url}: {cause}; {remedy}", passing=number in _PASSING)


def _make(folder: Path) -> None:
    """Have a folder and those above it, on the disk too: else a file in it may be lost with it."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        _sync(each.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
