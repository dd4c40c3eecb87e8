"""The writer on S3: objects appear whole, half a set is taken back."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.files import FileTarget
from headrace.pipelines.lake.filesystems.s3 import S3Filesystem
from headrace.pipelines.lake.formats.parquet import ParquetFormat
from headrace.pipelines.lake.partitioners import FieldPartitioner
from headrace.pipelines.lake.rotation import Rotation
from headrace.pipelines.lake.writer import LakeWriter
from tests.pipelines.lake.rows import Hands, held, numbers, offsets
from tests.servers.s3 import KEY, endpoint
from tests.servers.server import Server

PLACE = ("t", 0)


def writer(filesystem: S3Filesystem, rows: int | None = 6) -> LakeWriter:
    target = FileTarget(filesystem, ParquetFormat())
    return LakeWriter(target, FieldPartitioner(["colour"]), Rotation(rows=rows), Hands())


def objects(s3: S3Filesystem) -> list[str]:
    return sorted(s3.files("topics/t"))


def records(s3: S3Filesystem) -> Iterator[dict[str, object]]:
    for name in objects(s3):
        yield from held(name, s3.read(f"topics/t/{name}"))


@pytest.mark.spec("book2:D-08", "book2:B-12", "slides:H18", "admin:CN-14")
def test_objects(s3: S3Filesystem) -> None:
    lake = writer(s3)
    assert lake.begin([PLACE]) == {}
    lake.write(numbers(0, 8))
    lake.close()
    assert objects(s3) == [
        "colour=blue/t+0+0000000002+0000000005.parquet",
        "colour=green/t+0+0000000001+0000000004.parquet",
        "colour=red/t+0+0000000000+0000000003.parquet",
    ]
    again = writer(s3)
    assert again.begin([PLACE]) == {PLACE: 6}
    again.write(numbers(6, 6))
    again.close()
    assert offsets(records(s3)) == dict.fromkeys(range(12), 1)
    assert list(s3.files("topics/+tmp")) == []


def test_many_folders_take_few_descriptors(s3: S3Filesystem) -> None:
    """Files that wait until their cut is published are not open."""
    target = FileTarget(s3, ParquetFormat(), most_open=4)
    lake = LakeWriter(target, FieldPartitioner(["n"]), Rotation(), Hands())
    before = len(os.listdir("/proc/self/fd"))
    lake.write(numbers(0, 60))
    assert len(os.listdir("/proc/self/fd")) < before + 20
    lake.publish(PLACE)
    assert len(objects(s3)) == 60
    assert offsets(records(s3)) == dict.fromkeys(range(60), 1)
    spooled = s3._spool()
    assert list(spooled.iterdir()) == []
    lake.close()
    assert not spooled.exists()


class Cut(S3Filesystem):
    """A process that dies after its first uploads."""

    uploads = 2

    def publish(self, path: str, final: str) -> bool:
        self.uploads -= 1
        if self.uploads < 0:
            raise LakeFault("the machine is gone")
        return super().publish(path, final)


def test_half_a_set_is_taken_back(s3: S3Filesystem, s3_running: Server, bucket: str) -> None:
    dying = Cut(
        bucket,
        "lake",
        region="us-east-1",
        endpoint=endpoint(s3_running),
        access_key=KEY,
        secret_key=KEY,
    )
    lake = writer(dying, rows=None)
    lake.write(numbers(0, 9))
    with pytest.raises(LakeFault):
        lake.publish(PLACE)
    lake.close()
    assert len(objects(s3)) == 2
    again = writer(s3)
    assert again.begin([PLACE]) == {PLACE: 0}
    assert objects(s3) == []
    again.write(numbers(0, 12))
    again.close()
    assert offsets(records(s3)) == dict.fromkeys(range(12), 1)


def test_an_upload_that_failed_is_made_again(
    s3: S3Filesystem, s3_running: Server, bucket: str
) -> None:
    """By the same writer, which still has the file."""
    failing = Cut(
        bucket,
        "lake",
        region="us-east-1",
        endpoint=endpoint(s3_running),
        access_key=KEY,
        secret_key=KEY,
    )
    lake = writer(failing, rows=None)
    lake.write(numbers(0, 9))
    with pytest.raises(LakeFault):
        lake.publish(PLACE)
    assert lake.safe(PLACE) == 0
    failing.uploads = 9
    lake.write(numbers(0, 10))
    lake.publish(PLACE)
    lake.close()
    assert offsets(records(s3)) == dict.fromkeys(range(10), 1)


def test_a_bucket_that_is_not_there(s3_running: Server) -> None:
    missing = S3Filesystem(
        "nowhere",
        region="us-east-1",
        endpoint=endpoint(s3_running),
        access_key=KEY,
        secret_key=KEY,
        attempts=1,
    )
    lake = writer(missing)
    with pytest.raises(LakeFault, match=r"cannot use s3://nowhere/logs/t/0.*the bucket exists"):
        lake.write(numbers(0, 6))
    lake.close()
