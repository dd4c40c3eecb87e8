"""Disks that are full, closed or gone: a clear message, and nothing is lost once they are back."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.files import FileTarget
from headrace.pipelines.lake.filesystems import filesystem
from headrace.pipelines.lake.formats.avro import AvroFormat
from headrace.pipelines.lake.formats.parquet import ParquetFormat
from headrace.pipelines.lake.partitioners import DefaultPartitioner
from headrace.pipelines.lake.rotation import Rotation
from headrace.pipelines.lake.rows import Rows
from headrace.pipelines.lake.writer import LakeWriter
from tests.pipelines.lake.rows import Hands, all_held, numbers, offsets

PLACE = ("t", 0)
NOBODY = 65534


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[LakeWriter]:
    target = FileTarget(filesystem(str(tmp_path / "lake")), AvroFormat())
    made = LakeWriter(target, DefaultPartitioner(), Rotation(rows=20_000), Hands())
    yield made
    made.close()


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """The operating system refuses to let files grow further, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def is_complete(root: Path, count: int) -> bool:
    return offsets(all_held(root)) == dict.fromkeys(range(count), 1)


def test_no_more_room(lake: LakeWriter, tmp_path: Path) -> None:
    lake.write(numbers(0, 20_000))
    with no_file_above(50_000), pytest.raises(LakeFault, match=r"cannot use .*: File too large"):
        lake.write(numbers(20_000, 20_000))
    assert lake.safe(PLACE) == 20_000
    assert is_complete(tmp_path / "lake", 20_000)
    assert [p for p in (tmp_path / "lake/topics/+tmp").rglob("*") if p.is_file()] == []
    lake.write(numbers(20_000, 20_000))
    assert is_complete(tmp_path / "lake", 40_000)


def test_no_room_for_the_journal(lake: LakeWriter, tmp_path: Path) -> None:
    lake.write(numbers(0, 100))
    os.truncate(_staged(tmp_path), 0)  # Avro's buffer is in memory: nothing is lost by it
    with no_file_above(0), pytest.raises(LakeFault, match="File too large"):
        lake.publish(PLACE)
    lake.write(numbers(0, 100))
    lake.publish(PLACE)
    assert is_complete(tmp_path / "lake", 100)


def _staged(root: Path) -> Path:
    (found,) = (path for path in (root / "lake/topics/+tmp").rglob("*") if path.is_file())
    return found


def test_no_room_for_what_another_partition_has_open(tmp_path: Path) -> None:
    """A file that is finished early to make way for another: if that fails, its partition, which
    did not ask for it, must not go on as if the file were there."""
    target = FileTarget(filesystem(str(tmp_path / "lake")), AvroFormat(), most_open=1)
    lake = LakeWriter(target, DefaultPartitioner(), Rotation(), Hands())
    lake.write(numbers(0, 100))
    with no_file_above(0), pytest.raises(LakeFault, match="File too large"):
        lake.write(numbers(0, 10, partition=1))
    lake.write(numbers(0, 10, partition=1))
    with pytest.raises(LakeFault, match="File too large"):
        lake.write(numbers(100, 50))
    assert lake.safe(PLACE) == 0
    lake.write(numbers(0, 150))
    lake.publish(PLACE)
    assert is_complete(tmp_path / "lake", 150)
    lake.close()


@pytest.mark.parametrize("gone", ["lake/topics/+tmp", "lake", "lake/logs"])
def test_a_folder_vanishes(lake: LakeWriter, tmp_path: Path, gone: str) -> None:
    """Whatever somebody deletes, the writer says so or goes on; what is published stays."""
    lake.write(numbers(0, 20_000))
    lake.write(numbers(20_000, 100))
    shutil.rmtree(tmp_path / gone)
    if gone != "lake/logs":
        with pytest.raises(LakeFault, match="has vanished before it was published"):
            lake.publish(PLACE)
        assert lake.safe(PLACE) == 20_000
        lake.write(numbers(20_000, 100))
    lake.publish(PLACE)
    kept = range(20_000 if gone == "lake" else 0, 20_100)
    assert offsets(all_held(tmp_path / "lake")) == dict.fromkeys(kept, 1)


def test_a_file_stands_where_the_folder_must_be(lake: LakeWriter, tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("in the way")
    told = "Not a directory; a file stands where a folder must be: move it away"
    with pytest.raises(LakeFault, match=told) as raised:
        lake.write(numbers(0, 10))
    assert not raised.value.passing
    (tmp_path / "lake").unlink()
    lake.write(numbers(0, 20_000))
    assert is_complete(tmp_path / "lake", 20_000)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user and return")
def test_a_folder_of_others(lake: LakeWriter, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    (tmp_path / "lake").mkdir(mode=0o755)
    os.seteuid(NOBODY)
    try:
        with pytest.raises(LakeFault, match="Permission denied; let the worker's user write there"):
            lake.write(numbers(0, 10))
    finally:
        os.seteuid(0)
    lake.write(numbers(0, 20_000))
    assert is_complete(tmp_path / "lake", 20_000)


def test_a_torn_journal(lake: LakeWriter, tmp_path: Path) -> None:
    entry = tmp_path / "lake/logs/t/0" / f"{0:020d}.json"
    entry.parent.mkdir(parents=True)
    entry.write_text('{"first": 0')
    with pytest.raises(
        LakeFault, match=r"is not an entry of a journal.*: remove it, and positions"
    ):
        lake.begin([PLACE])


def test_a_value_that_the_format_cannot_hold(tmp_path: Path) -> None:
    target = FileTarget(filesystem(str(tmp_path)), ParquetFormat())
    lake = LakeWriter(target, DefaultPartitioner(), Rotation(rows=1), Hands())
    odd = pa.nulls(1, pa.month_day_nano_interval())
    told = "a value cannot be written to .*; write another format"
    with pytest.raises(LakeFault, match=told) as raised:
        lake.write(Rows("t", 0, odd, pa.array([0], pa.int64())))
    assert not raised.value.passing
    lake.close()
