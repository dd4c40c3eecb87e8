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


def test_a_bucket_that_is_not_there(s3_running: Server) -> None:
    with (
        sink_of(s3_running, "nowhere") as sink,
        pytest.raises(RetriableException, match="see that the bucket exists"),
    ):
        sink.put(rows(0, 3), topic="t", schema=SHOP)
