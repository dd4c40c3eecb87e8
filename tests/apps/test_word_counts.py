"""The word counts on Spark: all ways agree, and the direct one survives failures exactly."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples import direct_word_count as direct
from examples import receiver_word_count
from examples.batch_store import one_batch, open_store
from examples.batch_word_count import count_file, word_counts
from examples.receiver.blocks import Block, BlockManager
from examples.receiver.receiver import ReceiverStream
from examples.sample_text import LINES
from examples.topics import Draft, provide, write
from tests.apps.reading import committed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TEXT = [f"{line} {number}" for number in range(10) for line in LINES]
EXPECTED = Counter(word for line in TEXT for word in line.split(" "))


def drafts(lines: list[str], partitions: int) -> list[Draft]:
    return [Draft(line, partition=n % partitions) for n, line in enumerate(lines)]


@pytest.mark.spec("book1:A-10", "book1:K-18", "book1:S-04")
def test_the_batch_count(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is read before the result is saved; then there are lines of word and count."""
    seen = spark.sparkContext.accumulator(0)

    def look(line: str) -> str:
        seen.add(1)
        return line

    plan = word_counts(spark.sparkContext.parallelize(TEXT, 2).map(look))
    assert seen.value == 0
    assert dict(plan.collect()) == EXPECTED
    assert seen.value == len(TEXT)
    (tmp_path / "text").write_text("\n".join(TEXT))
    count_file(spark, str(tmp_path / "text"), str(tmp_path / "counts"))
    saved = "".join(part.read_text() for part in (tmp_path / "counts").glob("part-*"))
    assert sorted(saved.splitlines()) == sorted(f"('{w}', {n})" for w, n in EXPECTED.items())


@pytest.mark.spec(
    "book1:A-11a",
    "book1:A-12a",
    "book1:A-12b",
    "book1:K-01",
    "book1:K-11",
    "book1:K-16",
    "book1:K-19",
    "book1:K-22",
)
def test_receiver_and_direct_stream_agree(
    spark: SparkSession, servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both count what is in two topics; the direct one reads as many parts as they have."""
    provide("test", drafts(TEXT[:20], 3), partitions=3)
    provide("more", drafts(TEXT[20:], 2), partitions=2)
    params = {"metadata.broker.list": servers, "group.id": "Stream"}
    stream = direct.direct_stream(spark, params, "test,more")
    parts: list[int] = []

    def count(batch: DataFrame, batch_id: int) -> None:
        parts.append(batch.rdd.getNumPartitions())
        direct.print_counts(batch, batch_id)
        direct.add_to_totals(tmp_path / "direct", "direct")(batch, batch_id)

    query = (
        stream.writeStream.foreachBatch(count)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert parts == [5]
    assert direct.totals(tmp_path / "direct") == EXPECTED
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "batch 0"
    assert len(printed) == 12  # its first ten counts, and a sign that there are more
    assert printed[-1] == "..."

    received = ReceiverStream(servers, "stream", {"test": 1, "more": 1}, blocks=BlockManager(3))
    rows = tuple((None, line.encode()) for line in TEXT)
    received.blocks.store(Block("1", rows[:25], {}))
    received.blocks.store(Block("2", rows[25:], {}))
    add = direct.add_to_totals(tmp_path / "received", "received")
    assert receiver_word_count.run_batch(spark, received, add, 0) == len(TEXT)
    assert direct.totals(tmp_path / "received") == EXPECTED
    assert receiver_word_count.run_batch(spark, received, add, 1) == 0


def test_a_direct_stream_needs_brokers(spark: SparkSession) -> None:
    """The required setting is named."""
    with pytest.raises(ValueError, match=r"needs metadata\.broker\.list"):
        direct.direct_stream(spark, {}, "test")


@pytest.mark.spec(
    "book1:K-08", "book1:K-10", "book1:K-12", "book1:K-13", "book1:K-14", "book2:T-05"
)
def test_a_killed_direct_stream_neither_loses_nor_repeats(
    spark: SparkSession, servers: str, tmp_path: Path
) -> None:
    """It fails after a batch is stored and before Spark knows; the restart repeats and skips it."""
    provide("test", drafts(TEXT, 2), partitions=2)
    store = tmp_path / "totals"
    add = direct.add_to_totals(store, "drill")
    died: list[int] = []

    def add_and_die(batch: DataFrame, batch_id: int) -> None:
        add(batch, batch_id)
        if batch_id == 1 and not died:
            died.append(batch_id)
            raise OSError("the driver dies")

    def run() -> Any:
        params = {"metadata.broker.list": servers}
        reader = direct.direct_stream(spark, params, "test", max_offsets_per_trigger=12)
        return (
            reader.writeStream.foreachBatch(add_and_die)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )

    first = run()
    with pytest.raises(Exception, match="the driver dies"):
        first.awaitTermination()
    planned = sorted(path.name for path in (tmp_path / "checkpoint" / "offsets").glob("[0-9]*"))
    done = sorted(path.name for path in (tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    assert (planned, done) == (["0", "1"], ["0"])
    plan = (tmp_path / "checkpoint" / "offsets" / "1").read_text().splitlines()
    assert "spark.sql.shuffle.partitions" in json.loads(plan[1])["conf"]

    second = run()
    second.awaitTermination()
    assert direct.totals(store) == EXPECTED
    reports = [report for report in second.recentProgress if report["numInputRows"]]
    ranges = [direct.offset_ranges(report) for report in reports]
    assert ranges[0] == [
        direct.OffsetRange("test", 0, 6, 12),
        direct.OffsetRange("test", 1, 6, 12),
    ]
    for earlier, later in pairwise(ranges):
        assert [r.until_offset for r in earlier] == [r.from_offset for r in later]
    direct.commit_ranges(ranges[-1], "my-group")
    assert committed(servers, "my-group", "test") == {0: 20, 1: 20}


@pytest.mark.spec("book1:K-17", "book1:N-15")
def test_the_intervals_of_the_batches(spark: SparkSession, servers: str) -> None:
    """Two seconds for the direct count and the window, three for fraud, five for the receiver."""
    from examples import windowed_counts
    from examples.ip_fraud import on_spark

    assert receiver_word_count.BATCH_INTERVAL_S == 5.0
    assert (windowed_counts.WINDOW_MS, windowed_counts.SLIDE_MS) == (600_000, 2_000)
    assert windowed_counts.PARTITIONS == 2
    writer: Any = direct.pipeline(spark)
    assert _interval_ms(writer) == 2_000
    provide("iprecord")
    assert {_interval_ms(query) for query in on_spark.pipeline(spark)} == {3_000}


def _interval_ms(writer: Any) -> int:
    """Spark has no public way to ask a writer for its trigger."""
    trigger = writer._jwrite.getClass().getDeclaredField("trigger")
    trigger.setAccessible(True)
    return int(trigger.get(writer._jwrite).intervalMs())


@pytest.mark.spec("book2:T-20")
def test_a_store_takes_a_batch_once(tmp_path: Path) -> None:
    """A second time it is told so; a failure inside leaves neither rows nor marker."""
    table = "CREATE TABLE IF NOT EXISTS rows (n INTEGER)"
    path = tmp_path / "store"

    def fail() -> None:
        with one_batch(path, "q", 7, table) as store:
            assert store is not None
            store.execute("INSERT INTO rows VALUES (1)")
            raise OSError("half-way")

    with pytest.raises(OSError, match="half-way"):
        fail()
    for expected in (True, False):
        with one_batch(path, "q", 7, table) as store:
            assert (store is not None) is expected
            if store is not None:
                store.execute("INSERT INTO rows VALUES (2)")
    with one_batch(path, "other", 7, table) as store:
        assert store is not None
    with open_store(path) as opened:
        assert opened.execute("SELECT n FROM rows").fetchall() == [(2,)]


def test_samples_do_not_touch_a_topic_that_is_there(servers: str) -> None:
    """A pipeline's sample is for an empty broker only."""
    assert provide("test", [Draft("mine")])
    assert not provide("test", [Draft("sample")])
    write("test", [])
    assert committed(servers, "nobody", "test") == {}
