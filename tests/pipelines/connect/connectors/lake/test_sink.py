"""The lake sinks as tasks: files in a folder."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import fastavro
import pyarrow as pa
import pytest

from headrace.pipelines.connect.connectors.lake.sink import HdfsSink, LocalSink, S3Sink
from headrace.pipelines.connect.faults import (
    ConfigException,
    ConnectException,
    RetriableException,
)
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import of_values
from headrace.pipelines.connect.tasks import RowsRefused, connector_of
from headrace.testing import ConnectHarness
from tests.pipelines.connect.worker.running import PATIENCE_S, Worker, write
from tests.pipelines.lake.rows import all_held, files

PEOPLE = schemas.struct({"f1": schemas.STRING}, name="peoplerecord")
SHOP = schemas.struct({"n": schemas.INT64, "city": schemas.OPTIONAL_STRING})


def local(folder: Path, **settings: str) -> ConnectHarness:
    given = {name.replace("_", "."): text for name, text in settings.items()}
    return ConnectHarness(LocalSink, {"store.url": str(folder), "flush.size": "3", **given})


def shops(first: int, count: int) -> list[object]:
    return [{"n": n, "city": ("Ulm", "Bonn")[n % 2]} for n in range(first, first + count)]


@pytest.mark.spec("book2:A6-04", "book2:A6-06", "book2:D-04")
def test_three_records_a_file(tmp_path: Path) -> None:
    """The seventh waits, its offset is not committed, and a restart writes nothing twice."""
    with local(tmp_path) as sink:
        sink.put([{"f1": f"value{n}"} for n in range(7)], topic="test", schema=PEOPLE)
        assert sink.flush() == {("test", 0): 6}
        assert files(tmp_path, "test") == [
            "partition=0/test+0+0000000000+0000000002.avro",
            "partition=0/test+0+0000000003+0000000005.avro",
        ]
        sink.restart()
        sink.put([{"f1": f"value{n}"} for n in range(6, 9)], topic="test", schema=PEOPLE)
    assert [row["f1"] for row in all_held(tmp_path, "test")] == [f"value{n}" for n in range(9)]
    with (tmp_path / "topics/test" / files(tmp_path, "test")[0]).open("rb") as file:
        written = fastavro.reader(file).writer_schema
    assert isinstance(written, dict)
    assert (written["name"], written["connect.name"]) == ("peoplerecord", "peoplerecord")


@pytest.mark.parametrize(
    ("format_class", "ending"),
    [
        ("io.confluent.connect.hdfs.avro.AvroFormat", ".avro"),
        ("io.confluent.connect.s3.format.parquet.ParquetFormat", ".parquet"),
        ("io.confluent.connect.hdfs.json.JsonFormat", ".json"),
        ("json", ".json"),
    ],
)
def test_formats(tmp_path: Path, format_class: str, ending: str) -> None:
    with local(tmp_path, format_class=format_class) as sink:
        sink.put(shops(0, 3), schema=SHOP)
    (name,) = files(tmp_path, "topic")
    assert name.endswith(ending)
    assert all_held(tmp_path, "topic") == shops(0, 3)


def test_bytes_and_strings(tmp_path: Path) -> None:
    raw = "io.confluent.connect.s3.format.bytearray.ByteArrayFormat"
    with local(tmp_path / "b", format_class=raw, flush_size="2") as sink:
        sink.put([b"\x00\xff", "text", b"b"])
        assert list(sink.refused) == [1]
        assert "set value.converter to ByteArrayConverter" in sink.refused[1]
    (name,) = files(tmp_path / "b", "topic")
    assert name == "partition=0/topic+0+0000000000+0000000002.bin"
    assert (tmp_path / "b/topics/topic" / name).read_bytes() == b"\x00\xff\nb\n"
    with local(tmp_path / "s", format_class="string", flush_size="2") as sink:
        sink.put([1.0, "é"], schema=None)
    (name,) = files(tmp_path / "s", "topic")
    assert (tmp_path / "s/topics/topic" / name).read_text() == "1.0\né\n"


def test_json_without_schemas_by_field(tmp_path: Path) -> None:
    settings = {
        "format_class": "json",
        "partitioner_class": "io.confluent.connect.storage.partitioner.FieldPartitioner",
        "partition_field_name": "city,at.day",
    }
    rows: list[object] = [
        {"n": 0, "city": "Ulm", "at": {"day": 1}},
        {"n": 1, "at": {"day": 2}},
        {"n": 2, "city": "../x", "at": {"day": 1}},
    ]
    with local(tmp_path, **settings) as sink:
        sink.put(rows)
    assert files(tmp_path, "topic") == [
        "city=..%2Fx/at.day=1/topic+0+0000000002+0000000002.json",
        "city=Ulm/at.day=1/topic+0+0000000000+0000000000.json",
        "city=__HIVE_DEFAULT_PARTITION__/at.day=2/topic+0+0000000001+0000000001.json",
    ]


def test_a_value_that_is_too_long_for_a_folder(tmp_path: Path) -> None:
    """Its row is refused; the task goes on."""
    more = {"partitioner_class": "field", "partition_field_name": "city"}
    with local(tmp_path, flush_size="2", **more) as sink:
        sink.put(
            [{"n": n, "city": city} for n, city in enumerate(("Ulm", "x" * 300, "Bonn"))],
            schema=SHOP,
        )
        assert list(sink.refused) == [1]
        assert "would have a name of 305 bytes" in sink.refused[1]
        assert sink.flush() == {("topic", 0): 3}
    assert [row["n"] for row in all_held(tmp_path, "topic")] == [2, 0]


def test_times_of_records_make_folders(tmp_path: Path) -> None:
    kind = connector_of(LocalSink).settings
    settings = {
        "store.url": str(tmp_path),
        "flush.size": "3",
        "partitioner.class": "TimeBasedPartitioner",
        "path.format": "'day'=dd/'hour'=HH",
        "partition.duration.ms": "3600000",
        "timezone": "Asia/Tokyo",
        "locale": "en-US",
        "timestamp.extractor": "Record",
    }
    task = LocalSink()
    with ConnectHarness(LocalSink, settings) as context:
        task.context = context
        task.open(kind.of(settings))
        task.assigned([("t", 0)])
        value = of_values(SHOP, [schemas.Struct.of(SHOP, {"n": n}) for n in range(4)])
        times = pa.array([0, 3_600_000, None, 3_600_001], pa.int64())
        key = of_values(None, [None] * 4)
        with pytest.raises(RowsRefused) as refused:
            task.put(Batch("t", key, value, pa.array(range(4)), times, partition=0))
        task.close()
    assert refused.value.rows == {2: "the record has no timestamp"}
    assert files(tmp_path) == [
        "day=01/hour=09/t+0+0000000000+0000000000.avro",
        "day=01/hour=10/t+0+0000000001+0000000003.avro",
    ]


def test_poison(tmp_path: Path) -> None:
    """Tombstones and values without a schema are refused; the others are written."""
    with local(tmp_path, flush_size="2") as sink:
        sink.put([{"n": 0, "city": None}, None], schema=SHOP.but(optional=True))
        sink.put([{"n": 1}])
        sink.put(shops(3, 1), schema=SHOP)
        assert sink.refused == {
            1: "Null valued records are not writeable with current behavior.on.null.values "
            "'fail' setting.",
            2: "avro files need a schema, and the value has none: use a converter with schemas, "
            "or format.class=json",
        }
        assert sink.flush() == {("topic", 0): 4}
    assert [row["n"] for row in all_held(tmp_path, "topic")] == [0, 3]
    with local(tmp_path / "i", behavior_on_null_values="ignore", flush_size="1") as sink:
        sink.put([None, {"n": 1, "city": "Ulm"}], schema=SHOP.but(optional=True))
        assert sink.refused == {}
    assert len(files(tmp_path / "i", "topic")) == 1


def test_what_is_left_out_is_committed(tmp_path: Path) -> None:
    with local(tmp_path) as sink:
        sink.put([None, None], schema=SHOP.but(optional=True))
        assert sink.flush() == {("topic", 0): 2}
        sink.put(shops(2, 1), schema=SHOP)
        assert sink.flush() == {("topic", 0): 2}


def test_a_lake_that_is_away_for_a_while(tmp_path: Path) -> None:
    """What was open is read again: nothing is lost, nothing is there twice."""
    lake = tmp_path / "lake"
    with local(lake, flush_size="4") as sink:
        sink.put(shops(0, 6), schema=SHOP)
        (lake / "topics/+tmp").rename(tmp_path / "away")
        with pytest.raises(RetriableException, match="has vanished before it was published"):
            sink.put(shops(6, 2), schema=SHOP)
        assert sink.flush() == {("topic", 0): 4}
        sink.put(shops(4, 4), schema=SHOP)
    assert all_held(lake, "topic") == shops(0, 8)
    (tmp_path / "file").touch()
    with (
        local(tmp_path / "file", flush_size="1") as sink,
        pytest.raises(ConnectException, match="a file stands where a folder must be"),
    ):
        sink.put(shops(0, 1), schema=SHOP)


def test_a_topic_that_a_transform_made_up(tmp_path: Path) -> None:
    with local(tmp_path) as sink:
        sink.put(shops(0, 1), schema=SHOP)
        value = of_values(SHOP, [schemas.Struct.of(SHOP, {"n": 0})])
        other = Batch("other", of_values(None, [None]), value, pa.array([0]), partition=0)
        with pytest.raises(ConnectException, match="a transform has changed the topic"):
            sink._running.put(other)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"format.class": "orc"}, "format.class: Must be one of avro, parquet, json"),
        ({"partitioner.class": "FieldPartitioner"}, "partition.field.name: the field partitioner"),
        ({"partitioner.class": "TimeBasedPartitioner"}, "needs path.format and partition.duration"),
        ({"partitioner.class": "hourly", "timezone": "Mars"}, "no time zone is called Mars"),
        ({"partitioner.class": "hourly", "locale": "de_DE"}, "names of months and days are Engl"),
        (
            {"partitioner.class": "timebased", "path.format": "ww", "partition.duration.ms": "1"},
            "cannot have the letter w",
        ),
        ({"hive.integration": "true"}, "lay an external table over"),
        ({"headrace.table.format": "iceberg"}, "found by a catalog"),
        ({"flush.size": "0"}, "Value must be at least 1"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, settings: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigException, match=told):
        local(tmp_path, **{name.replace(".", "_"): text for name, text in settings.items()})


def test_addresses_that_are_missing() -> None:
    for kind, told in ((LocalSink, "store.url"), (HdfsSink, "hdfs.url"), (S3Sink, "s3.bucket")):
        with pytest.raises(ConfigException, match=told):
            ConnectHarness(kind, {"flush.size": "3"})


@pytest.mark.spec("book2:C-20")
def test_a_worker_writes_a_topic(
    start: Callable[..., Worker], bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """A task that is stopped and started again: each record once, the last ones read again."""
    config = {
        "name": f"lake-{topic}",
        "connector.class": "lake",
        "topics": topic,
        "store.url": str(tmp_path / "lake"),
        "flush.size": "10",
        "format.class": "json",
    }

    def until(count: int) -> None:
        end = time.monotonic() + PATIENCE_S
        while len(files(tmp_path / "lake", topic)) < count:
            assert time.monotonic() < end, files(tmp_path / "lake", topic)
            time.sleep(0.02)

    first = start(config)
    write(bootstrap, topic, *(b"%d" % n for n in range(25)))
    until(2)
    first.stop()
    start(config)
    write(bootstrap, topic, *(b"%d" % n for n in range(25, 40)))
    until(4)
    folder = tmp_path / "lake/topics" / topic
    lines = "".join((folder / name).read_text() for name in files(tmp_path / "lake", topic))
    assert [int(json.loads(line)) for line in lines.splitlines()] == list(range(40))
