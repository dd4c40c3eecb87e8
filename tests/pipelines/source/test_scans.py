"""Several queries over one DataFrame of a topic: each reads what it needs, for itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.pipelines import source_environment
from headrace.pipelines.source import scans
from headrace.pipelines.source.scans import read_for_each_plan
from tests.pipelines.source.topics import Topics, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIRST_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"

# Of three partitions with 20 records each, five for every hour: what is asked, and how many tasks
# and records are left by what can be said beforehand.
CONDITIONS = {
    "partition = 1": (1, 20),
    "partition <=> 1": (1, 20),
    "partition in (0, 2)": (2, 40),
    "1 < partition": (1, 20),
    "partition >= 1 and partition < 2": (1, 20),
    "offset = 7": (3, 3),
    "offset between 3 and 5": (3, 9),
    "offset in (2, 18)": (3, 51),
    "topic = 'elsewhere'": (1, 0),  # Spark makes a task even if there is nothing to read
    "topic in ('elsewhere', topic)": (3, 60),
    "timestamp >= timestamp_millis(1700003600000)": (3, 45),
    "timestamp > timestamp_millis(1700003600000)": (3, 30),
    "timestamp > timestamp_micros(1700003599999500)": (3, 45),
    "timestamp = timestamp_millis(1700007200000)": (3, 30),
    "timestamp < timestamp_millis(1700003600000)": (3, 60),
    "timestamp >= '1960-01-01'": (3, 60),
    "partition = 1 and offset >= 10 and timestamp >= timestamp_millis(1700003600000)": (1, 10),
    "partition = 1 or offset = 3": (3, 60),
    "not (partition = 1)": (3, 60),
    "partition = offset": (3, 60),
    "partition in (1, null)": (3, 60),
    "partition = null": (0, 0),
    "cast(partition as string) = '1'": (3, 60),
    "partition = 1 and rand() >= 0": (1, 20),
    "length(value) = 1 and partition = 2": (1, 20),
}


@pytest.fixture(scope="module")
def topic(topics: Topics) -> str:
    name = topics.create(partitions=3)
    for partition in range(3):
        for hour in range(4):
            values = [b"%d" % number for number in range(5)]
            topics.produce(name, values, partition=partition, timestamp=FIRST_MS + hour * HOUR_MS)
    return name


def places(frame: DataFrame) -> list[tuple[int, int]]:
    return sorted((row.partition, row.offset) for row in frame.collect())


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_choose_what_is_fetched(
    spark: SparkSession, topics: Topics, topic: str, condition: str
) -> None:
    """The rows are those that Spark finds among all of them; what no row can be in is not read."""
    everything = rows_of(spark.newSession(), topics, topic)
    frame = rows_of(spark, topics, topic).where(condition)
    assert places(frame) == places(everything.where(condition))
    tasks, fetched = CONDITIONS[condition]
    assert (frame.rdd.getNumPartitions(), fetched_by(frame)) == (tasks, fetched)


def fetched_by(frame: DataFrame) -> int:
    """How many rows of a query that was executed came out of the source, before any condition."""
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    return sum(
        int(leaves.apply(index).metrics().apply("numOutputRows").value())
        for index in range(leaves.size())
    )


def test_a_query_does_not_disturb_the_next(spark: SparkSession, topics: Topics, topic: str) -> None:
    """Whatever was asked before, and in one plan too, each part gets its own rows."""
    frame = rows_of(spark, topics, topic)
    first, second = frame.where("partition = 1"), frame.where("partition = 2 and offset < 5")
    counts = [each.count() for each in (frame, first, frame, second, first, frame)]
    assert counts == [60, 20, 60, 5, 20, 60]
    assert first.union(second).count() == 25
    assert second.union(frame).union(first).count() == 85
    pairs = first.alias("a").join(second.alias("b"), "offset")
    assert pairs.count() == 5
    frame.createOrReplaceTempView("records")
    nested = "partition = 0 and offset > (select max(offset) from records where partition = 1) - 5"
    assert spark.sql(f"select * from records where {nested}").count() == 5


def test_a_view_in_sql(spark: SparkSession, topics: Topics, topic: str) -> None:
    """Its options are those of a reader, and its conditions choose what is fetched as well."""
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW orders USING headrace OPTIONS "
        f"('kafka.bootstrap.servers' '{topics.bootstrap_servers}', 'subscribe' '{topic}')"
    )
    frame = spark.sql("SELECT partition, offset FROM orders WHERE partition > 0 AND offset < 3")
    assert places(frame) == [(partition, offset) for partition in (1, 2) for offset in range(3)]
    assert fetched_by(frame) == 6
    assert spark.table("orders").count() == 60


def test_each_query_sees_what_is_there_when_it_begins(spark: SparkSession, topics: Topics) -> None:
    """As with a table: a DataFrame is a recipe, not a copy."""
    topic = topics.create()
    topics.produce(topic, [b"a"] * 3)
    frame = rows_of(spark, topics, topic)
    assert frame.count() == 3
    topics.produce(topic, [b"b"] * 4)
    assert frame.count() == 7
    assert frame.where("offset > 1").count() == 5


def test_a_stream_that_looks_up_sees_what_is_there_now(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """A table in a topic, joined to a stream: each batch reads it anew."""
    names, orders = topics.create(), topics.create()
    topics.produce(names, [b"Ada"], key=b"1")
    looked_up = rows_of(spark, topics, names).selectExpr("key", "value AS name")
    source = spark.readStream.format("headrace").option("subscribe", orders)
    source = source.option("kafka.bootstrap.servers", topics.bootstrap_servers)
    stream = source.option("startingOffsets", "earliest").load().join(looked_up, "key")
    query = (
        stream.selectExpr("string(value) AS thing", "string(name) AS name")
        .writeStream.format("memory")
        .queryName("looked_up")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    try:
        topics.produce(orders, [b"tea", b"milk"], key=b"1")
        query.processAllAvailable()
        topics.produce(names, [b"Grace"], key=b"2")
        topics.produce(orders, [b"jam"], key=b"2")
        query.processAllAvailable()
    finally:
        query.stop()
    found = sorted(tuple(row) for row in spark.table("looked_up").collect())
    assert found == [("jam", "Grace"), ("milk", "Ada"), ("tea", "Ada")]


@pytest.mark.spec("book1:S-08")
def test_what_is_cached_is_fetched_once(spark: SparkSession, topics: Topics) -> None:
    """A second look at cached rows asks no broker."""
    topic = topics.create(partitions=2)
    for partition in range(2):
        topics.produce(topic, [b"x"] * 50, partition=partition)
    frame = rows_of(spark, topics, topic).cache()
    assert frame.count() == 100
    topics.forget_before(topic, 0, 50)
    assert frame.count() == 100
    assert frame.where("partition = 0").count() == 50
    frame.unpersist()
    assert frame.count() == 50


@pytest.mark.parametrize("pushdown", ["true", "false"])
def test_a_session_that_is_not_ours_has_the_same_rows(
    spark: SparkSession, topics: Topics, topic: str, pushdown: str
) -> None:
    """Nothing is narrowed there, because Spark keeps what one query asked for all that follow."""
    other = spark.newSession()
    other.conf.set(PUSHDOWN, pushdown)
    frame = rows_of(other, topics, topic)
    assert [frame.where("partition = 1").count(), frame.count()] == [20, 60]
    chosen = frame.where("partition = 2")
    assert (chosen.count(), chosen.rdd.getNumPartitions()) == (20, 3)
    assert frame.where("partition = 0").union(frame.where("offset < 2")).count() == 26


def test_a_session_that_is_not_ours_sees_what_is_there_when_a_query_begins(
    spark: SparkSession, topics: Topics
) -> None:
    """There Spark has one plan for all queries, and each of them must not repeat the first."""
    topic = topics.create(partitions=2)
    topics.produce(topic, [b"a"] * 3)
    frame = rows_of(spark.newSession(), topics, topic, minPartitions="2")
    assert frame.count() == 3
    topics.produce(topic, [b"b"] * 4)
    topics.produce(topic, [b"c"] * 2, partition=1)
    assert (frame.count(), frame.where("partition = 1").count()) == (9, 2)
    assert len(set(places(frame))) == 9


def test_pushdown_of_spark_itself_changes_nothing(
    spark: SparkSession, topics: Topics, topic: str
) -> None:
    """Where somebody enables it for other sources, ours are read as before."""
    spark.conf.set(PUSHDOWN, "true")
    try:
        frame = rows_of(spark, topics, topic)
        chosen = frame.where("partition = 2")
        assert [chosen.count(), frame.count()] == [20, 60]
        assert chosen.rdd.getNumPartitions() == 1
    finally:
        spark.conf.unset(PUSHDOWN)


def test_the_rule_is_added_once(spark: SparkSession, topics: Topics, topic: str) -> None:
    """`session()` may be called again and again; a session that was there before becomes ours."""
    other = spark.newSession()
    read_for_each_plan(other)
    read_for_each_plan(other)
    rules = other._jsparkSession.experimental().extraOptimizations()
    assert rules.size() == 1
    assert rows_of(other, topics, topic).where("partition = 1").rdd.getNumPartitions() == 1


@pytest.mark.parametrize(
    "neighbour",
    [
        f"{scans._PACKAGE}.ScanOfAnotherAge",  # there is no such class
        "org.apache.spark.sql.execution.SparkPlan",  # PySpark's own exception: another package
    ],
)
def test_a_spark_of_another_age_reads_all(
    spark: SparkSession,
    topics: Topics,
    topic: str,
    neighbour: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Where what the rule needs is not there, one warning says what that means."""
    monkeypatch.setattr(scans, "_CLASS", f"{scans._PACKAGE}.ScansOfAnotherAge")
    monkeypatch.setattr(scans, "_NEIGHBOUR", neighbour)
    other = spark.newSession()
    read_for_each_plan(other)
    (warning,) = (record.getMessage() for record in caplog.records if record.name == scans.__name__)
    assert warning.startswith("This Spark is not known: batch reads fetch all records")
    frame = rows_of(other, topics, topic).where("partition = 1")
    assert (frame.count(), frame.rdd.getNumPartitions()) == (20, 3)


def test_a_spark_that_keeps_its_sources_in_another_way(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PySpark has an exception of its own for a source that is not found; nothing is to be done."""
    monkeypatch.setattr(source_environment, "SOURCE", "a-source-of-another-age")
    assert source_environment.environment_of(spark) is None
    source_environment.settle(spark)
