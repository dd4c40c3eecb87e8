"""The source as a query meets it: few tests with a real Spark, because everything that can be shown
without one is shown elsewhere.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from headrace.cli import main
from headrace.pipelines import source_environment
from tests.pipelines.source.topics import Topics, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FIRST_MS = 1_700_000_000_000
KAFKA_SCHEMA = (
    "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
    "timestampType:int>"
)


def _numbers(start: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, end)]


def test_a_batch_is_read_without_registration(spark: SparkSession, topics: Topics) -> None:
    """Every codec, nulls, headers and transactions; columns and types of Spark's kafka format."""
    topic = topics.create(partitions=2)
    for number, codec in enumerate(CODECS):
        topics.produce(
            topic,
            [codec.encode()] * 100,
            config={"compression.type": codec},
            key=b"key" if number else None,
            headers=[("codec", codec.encode()), ("codec", None)] if number else None,
            timestamp=FIRST_MS + number,
        )
    topics.produce(topic, [None], partition=1)
    topics.transaction(topic, [b"never"] * 3, commit=False, partition=1)
    topics.transaction(topic, [b"committed"], commit=True, partition=1)
    plain = rows_of(spark, topics, topic)
    assert plain.schema.simpleString() == KAFKA_SCHEMA
    assert plain.rdd.getNumPartitions() == 2
    rows = rows_of(spark, topics, topic, includeHeaders="true").collect()
    first = sorted((row for row in rows if row.partition == 0), key=lambda row: row.offset)
    assert [row.offset for row in first] == list(range(500))
    assert [bytes(row.value).decode() for row in first] == [
        codec for codec in CODECS for _ in range(100)
    ]
    assert first[0].headers is None
    assert [tuple(header) for header in first[499].headers] == [("codec", b"zstd"), ("codec", None)]
    assert first[499].timestamp.timestamp() == pytest.approx(FIRST_MS / 1_000 + 0.004)
    second = [(row.offset, row.value) for row in rows if row.partition == 1]
    assert sorted(second) == [(0, None), (5, b"committed")]


def test_values_are_decoded_in_the_source(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """Avro as columns of their types, a bad value with its reason; in a batch and in a stream."""
    schema = {
        "type": "record",
        "name": "Payment",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
            {"name": "prices", "type": {"type": "map", "values": "double"}},
        ],
    }
    payments = [
        {"id": number, "tags": ["a", None], "prices": {"eur": number / 4}} for number in range(50)
    ]
    topic = topics.create()
    topics.produce(topic, [_avro(schema, payment) for payment in payments], key=_avro("int", 7))
    topics.produce(topic, [b"\x02", None], key=_avro("int", 7))
    options = {
        "value.format": "avro",
        "value.schema": json.dumps(schema),
        "value.deadLetter": "true",
    }
    options |= {"key.format": "avro", "key.schema": '"int"'}
    read = rows_of(spark, topics, topic, **options)
    assert read.schema.simpleString() == KAFKA_SCHEMA.replace("key:binary", "key:int").replace(
        "value:binary",
        "value:struct<value:struct<id:bigint,tags:array<string>,prices:map<string,double>>,"
        "error:string>",
    )
    rows = read.orderBy("offset").collect()
    assert {row.key for row in rows} == {7}
    assert [row.value.value.asDict() for row in rows[:50]] == payments
    assert rows[50].value.value is None
    assert "tags" in rows[50].value.error
    assert (rows[51].value.value, rows[51].value.error) == (None, None)

    query = (
        spark.readStream.format("headrace")
        .options(subscribe=topic, startingOffsets="earliest", **options)
        .option("kafka.bootstrap.servers", topics.bootstrap_servers)
        .load()
        .selectExpr("value.value.id AS id")
        .where("id IS NOT NULL")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(60)
    assert sorted(row.id for row in spark.read.parquet(str(tmp_path / "out")).collect()) == list(
        range(50)
    )


def _avro(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


class Stream:
    """A query that writes what it reads to files, so that rows that come twice would be seen."""

    def __init__(self, spark: SparkSession, topics: Topics, folder: Path) -> None:
        self.spark = spark
        self.topics = topics
        self.folder = folder

    def run(self, topic: str, **options: str) -> StreamingQuery:
        """All that is there now, then the end."""
        query = self._start(topic, options, availableNow=True)
        assert query.awaitTermination(60), "the query did not end"
        return query

    def _start(self, topic: str, options: dict[str, str], **trigger: Any) -> StreamingQuery:
        given = {
            "kafka.bootstrap.servers": self.topics.bootstrap_servers,
            "subscribe": topic,
            "startingOffsets": "earliest",
            "fetchOffset.retryIntervalMs": "10",
        }
        frame = self.spark.readStream.format("headrace").options(**given | options).load()
        writer = frame.selectExpr("cast(value as string) value").writeStream.format("parquet")
        return (
            writer.option("checkpointLocation", str(self.folder / "checkpoint"))
            .trigger(**trigger)
            .start(str(self.folder / "rows"))
        )

    def rows(self) -> list[int]:
        frame = self.spark.read.parquet(str(self.folder / "rows"))
        return sorted(int(row.value) for row in frame.collect())

    def position(self) -> dict[str, Any]:
        """The last line of the checkpoint's newest batch."""
        batches = [
            path for path in (self.folder / "checkpoint/offsets").iterdir() if path.is_file()
        ]
        newest = max((path for path in batches if path.name.isdigit()), key=lambda p: int(p.name))
        position: dict[str, Any] = json.loads(newest.read_text().splitlines()[-1])
        return position


@pytest.mark.spec("book1:K-12", "book1:K-14")
def test_a_stream_goes_on_at_its_checkpoint_and_says_what_is_lost(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """AvailableNow with a limit, restarts, new partitions, retention, and a recreated topic."""
    from pyspark.errors import StreamingQueryException

    topic = topics.create()
    topics.produce(topic, _numbers(0, 50))
    stream = Stream(spark, topics, tmp_path)
    first = stream.run(topic, maxOffsetsPerTrigger="20")
    assert [progress["numInputRows"] for progress in first.recentProgress][:3] == [20, 20, 10]
    assert stream.rows() == list(range(50))
    group = stream.position()["@group"]
    assert topics.committed(group) == {(topic, 0): 50}

    topics.grow(topic, 2)
    topics.produce(topic, _numbers(50, 60), partition=1)
    stream.run(topic)
    assert stream.rows() == list(range(60))
    assert topics.committed(group) == {(topic, 0): 50, (topic, 1): 10}

    topics.produce(topic, _numbers(60, 70))
    topics.forget_before(topic, 0, 55)
    with pytest.raises(StreamingQueryException, match=r"offsets 50 to 54.*failOnDataLoss=false"):
        stream.run(topic)
    stream.run(topic, failOnDataLoss="false")
    assert stream.rows() == [*range(60), *range(65, 70)]

    topics.recreate(topic)
    topics.produce(topic, _numbers(70, 80))
    with pytest.raises(StreamingQueryException, match="deleted and created again"):
        stream.run(topic)
    stream.run(topic, failOnDataLoss="false")
    assert stream.rows() == [*range(60), *range(65, 80)]
    assert stream.position()["@group"] == group


def _described_lag(
    group: str, topics: Topics, capsys: pytest.CaptureFixture[str]
) -> dict[str, int]:
    address = topics.bootstrap_servers
    capsys.readouterr()
    assert main(["group", "describe", group, "-b", address, "--offsets", "-o", "json"]) == 0
    (described,) = json.loads(capsys.readouterr().out)
    return {str(row["partition"]): row["lag"] for row in described["offsets"]}


def _kafkas_lag(group: str, topics: Topics, classpath: str) -> dict[str, int]:
    """What Apache Kafka's own kafka-consumer-groups prints."""
    from tests.kafka.apache_kafka import java_command
    from tests.kafka.toolchain import run

    tool = ["org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--describe"]
    where = ["--bootstrap-server", topics.bootstrap_servers, "--group", group]
    printed = run(java_command(classpath, *tool, *where)).decode().splitlines()
    rows = [line.split() for line in printed if line.split()[:1] in (["GROUP"], [group])]
    partition, lag = rows[0].index("PARTITION"), rows[0].index("LAG")
    return {row[partition]: int(row[lag]) for row in rows[1:]}


@pytest.mark.timeout(600)  # the first run may fetch Apache Kafka
def test_the_lag_of_a_query_is_that_of_its_group(
    spark: SparkSession,
    topics: Topics,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kafka_classpath: str,
) -> None:
    """Its `latestOffset` minus `endOffset` is what our tool prints, and Apache Kafka's too."""
    topic = topics.create(partitions=2)
    topics.produce(topic, _numbers(0, 10))
    spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "100ms")
    reader = spark.readStream.format("headrace").option("subscribe", topic)
    query = (
        reader.option("kafka.bootstrap.servers", topics.bootstrap_servers)
        .options(startingOffsets="earliest", minOffsetsPerTrigger="1000")
        .option("kafka.group.id", f"{topic}-query")
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        query.processAllAvailable()
        topics.produce(topic, _numbers(0, 7), partition=0)
        topics.open_transaction(topic, _numbers(0, 3), partition=1)
        lag: dict[str, int] = {}
        for _ in range(100):
            progress = query.lastProgress
            source = json.loads(progress.json)["sources"][0] if progress else {}
            end, latest = source.get("endOffset"), source.get("latestOffset")
            if end and latest:
                lag = {each: latest[topic][each] - end[topic][each] for each in latest[topic]}
            if lag == {"0": 7, "1": 3}:
                break
            query.awaitTermination(1)
        assert lag == {"0": 7, "1": 3}
        assert _described_lag(f"{topic}-query", topics, capsys) == lag
        assert _kafkas_lag(f"{topic}-query", topics, kafka_classpath) == lag
    finally:
        query.stop()
        spark.conf.unset("spark.sql.streaming.noDataProgressEventInterval")


def test_queries_that_start_at_once_write_nothing_new(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """All entries that a starting query writes into the map that all share are there before it.

    Spark's map is not made for threads: two queries that insert at once spoil it, and with it the
    session.
    """
    shared = source_environment.environment_of(spark)
    assert shared is not None
    for name in source_environment.ENTRIES:
        shared.remove(name)
    source_environment.settle(spark)
    before = set(shared)
    topic = topics.create()
    topics.produce(topic, _numbers(0, 3))
    query = (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", topics.bootstrap_servers)
        .options(subscribe=topic, startingOffsets="earliest")
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    written = set(shared)
    assert written == before
    assert all(shared.get(name) for name in source_environment.ENTRIES)
