"""The S3 sink on an S3 of moto's."""

from __future__ import annotations

import gzip
import json

import pytest

from headrace.pipelines.connect.connectors.lake.sink import S3Sink
from headrace.pipelines.connect.faults import RetriableException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.lake.filesystems.s3 import S3Filesystem
from headrace.testing import ConnectHarness
from tests.coordination.wire_cutter import WireCutter
from tests.pipelines.lake.rows import held
from tests.servers.s3 import KEY, endpoint
from tests.servers.server import Server

SHOP = schemas.struct({"n": schemas.INT64})


def sink_of(server: Server, bucket: str, **settings: str) -> ConnectHarness:
    given = {
        "s3.bucket.name": bucket,
        "s3.region": "us-east-1",
        "store.url": endpoint(server),
        "aws.access.key.id": KEY,
        "aws.secret.access.key": KEY,
        "s3.part.retries": "0",
        "topics.dir": "lake/topics",
        "logs.dir": "lake/logs",
        "flush.size": "3",
    }
    named = {name.replace("_", "."): text for name, text in settings.items()}
    return ConnectHarness(S3Sink, given | named)


def rows(first: int, count: int) -> list[object]:
    return [{"n": n} for n in range(first, first + count)]


@pytest.mark.spec("book2:D-08", "book2:B-12", "slides:H18", "admin:CN-14")
def test_objects_of_three_records(s3_running: Server, s3: S3Filesystem, bucket: str) -> None:
    with sink_of(s3_running, bucket) as sink:
        sink.put(rows(0, 7), topic="t", schema=SHOP)
        assert sink.flush() == {("t", 0): 6}
        sink.restart()
        sink.put(rows(6, 3), topic="t", schema=SHOP)
    names = sorted(s3.files("topics/t"))
    assert names == [f"partition=0/t+0+{first:010d}+{first + 2:010d}.avro" for first in (0, 3, 6)]
    found = [row for name in names for row in held(name, s3.read(f"topics/t/{name}"))]
    assert found == rows(0, 9)


def test_packed_json(s3_running: Server, s3: S3Filesystem, bucket: str) -> None:
    with sink_of(s3_running, bucket, format_class="json", s3_compression_type="gzip") as sink:
        sink.put(rows(0, 3), topic="t", schema=SHOP)
    (name,) = s3.files("topics/t")
    assert name.endswith(".json.gz")
    lines = gzip.decompress(s3.read(f"topics/t/{name}")).splitlines()
    assert [json.loads(line) for line in lines] == rows(0, 3)


def test_the_clock_is_not_exactly_once(
    s3_running: Server, bucket: str, caplog: pytest.LogCaptureFixture
) -> None:
    with sink_of(s3_running, bucket, partitioner_class="hourly"):
        assert "a record may be there twice" in caplog.text
    caplog.clear()
    with sink_of(s3_running, bucket, partitioner_class="hourly", timestamp_extractor="Record"):
        assert caplog.text == ""


def test_a_lake_that_is_away_when_partitions_come(
    s3_running: Server, s3: S3Filesystem, bucket: str
) -> None:
    """The task takes them, and asks where they stand once it has rows for them."""
    place = ("t", 0)
    with (
        WireCutter(f"127.0.0.1:{s3_running.port}") as wire,
        sink_of(s3_running, bucket, store_url=f"http://{wire.address}") as late,
        sink_of(s3_running, bucket) as sink,
    ):
        wire.cut()
        with pytest.raises(RetriableException, match="see that the bucket exists"):
            late.put(rows(0, 3), topic="t", schema=SHOP)
        assert late._next == {place: 0}  # it was assigned, and the rows were refused
        sink.put(rows(0, 3), topic="t", schema=SHOP)
        wire.heal()
        late.seek({place: 5})  # as the group may have committed
        with pytest.raises(RetriableException, match="goes on at offset 3"):
            late.put(rows(5, 1), topic="t", schema=SHOP)
        late.put(rows(3, 3), topic="t", schema=SHOP)
        assert late.flush() == {place: 6}
    found = sorted(s3.files("topics/t"))
    assert [row for name in found for row in held(name, s3.read(f"topics/t/{name}"))] == rows(0, 6)


def test_a_bucket_that_is_not_there(s3_running: Server) -> None:
    with (
        sink_of(s3_running, "nowhere") as sink,
        pytest.raises(RetriableException, match="see that the bucket exists"),
    ):
        sink.put(rows(0, 3), topic="t", schema=SHOP)
