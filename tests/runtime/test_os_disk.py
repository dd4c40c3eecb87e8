from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from headrace.runtime.clock import SystemClock
from headrace.runtime.os_disk import OsDisk, OsFile


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let the kernel refuse files above a size, as a full disk or a quota does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def files(disk: OsDisk, folder: Path, count: int) -> list[OsFile]:
    return [disk.open(str(folder / f"{i}"), create=True) for i in range(count)]


def test_a_failed_append_leaves_nothing(tmp_path: Path) -> None:
    """When the disk takes only a part, that part is removed again and the error is raised."""
    file = OsDisk().open(str(tmp_path / "a"), create=True)
    file.append([b"kept"])
    with largest_file(10), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        file.append([b"0123", b"4567", b"89"])
    assert (tmp_path / "a").read_bytes() == b"kept"
    assert file.append([b"!"]) == 4
    assert (tmp_path / "a").read_bytes() == b"kept!"


def test_descriptors_are_capped(tmp_path: Path) -> None:
    """A thousand files need no more descriptors than the cap, and all stay usable."""
    disk = OsDisk(max_open_files=5)
    before = open_descriptors()
    opened = files(disk, tmp_path, 50)
    for round_number in range(3):
        for index, file in enumerate(opened):
            assert file.append([b"%02d" % index]) == 2 * round_number
    assert open_descriptors() - before <= 5
    for index, file in enumerate(opened):
        assert file.read(0, 99) == b"%02d" % index * 3
        file.close()
    assert open_descriptors() == before


def test_the_least_recently_written_is_closed_first(tmp_path: Path) -> None:
    """A file that is written all the time keeps its descriptor."""
    disk = OsDisk(max_open_files=2)
    hot, *cold = files(disk, tmp_path, 6)
    hot.append([b"x"])
    with hot.descriptor() as first:
        pass
    for file in cold:
        file.append([b"y"])
        hot.append([b"x"])
    with hot.descriptor() as later:
        assert later == first
    for file in (hot, *cold):
        file.close()


def test_a_pinned_descriptor_stays_open(tmp_path: Path) -> None:
    """What sendfile reads from is not closed by other files' needs, nor by close."""
    disk = OsDisk(max_open_files=1)
    pinned, *others = files(disk, tmp_path, 3)
    pinned.append([b"content"])
    with pinned.descriptor() as descriptor:
        pinned.close()
        for file in others:
            assert file.read(0, 1) == b""
        assert os.pread(descriptor, 99, 0) == b"content"
    for file in (pinned, *others):
        file.close()


def test_a_closed_file_does_not_open_another_one_of_its_name(tmp_path: Path) -> None:
    """Evicted, replaced under its name, used again: it is missing, and the other is untouched."""
    disk = OsDisk(max_open_files=1)
    old, other = files(disk, tmp_path, 2)
    old.append([b"old"])
    other.append([b"evicts it"])
    (tmp_path / "new").write_bytes(b"new")
    (tmp_path / "new").rename(tmp_path / "0")
    before = open_descriptors()
    for use in (lambda: old.read(0, 3), lambda: old.append([b"!"])):
        with pytest.raises(FileNotFoundError):
            use()
    assert open_descriptors() == before
    assert (tmp_path / "0").read_bytes() == b"new"
    other.close()


def test_a_pinned_file_that_is_abandoned_closes_when_it_is_free(tmp_path: Path) -> None:
    """A thread that is inside of the file finishes; then the descriptor goes."""
    before = open_descriptors()
    (file,) = files(OsDisk(), tmp_path, 1)
    file.append([b"content"])
    with file.descriptor() as descriptor:
        file.abandon()
        assert os.pread(descriptor, 99, 0) == b"content"
    assert open_descriptors() == before


def test_all_descriptors_may_be_pinned(tmp_path: Path) -> None:
    """Above the cap more are opened rather than a pinned one closed."""
    disk = OsDisk(max_open_files=2)
    opened = files(disk, tmp_path, 5)
    with ExitStack() as pins:
        descriptors = [pins.enter_context(file.descriptor()) for file in opened]
        assert len(set(descriptors)) == 5
    for file in opened:
        file.close()


def test_resting_files_give_way_where_descriptors_are_scarce(tmp_path: Path) -> None:
    """At the limit of the process the handles of other files are closed, and all stay usable."""
    disk = OsDisk()
    opened = files(disk, tmp_path, 10)
    for file in opened:
        file.append([b"x"])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    spare = [os.open("/dev/null", os.O_RDONLY) for _ in range(highest)]  # no gap below is left
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(spare), hard))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
            os.open("/dev/null", os.O_RDONLY)
        (late,) = [disk.open(str(tmp_path / "late"), create=True)]
        assert late.append([b"y"]) == 0
        disk.sync_folder(str(tmp_path))
        assert disk.list(str(tmp_path))[-1] == "late"
        assert opened[0].read(0, 9) == b"x"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in spare:
            os.close(descriptor)
    for file in (*opened, late):
        file.close()


def test_a_lock_is_seen_by_another_disk(tmp_path: Path) -> None:
    """The lock belongs to the file and not to the object that took it."""
    lock = OsDisk().lock(str(tmp_path / ".lock"))
    before = open_descriptors()
    with pytest.raises(BlockingIOError):
        OsDisk().lock(str(tmp_path / ".lock"))
    assert open_descriptors() == before
    lock.release()
    OsDisk().lock(str(tmp_path / ".lock")).release()


def test_system_clock_agrees_with_the_machine() -> None:
    """Wall time is near the file system's, and monotonic time does not go back."""
    clock = SystemClock()
    assert clock.now_ms() > 1_700_000_000_000
    first = clock.monotonic_ms()
    assert clock.monotonic_ms() >= first


def test_a_full_cache_does_not_close_the_file_that_is_being_opened(tmp_path: Path) -> None:
    """With every other handle pinned, the cap is exceeded rather than the newcomer closed."""
    disk = OsDisk(max_open_files=1)
    held = disk.open(str(tmp_path / "held"), create=True)
    other = disk.open(str(tmp_path / "other"), create=True)
    with held.descriptor():
        assert other.append([b"x"]) == 0
    assert other.read(0, 10) == b"x"
