"""The writer on a real HDFS: a NameNode and a DataNode of Apache Hadoop's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.pipelines.connect.connectors.lake.sink import HdfsSink
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.files import FileTarget
from headrace.pipelines.lake.filesystems import filesystem
from headrace.pipelines.lake.filesystems.filesystem import Filesystem
from headrace.pipelines.lake.formats.parquet import ParquetFormat
from headrace.pipelines.lake.partitioners import FieldPartitioner
from headrace.pipelines.lake.rotation import Rotation
from headrace.pipelines.lake.writer import LakeWriter
from headrace.testing import ConnectHarness
from tests.pipelines.lake.rows import Hands, held, numbers, offsets
from tests.servers.hdfs import hdfs as hdfs_server
from tests.servers.hdfs import hdfs_url

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]
PLACE = ("t", 0)
PEOPLE = schemas.struct({"f1": schemas.STRING}, name="peoplerecord")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with hdfs_server() as server:
        yield hdfs_url(server)


def writer(lake: Filesystem, rows: int | None = None) -> LakeWriter:
    target = FileTarget(lake, ParquetFormat())
    return LakeWriter(target, FieldPartitioner(["colour"]), Rotation(rows=rows), Hands())


def records(lake: Filesystem, topic: str = "t") -> Iterator[dict[str, object]]:
    for name in sorted(lake.files(f"topics/{topic}")):
        yield from held(name, lake.read(f"topics/{topic}/{name}"))


def test_files(url: str) -> None:
    lake = filesystem(f"{url}/files")
    first = writer(lake, rows=6)
    assert first.begin([PLACE]) == {}
    first.write(numbers(0, 8))
    first.close()
    assert sorted(lake.files("topics/t")) == [
        "colour=blue/t+0+0000000002+0000000005.parquet",
        "colour=green/t+0+0000000001+0000000004.parquet",
        "colour=red/t+0+0000000000+0000000003.parquet",
    ]
    again = writer(lake, rows=6)
    assert again.begin([PLACE]) == {PLACE: 6}
    again.write(numbers(6, 6))
    again.close()
    assert offsets(records(lake)) == dict.fromkeys(range(12), 1)
    assert list(lake.files("topics/+tmp")) == []


def test_two_writers_that_believe_a_partition_theirs(url: str) -> None:
    lake = filesystem(f"{url}/two")
    first, second = writer(lake), writer(lake)
    for each in (first, second):
        each.begin([PLACE])
    first.write(numbers(0, 10))
    second.write(numbers(0, 7))
    second.publish(PLACE)
    with pytest.raises(LakeFault) as raised:
        first.publish(PLACE)  # its staged files were swept away, so they cannot even be closed
    assert raised.value.passing
    first.write(numbers(0, 10))
    first.publish(PLACE)
    for each in (first, second):
        each.close()
    assert offsets(records(lake)) == dict.fromkeys(range(10), 1)


def test_a_file_in_the_way(url: str) -> None:
    filesystem(url).replace("way/topics", b"")
    lake = writer(filesystem(f"{url}/way"), rows=1)
    with pytest.raises(LakeFault, match=r"/way/topics.*is not a directory") as raised:
        lake.write(numbers(0, 1))
    assert "at org.apache" not in str(raised.value)
    lake.close()


@pytest.mark.spec("book2:A6-02", "book2:A6-05", "book2:A6-06", "book2:B-09", "book2:C-15")
def test_the_books_connector(url: str) -> None:
    """hdfs.url and flush.size=3: seven records are two files, the seventh waits."""
    with ConnectHarness(HdfsSink, {"hdfs.url": url, "flush.size": "3"}) as sink:
        sink.put([{"f1": f"value{n}"} for n in range(7)], topic="test", schema=PEOPLE)
        assert sink.flush() == {("test", 0): 6}
        sink.restart()
        sink.put([{"f1": f"value{n}"} for n in range(6, 9)], topic="test", schema=PEOPLE)
    lake = filesystem(url)
    assert sorted(lake.files("topics/test")) == [
        f"partition=0/test+0+{first:010d}+{first + 2:010d}.avro" for first in (0, 3, 6)
    ]
    assert [row["f1"] for row in records(lake, "test")] == [f"value{n}" for n in range(9)]
