"""What is published when, under which names, and where a new writer goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.pipelines.lake.faults import Fenced, LakeFault
from headrace.pipelines.lake.files import FileTarget
from headrace.pipelines.lake.filesystems import filesystem
from headrace.pipelines.lake.formats.avro import AvroFormat
from headrace.pipelines.lake.formats.format import Format
from headrace.pipelines.lake.formats.lines import LinesFormat
from headrace.pipelines.lake.formats.parquet import ParquetFormat
from headrace.pipelines.lake.partitioners import (
    DefaultPartitioner,
    FieldPartitioner,
    Partitioner,
    TimePartitioner,
)
from headrace.pipelines.lake.rotation import Rotation
from headrace.pipelines.lake.rows import Rows
from headrace.pipelines.lake.times import RecordTime
from headrace.pipelines.lake.writer import LakeWriter
from tests.pipelines.lake.rows import HOUR_MS, Hands, all_held, files, lines, numbers, offsets

PLACE = ("t", 0)
BY_COLOUR = FieldPartitioner(["colour"])
OPENED: list[LakeWriter] = []


@pytest.fixture(autouse=True)
def closing() -> Iterator[None]:
    """Let go of every writer at the end."""
    yield
    while OPENED:
        OPENED.pop().close()


def writer(
    root: Path,
    rotation: Rotation,
    partitioner: Partitioner | None = None,
    *,
    clock: Hands | None = None,
    most_open: int = 64,
    format_: Format | None = None,
) -> LakeWriter:
    target = FileTarget(filesystem(str(root)), format_ or AvroFormat(), most_open=most_open)
    made = LakeWriter(target, partitioner or DefaultPartitioner(), rotation, clock or Hands())
    OPENED.append(made)
    return made


@pytest.mark.spec("book2:A6-04", "book2:A6-06", "book2:D-04")
def test_files_of_three_records(tmp_path: Path) -> None:
    """Seven records and flush.size=3: two files, the seventh waits."""
    lake = writer(tmp_path, Rotation(rows=3))
    assert lake.begin([PLACE]) == {}
    lake.write(numbers(0, 7))
    assert files(tmp_path) == [
        "partition=0/t+0+0000000000+0000000002.avro",
        "partition=0/t+0+0000000003+0000000005.avro",
    ]
    assert lake.safe(PLACE) == 6
    lake.close()
    again = writer(tmp_path, Rotation(rows=3))
    assert again.begin([PLACE, ("t", 1), ("other", 0)]) == {PLACE: 6}
    again.write(numbers(6, 3))
    assert files(tmp_path)[-1] == "partition=0/t+0+0000000006+0000000008.avro"
    assert offsets(all_held(tmp_path)) == dict.fromkeys(range(9), 1)


def test_rows_that_come_again_are_passed_over(tmp_path: Path) -> None:
    lake = writer(tmp_path, Rotation(rows=5))
    lake.write(numbers(0, 7))
    lake.write(numbers(3, 6))
    lake.write(numbers(0, 2))
    lake.publish(PLACE)
    assert offsets(all_held(tmp_path)) == dict.fromkeys(range(9), 1)
    assert files(tmp_path)[-1] == "partition=0/t+0+0000000005+0000000008.avro"


def test_folders_are_published_together(tmp_path: Path) -> None:
    lake = writer(tmp_path, Rotation(rows=6), BY_COLOUR)
    lake.write(numbers(0, 5))
    assert files(tmp_path) == []
    lake.write(numbers(5, 2))
    assert files(tmp_path) == [
        "colour=blue/t+0+0000000002+0000000005.avro",
        "colour=green/t+0+0000000001+0000000004.avro",
        "colour=red/t+0+0000000000+0000000003.avro",
    ]
    lake.close()
    assert writer(tmp_path, Rotation()).begin([PLACE]) == {PLACE: 6}


def test_a_journal_says_where_files_were_moved_from(tmp_path: Path) -> None:
    """Files that were taken away after they were published are not written again."""
    lake = writer(tmp_path, Rotation(rows=4))
    lake.write(numbers(0, 8))
    lake.close()
    for name in files(tmp_path):
        (tmp_path / "topics/t" / name).unlink()
    assert writer(tmp_path, Rotation()).begin([PLACE]) == {PLACE: 8}
    assert [path.name for path in (tmp_path / "logs/t/0").iterdir()] == [f"{4:020d}.json"]


def test_names_say_it_without_a_journal(tmp_path: Path) -> None:
    """As after another program that names files so."""
    folder = tmp_path / "topics/t/partition=0"
    folder.mkdir(parents=True)
    for name in (
        "t+0+0000000000+0000000011.avro",
        "t+1+0000000000+0000000040.avro",
        "t+0+12+100000000000.avro",
        "t2+0+0000000000+0000000900.avro",
        "_SUCCESS",
    ):
        (folder / name).touch()
    found = writer(tmp_path, Rotation()).begin([PLACE, ("t", 1), ("t", 2)])
    assert found == {PLACE: 100_000_000_001, ("t", 1): 41}


def test_few_files_are_open(tmp_path: Path) -> None:
    """The least recently used one is finished early; everything is still published at once."""
    lake = writer(tmp_path, Rotation(rows=30), FieldPartitioner(["n"]), most_open=4)
    for at in range(0, 30, 5):
        lake.write(numbers(at, 5))
        opened = [path for path in Path("/proc/self/fd").iterdir() if path.exists()]
        staged = [path for path in opened if "+tmp" in str(path.resolve())]
        assert len(staged) <= 4
    assert len(files(tmp_path)) == 30
    assert offsets(all_held(tmp_path)) == dict.fromkeys(range(30), 1)


def test_a_folder_that_comes_back_after_it_was_finished_early(tmp_path: Path) -> None:
    lake = writer(tmp_path, Rotation(rows=12), BY_COLOUR, most_open=2)
    for at in range(12):
        lake.write(numbers(at, 1))
    assert len(files(tmp_path)) == 12
    assert offsets(all_held(tmp_path)) == dict.fromkeys(range(12), 1)


def test_rotation_by_the_times_of_records(tmp_path: Path) -> None:
    hourly = TimePartitioner("'hour'=HH", HOUR_MS, extractor=RecordTime())
    lake = writer(tmp_path, Rotation(interval_ms=2 * HOUR_MS), hourly)
    lake.write(numbers(0, 10, step_ms=HOUR_MS // 2))  # five hours
    assert files(tmp_path) == [
        "hour=00/t+0+0000000000+0000000001.avro",
        "hour=01/t+0+0000000002+0000000003.avro",
        "hour=02/t+0+0000000004+0000000005.avro",
        "hour=03/t+0+0000000006+0000000007.avro",
    ]
    assert lake.safe(PLACE) == 8


def test_rotation_by_the_clock(tmp_path: Path) -> None:
    clock = Hands(10 * HOUR_MS + 1)
    lake = writer(tmp_path, Rotation(interval_ms=1000), clock=clock)
    lake.write(numbers(0, 2))
    clock.ms += 999
    lake.tick()
    assert files(tmp_path) == []
    clock.ms += 1
    lake.tick()
    assert files(tmp_path) == ["partition=0/t+0+0000000000+0000000001.avro"]
    scheduled = writer(tmp_path, Rotation(schedule_ms=HOUR_MS), clock=clock)
    scheduled.write(numbers(2, 2))
    clock.ms = 11 * HOUR_MS - 1
    scheduled.tick()
    assert len(files(tmp_path)) == 1
    clock.ms = 11 * HOUR_MS
    scheduled.write(numbers(4, 1))
    assert files(tmp_path)[1:] == ["partition=0/t+0+0000000002+0000000003.avro"]


def test_rotation_by_bytes(tmp_path: Path) -> None:
    lake = writer(tmp_path, Rotation(size=2000), format_=LinesFormat())
    for at in range(0, 400, 20):
        lake.write(lines(at, 20))
    made = [(tmp_path / "topics/t" / name).stat().st_size for name in files(tmp_path)]
    assert len(made) > 2
    assert all(2000 <= size < 3000 for size in made)


def test_another_shape_is_another_file(tmp_path: Path) -> None:
    lake = writer(tmp_path, Rotation(rows=4), format_=ParquetFormat())
    lake.write(numbers(0, 2))
    wider = pa.array([{"n": 2, "size": 1.5}, {"n": 3, "size": None}])
    lake.write(Rows("t", 0, wider, pa.array([2, 3], pa.int64())))
    assert files(tmp_path) == [
        "partition=0/t+0+0000000000+0000000001.parquet",
        "partition=0/t+0+0000000002+0000000003.parquet",
    ]
    assert all_held(tmp_path)[2:] == [{"n": 2, "size": 1.5}, {"n": 3, "size": None}]


def test_rows_without_a_folder_are_refused(tmp_path: Path) -> None:
    daily = TimePartitioner("'day'=dd", HOUR_MS * 24, extractor=RecordTime())
    lake = writer(tmp_path, Rotation(rows=2), daily)
    made = numbers(0, 4)
    untimed = Rows("t", 0, made.values, made.offsets, pa.array([0, None, 1, None], pa.int64()))
    assert lake.write(untimed) == dict.fromkeys((1, 3), "the record has no timestamp")
    assert offsets(all_held(tmp_path)) == {0: 1, 2: 1}
    assert lake.safe(PLACE) == 4


def test_two_writers_that_believe_a_partition_theirs(tmp_path: Path) -> None:
    """Both wrote the same rows; the second to publish is fenced and goes on behind the first."""
    first, second = (writer(tmp_path, Rotation(), BY_COLOUR) for _ in range(2))
    for lake in (first, second):
        lake.begin([PLACE])
    first.write(numbers(0, 10))
    second.write(numbers(0, 7))
    second.publish(PLACE)
    with pytest.raises(Fenced, match="another writer has published t-0 from offset 0 on"):
        first.publish(PLACE)
    assert first.safe(PLACE) == 0
    first.write(numbers(0, 10))
    first.publish(PLACE)
    second.write(numbers(7, 2))
    with pytest.raises(Fenced):
        second.publish(PLACE)
    assert offsets(all_held(tmp_path)) == dict.fromkeys(range(10), 1)


def test_a_writer_that_slept_while_others_went_far(tmp_path: Path) -> None:
    """The entry that would have kept it out is no longer there, but a higher one is."""
    slow, quick = (writer(tmp_path, Rotation(rows=3)) for _ in range(2))
    slow.begin([PLACE])
    slow.write(numbers(0, 2))
    quick.begin([PLACE])
    quick.write(numbers(0, 12))
    with pytest.raises(LakeFault):
        slow.publish(PLACE)
    slow.write(numbers(0, 15))
    assert offsets(all_held(tmp_path)) == dict.fromkeys(range(15), 1)
    left = [path for path in (tmp_path / "topics/+tmp").rglob("*") if path.is_file()]
    assert left == []
