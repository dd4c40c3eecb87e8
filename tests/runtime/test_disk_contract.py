"""The Disk protocol, proven on the machine's file system and on its twin in memory alike."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.runtime.disk import Disk, read_all, write_atomically
from headrace.runtime.os_disk import OsDisk
from headrace.testing.memory_disk import MemoryDisk
from tests.generated import examples


@pytest.fixture(params=["os", "memory"])
def disk(request: pytest.FixtureRequest) -> Disk:
    return OsDisk(max_open_files=4) if request.param == "os" else MemoryDisk()


@pytest.fixture
def folder(disk: Disk, tmp_path: Path) -> str:
    disk.make_folder(str(tmp_path))
    return str(tmp_path)


def put(disk: Disk, path: str, content: bytes) -> None:
    disk.open(path, create=True).append([content])


def test_append_returns_positions(disk: Disk, folder: str) -> None:
    """Chunks of any buffer type are written at the end in one go; the start is returned."""
    file = disk.open(f"{folder}/a", create=True)
    assert file.path == f"{folder}/a"
    assert file.append([b"one", bytearray(b"two"), memoryview(b"three")]) == 0
    assert file.append([b"!"]) == 11
    assert file.append([]) == 12
    assert file.size() == 12
    assert file.read(0, 12) == b"onetwothree!"


def test_many_chunks(disk: Disk, folder: str) -> None:
    """More chunks than one system call takes are still one append."""
    file = disk.open(f"{folder}/a", create=True)
    file.append([b"head"])
    chunks = [b"%d," % i for i in range(3000)]
    assert file.append(chunks) == 4
    assert file.read(4, 10**6) == b"".join(chunks)


def test_reads_stop_at_the_end(disk: Disk, folder: str) -> None:
    """A read is shorter only at the end of the file, and empty behind it."""
    put(disk, f"{folder}/a", b"0123456789")
    file = disk.open(f"{folder}/a")
    assert file.read(7, 100) == b"789"
    assert file.read(10, 5) == b""
    assert file.read(99, 5) == b""
    assert file.read(3, 0) == b""


def test_write_at(disk: Disk, folder: str) -> None:
    """Bytes inside the file are replaced; the next append goes to the end."""
    put(disk, f"{folder}/a", b"0123456789")
    file = disk.open(f"{folder}/a")
    file.write_at(2, memoryview(b"xy"))
    assert file.append([b"end"]) == 10
    assert file.read(0, 99) == b"01xy456789end"
    file.write_at(12, b"DEF")
    assert (file.size(), file.read(10, 9)) == (15, b"enDEF")


def test_truncate(disk: Disk, folder: str) -> None:
    """A file can be cut, and lengthened with zeros as index files are."""
    put(disk, f"{folder}/a", b"0123456789")
    file = disk.open(f"{folder}/a")
    file.truncate(4)
    assert file.size() == 4
    assert file.append([b"x"]) == 4
    file.truncate(8)
    assert file.read(0, 99) == b"0123x\0\0\0"


def test_a_closed_file_opens_itself(disk: Disk, folder: str) -> None:
    """The object stays valid after close, until the name is gone."""
    file = disk.open(f"{folder}/a", create=True)
    file.append([b"x"])
    file.close()
    file.close()
    assert file.append([b"y"]) == 1
    file.close()
    disk.remove(f"{folder}/a")
    with pytest.raises(FileNotFoundError):
        file.read(0, 1)


def test_an_open_file_outlives_its_name(disk: Disk, folder: str) -> None:
    """A reader may finish with a segment that retention has removed."""
    file = disk.open(f"{folder}/a", create=True)
    file.append([b"still here"])
    disk.remove(f"{folder}/a")
    assert file.read(0, 99) == b"still here"
    assert not disk.exists(f"{folder}/a")
    file.close()


def test_rename_of_a_file_object(disk: Disk, folder: str) -> None:
    """The object follows its file to the new name and replaces what was there."""
    put(disk, f"{folder}/b", b"old")
    file = disk.open(f"{folder}/a", create=True)
    file.append([b"new"])
    file.rename(f"{folder}/b")
    assert file.path == f"{folder}/b"
    file.close()
    assert file.append([b"er"]) == 3
    assert disk.list(folder) == ["b"]
    assert read_all(disk, f"{folder}/b") == b"newer"


def test_rename(disk: Disk, folder: str) -> None:
    """Files and whole folders move; a file replaces a file, a folder an empty folder."""
    put(disk, f"{folder}/a", b"1")
    put(disk, f"{folder}/b", b"2")
    disk.rename(f"{folder}/a", f"{folder}/b")
    disk.rename(f"{folder}/b", f"{folder}/b")
    assert read_all(disk, f"{folder}/b") == b"1"
    disk.make_folder(f"{folder}/d/inner")
    put(disk, f"{folder}/d/inner/f", b"3")
    disk.make_folder(f"{folder}/empty")
    disk.rename(f"{folder}/d", f"{folder}/empty")
    assert disk.list(folder) == ["b", "empty"]
    assert read_all(disk, f"{folder}/empty/inner/f") == b"3"


def test_refused_renames(disk: Disk, folder: str) -> None:
    """What the kernel refuses, the twin refuses with the same error."""
    put(disk, f"{folder}/file", b"")
    disk.make_folder(f"{folder}/full/inner")
    disk.make_folder(f"{folder}/other")
    for old, new, code in [
        ("missing", "x", errno.ENOENT),
        ("file", "nowhere/x", errno.ENOENT),
        ("file", "file/x", errno.ENOTDIR),
        ("other", "full", errno.ENOTEMPTY),
        ("other", "file", errno.ENOTDIR),
        ("file", "other", errno.EISDIR),
        ("full", "full/inner/x", errno.EINVAL),
    ]:
        with pytest.raises(OSError, match=os.strerror(code)):
            disk.rename(f"{folder}/{old}", f"{folder}/{new}")
    assert disk.list(folder) == ["file", "full", "other"]


def test_missing_paths(disk: Disk, folder: str) -> None:
    """Missing paths raise FileNotFoundError as in os, and files are not folders."""
    put(disk, f"{folder}/file", b"")
    missing = f"{folder}/no/such"
    inner = f"{folder}/file/inner"
    refusals: dict[type[OSError], list[Callable[[], object]]] = {
        FileNotFoundError: [
            lambda: disk.open(missing),
            lambda: disk.open(missing, create=True),
            lambda: disk.open(inner),
            lambda: disk.list(missing),
            lambda: disk.remove(missing),
            lambda: disk.remove_folder(missing),
            lambda: disk.sync_folder(missing),
            lambda: disk.lock(missing),
            lambda: disk.room(missing),
        ],
        NotADirectoryError: [
            lambda: disk.open(inner, create=True),
            lambda: disk.list(f"{folder}/file"),
            lambda: disk.remove_folder(f"{folder}/file"),
            lambda: disk.sync_folder(f"{folder}/file"),
        ],
        IsADirectoryError: [
            lambda: disk.open(folder, create=True),
            lambda: disk.open(folder).read(0, 1),
            lambda: disk.remove(folder),
        ],
        FileExistsError: [lambda: disk.make_folder(f"{folder}/file")],
    }
    for error, attempts in refusals.items():
        for attempt in attempts:
            with pytest.raises(error):
                attempt()


def test_folders(disk: Disk, folder: str) -> None:
    """Parents are made, names come sorted, and a folder goes with all that is in it."""
    disk.make_folder(f"{folder}/x/y/z")
    disk.make_folder(f"{folder}/x/y/z")
    put(disk, f"{folder}/x/b", b"")
    put(disk, f"{folder}/x/a", b"")
    assert disk.list(f"{folder}/x") == ["a", "b", "y"]
    assert disk.is_folder(f"{folder}/x/y")
    assert not disk.is_folder(f"{folder}/x/a")
    assert not disk.is_folder(f"{folder}/nothing")
    assert disk.exists(f"{folder}/x/a")
    assert disk.exists(f"{folder}/x/y")
    assert not disk.exists(f"{folder}/x/a/b")
    disk.remove_folder(f"{folder}/x")
    assert disk.list(folder) == []


def test_lock(disk: Disk, folder: str) -> None:
    """A folder has one owner: a second lock fails until the first is released."""
    lock = disk.lock(f"{folder}/.lock")
    with pytest.raises(BlockingIOError):
        disk.lock(f"{folder}/.lock")
    lock.release()
    disk.lock(f"{folder}/.lock").release()
    assert disk.list(folder) == [".lock"]


def test_syncs_and_free_space(disk: Disk, folder: str) -> None:
    """Syncs succeed on what exists, and there is room."""
    file = disk.open(f"{folder}/a", create=True)
    file.append([b"x"])
    file.sync()
    disk.sync_folder(folder)
    total, free = disk.room(folder)
    assert total >= free > 0
    assert file.read(0, 9) == b"x"


def test_write_atomically(disk: Disk, folder: str) -> None:
    """A small file is replaced as a whole, whatever a crash left of the attempt before."""
    put(disk, f"{folder}/checkpoint.tmp", b"rubbish of a longer attempt that crashed")
    write_atomically(disk, f"{folder}/checkpoint", b"one")
    write_atomically(disk, f"{folder}/checkpoint", b"two", sync=False)
    assert read_all(disk, f"{folder}/checkpoint") == b"two"
    assert disk.list(folder) == ["checkpoint"]


steps = st.lists(
    st.tuples(
        st.sampled_from(["append", "write_at", "truncate", "close", "rename", "remove", "create"]),
        st.sampled_from("abc"),
        st.sampled_from("abc"),
        st.integers(0, 20),
        st.binary(max_size=12),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=examples(60))
@given(steps=steps)
def test_the_twin_behaves_like_the_machine(
    steps: list[tuple[str, str, str, int, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any sequence of operations has the same results, errors and contents on both disks."""
    real = str(tmp_path_factory.mktemp("disk"))
    assert _play(OsDisk(2), real, steps) == _play(MemoryDisk(folders=[real]), real, steps)


def _play(disk: Disk, folder: str, steps: list[tuple[str, str, str, int, bytes]]) -> list[object]:
    """Everything that can be seen while the steps are done."""
    seen: list[object] = []
    for what, name, other, position, data in steps:
        path = f"{folder}/{name}"
        try:
            if what == "create":
                disk.open(path, create=True).close()
            elif what == "remove":
                disk.remove(path)
            elif what == "rename":
                disk.rename(path, f"{folder}/{other}")
            else:
                file = disk.open(path)
                if what == "append":
                    seen.append(file.append([data, data]))
                elif what == "write_at":
                    file.write_at(position, data)
                elif what == "truncate":
                    file.truncate(position)
                seen.append((file.size(), file.read(position, 7)))
                file.close()
        except OSError as error:
            seen.append(error.errno)
    seen.append([(name, read_all(disk, f"{folder}/{name}")) for name in disk.list(folder)])
    return seen


def test_an_abandoned_file_is_missing_for_good(disk: Disk, folder: str) -> None:
    """Another file under its name is not taken for it, whatever is asked of it."""
    put(disk, f"{folder}/a", b"old")
    file = disk.open(f"{folder}/a")
    assert file.read(0, 3) == b"old"
    file.abandon()
    disk.remove(f"{folder}/a")
    put(disk, f"{folder}/a", b"new")
    for use in (lambda: file.read(0, 3), lambda: file.append([b"x"]), file.sync):
        with pytest.raises(FileNotFoundError):
            use()
    assert read_all(disk, f"{folder}/a") == b"new"
