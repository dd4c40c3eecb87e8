"""The sink under a real Spark: batches, streams, and what is left of them after a restart."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as f

from headrace.pipelines import topic_writer
from headrace.testing import Broker
from tests.pipelines.sink.stage import new_topic, read_all, values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TASKS = 4
ROWS_PER_TASK = 50
QUERY_TIMEOUT_SECONDS = 180
COST_OF_A_FILE = "spark.sql.files.openCostInBytes"


class Lines:
    """A folder that a query reads: each `add` is one batch with a task for each file."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.checkpoint = folder.parent / "checkpoint"
        self.expected: list[str] = []
        folder.mkdir()

    def add(self) -> None:
        first = len(self.expected)
        lines = [f"{number:06}" for number in range(first, first + TASKS * ROWS_PER_TASK)]
        for task in range(TASKS):
            part = lines[task * ROWS_PER_TASK : (task + 1) * ROWS_PER_TASK]
            (self.folder / f"{first}-{task}.txt").write_text("\n".join(part))
        self.expected += lines

    def read(self) -> DataFrame:
        return self.spark.readStream.text(str(self.folder))

    def forget_last_commit(self) -> None:
        """What the checkpoint looks like when the driver dies before a batch is done."""
        commits = [path for path in (self.checkpoint / "commits").iterdir() if path.name.isdigit()]
        last = max(commits, key=lambda path: int(path.name))
        last.unlink()
        last.with_name(f".{last.name}.crc").unlink(missing_ok=True)


@pytest.fixture
def lines(spark: SparkSession, tmp_path: Path) -> Iterator[Lines]:
    # One file, one task: small files are packed together otherwise.
    spark.conf.set(COST_OF_A_FILE, str(1 << 30))
    yield Lines(spark, tmp_path / "lines")
    spark.conf.unset(COST_OF_A_FILE)


def run(query: StreamingQuery) -> None:
    try:
        assert query.awaitTermination(QUERY_TIMEOUT_SECONDS), "the query did not end"
    finally:
        query.stop()


def write(lines: Lines, rows: DataFrame, topic: str, broker: Broker, **options: str) -> None:
    """Run a query over everything that is there, and end."""
    run(
        rows.writeStream.format("headrace")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("checkpointLocation", str(lines.checkpoint))
        .option("topic", topic)
        .options(**options)
        .trigger(availableNow=True)
        .start()
    )


def test_a_batch_brings_every_column_to_its_place(
    spark: SparkSession, headrace_broker: Broker
) -> None:
    """Topic, partition, key, value, headers and time of each row; other columns are passed over."""
    bootstrap = headrace_broker.bootstrap_servers
    first, second = new_topic(bootstrap), new_topic(bootstrap)
    when = dt.datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=dt.UTC)
    rows = spark.createDataFrame(
        [
            (first, 2, "k", b"v", [("a", b"1"), ("b", None)], when, 7),
            (second, 0, None, None, None, when, 8),
            (first, None, "k", b"w", [], when, 9),
        ],
        "topic string, partition int, key string, value binary, "
        "headers array<struct<key:string,value:binary>>, timestamp timestamp, other int",
    )
    options = {"kafka.bootstrap.servers": bootstrap, "kafka.compression.type": "zstd"}
    rows.write.format("headrace").options(**options).mode("append").save()
    millis = int(when.timestamp() * 1000)
    found = {
        (one.topic(), one.value()): (one.key(), one.headers(), one.timestamp()[1])
        for topic in (first, second)
        for one in read_all(bootstrap, topic)
    }
    assert found == {
        (first, b"v"): (b"k", [("a", b"1"), ("b", None)], millis),
        (second, None): (None, None, millis),
        (first, b"w"): (b"k", None, millis),
    }
    assert [one.partition() for one in read_all(bootstrap, second)] == [0]

    with pytest.raises(PySparkException, match="column 'value' is of type bigint"):
        spark.range(3).toDF("value").write.format("headrace").option("topic", first).mode(
            "append"
        ).save()
    with pytest.raises(PySparkException, match="row 1 of this task has no topic"):
        spark.createDataFrame([("x", first), ("y", None)], "value string, topic string").coalesce(
            1
        ).write.format("headrace").options(**options).mode("append").save()


@pytest.mark.spec("book2:T-18")
def test_a_stream_is_written_exactly_once_through_failures_and_restarts(
    lines: Lines, headrace_broker: Broker, tmp_path: Path
) -> None:
    """A task fails after others have committed; the driver dies before the batch is done, twice."""
    bootstrap = headrace_broker.bootstrap_servers
    topic = new_topic(bootstrap)
    broken = tmp_path / "broken"
    flag = str(broken)

    def fragile(value: str) -> str:
        import os

        # The last file of the first batch: tasks run two by two, so that some have committed.
        if value >= f"{(TASKS - 1) * ROWS_PER_TASK + 20:06}" and os.path.exists(flag):
            raise RuntimeError("the sky falls")
        return value

    from pyspark.sql.functions import udf

    rows = lines.read().select(udf(fragile, "string", useArrow=False)("value").alias("value"))
    lines.add()
    broken.touch()
    with pytest.raises(PySparkException, match="the sky falls"):
        write(lines, rows, topic, headrace_broker)
    before = values(bootstrap, topic)
    assert 0 < len(before) < len(lines.expected), "some tasks have committed, and not all"
    assert len(before) % ROWS_PER_TASK == 0, "a task commits all of its rows or none"

    broken.unlink()
    write(lines, rows, topic, headrace_broker)
    assert values(bootstrap, topic) == lines.expected
    for _ in range(2):
        lines.forget_last_commit()
        write(lines, rows, topic, headrace_broker)
        assert values(bootstrap, topic) == lines.expected
    lines.add()
    write(lines, rows, topic, headrace_broker)
    assert values(bootstrap, topic) == lines.expected


def test_at_least_once_repeats_a_batch_and_loses_nothing(
    lines: Lines, headrace_broker: Broker
) -> None:
    """The cheaper guarantee: the same crash leaves every row twice."""
    bootstrap = headrace_broker.bootstrap_servers
    topic = new_topic(bootstrap)
    lines.add()
    for _ in range(2):
        write(lines, lines.read(), topic, headrace_broker, guarantee="at-least-once")
        lines.forget_last_commit()
    counted = Counter(values(bootstrap, topic))
    assert counted == dict.fromkeys(lines.expected, 2)


def test_named_writes_in_foreach_batch_are_part_of_the_batch(
    lines: Lines, headrace_broker: Broker
) -> None:
    """Two writes of one batch, each once after a restart; one without a name is written again."""
    bootstrap = headrace_broker.bootstrap_servers
    topics = {name: new_topic(bootstrap) for name in ("even", "odd", "nameless")}

    def split(batch: DataFrame, _: int) -> None:
        for name, topic in topics.items():
            rest = {"even": "0", "odd": "1", "nameless": "value % 2"}[name]
            writer = (
                batch.where(f"value % 2 = {rest}")
                .write.format("headrace")
                .option("kafka.bootstrap.servers", bootstrap)
                .option("topic", topic)
            )
            if name != "nameless":
                writer = writer.option("writeName", name)
            writer.mode("append").save()

    lines.add()
    for _ in range(2):
        run(
            lines.read()
            .writeStream.foreachBatch(split)
            .option("checkpointLocation", str(lines.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        lines.forget_last_commit()
    assert values(bootstrap, topics["even"]) == lines.expected[::2]
    assert values(bootstrap, topics["odd"]) == lines.expected[1::2]
    assert values(bootstrap, topics["nameless"]) == sorted(lines.expected * 2)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("written_by", ["sink", "foreachBatch"])
def test_changed_results_are_appended_exactly_once(
    lines: Lines, headrace_broker: Broker, written_by: str
) -> None:
    """Output mode update: each batch writes what it changed, also when it is repeated.

    The second batch comes from a session that the first one's was not asked about.
    """
    bootstrap = headrace_broker.bootstrap_servers
    topic = new_topic(bootstrap)

    def count() -> None:
        counts = lines.read().groupBy(f.expr("value % 5").cast("int").alias("rest")).count()
        rows = counts.select(f.to_json(f.struct("rest", "count")).alias("value"))
        options = {"kafka.bootstrap.servers": bootstrap}
        writer = rows.writeStream.outputMode("update")
        if written_by == "sink":
            writer = writer.format("headrace").options(**options).option("topic", topic)
        else:
            writer = writer.foreachBatch(topic_writer(topic, options=options))
        writer = writer.option("checkpointLocation", str(lines.checkpoint))
        run(writer.trigger(availableNow=True).start())

    expected: list[dict[str, int]] = []
    for session in (lines.spark, lines.spark.newSession()):
        lines.spark = session
        lines.add()
        each = len(lines.expected) // 5
        expected += [{"rest": rest, "count": each} for rest in range(5)]
        for _ in range(2):
            count()
            found = [json.loads(value) for value in values(bootstrap, topic)]
            assert sorted(map(str, found)) == sorted(map(str, expected))
            lines.forget_last_commit()


def test_complete_results_are_appended_as_they_come(lines: Lines, headrace_broker: Broker) -> None:
    """Output mode complete, as Spark's own sink has it: each batch writes all counts anew."""
    bootstrap = headrace_broker.bootstrap_servers
    topic = new_topic(bootstrap)
    rows = lines.read().groupBy().count().selectExpr("to_json(struct(count)) AS value")
    lines.add()
    run(
        rows.writeStream.format("headrace")
        .outputMode("complete")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("checkpointLocation", str(lines.checkpoint))
        .option("topic", topic)
        .trigger(availableNow=True)
        .start()
    )
    assert [json.loads(value) for value in values(bootstrap, topic)] == [
        {"count": TASKS * ROWS_PER_TASK}
    ]
