"""The word count of Kafka Streams on Spark: Java's words, running totals, two views of a topic."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.streams_word_count import (
    APPLICATION,
    INPUT,
    OUTPUT,
    STORE,
    java_split,
    stream_view,
    table_view,
    word_count,
)
from examples.topics import Draft, provide, write
from tests.apps.reading import read_topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What Java gives for `text.toLowerCase().split("\\W+")`.
JAVA_WORDS = {
    "Hello, hello World!": ["hello", "hello", "world"],
    "...and then": ["", "and", "then"],
    "the end.": ["the", "end"],
    "": [""],
    "?!": [],
    "a_b c-d": ["a_b", "c", "d"],
    "Straße": ["stra", "e"],  # \W knows ASCII only
}


def running_totals(lines: list[str]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for line in lines:
        for word in JAVA_WORDS.get(line, re.split(r"\W+", line.lower())):
            totals[word] = totals.get(word, 0) + 1
    return totals


def read_batch(spark: SparkSession, servers: str, topic: str) -> DataFrame:
    reader = spark.read.format("headrace").option("kafka.bootstrap.servers", servers)
    return reader.option("subscribe", topic).load()


@pytest.mark.spec("book2:A3-03", "book2:A3-10")
def test_words_are_split_as_java_does(spark: SparkSession) -> None:
    """A leading empty word stays, trailing ones go, and the empty text is one empty word."""
    from pyspark.sql.functions import lower

    texts = spark.createDataFrame([(text,) for text in JAVA_WORDS], "text STRING")
    rows = texts.select("text", java_split(lower("text")).alias("words")).collect()
    assert {row["text"]: row["words"] for row in rows} == JAVA_WORDS


@pytest.mark.spec(
    "book2:A3-01",
    "book2:A3-02",
    "book2:A3-04",
    "book2:A3-05",
    "book2:A3-06",
    "book2:A3-08",
    "book2:A3-09",
    "book2:A3-11",
)
def test_totals_run_on(spark: SparkSession, servers: str, tmp_path: Path) -> None:
    """Equal words of different partitions meet; a restart goes on from the totals it had."""
    lines = [*JAVA_WORDS, "hello again", "Hello"]
    provide(INPUT, [Draft(line, f"k{n}", partition=n % 2) for n, line in enumerate(lines)])
    provide(OUTPUT, partitions=2)

    def run() -> int:
        query = (
            word_count(spark)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.name == STORE
        query.awaitTermination()
        report = query.recentProgress[-1]
        assert f'"@group": "{APPLICATION}-' in report["sources"][0]["endOffset"]
        return int(report["stateOperators"][0]["numRowsTotal"])

    assert run() == len(running_totals(lines))
    write(INPUT, [Draft("hello hello", partition=1)])
    run()
    found = read_topic(servers, OUTPUT)
    assert all(record.value is not None and len(record.value) == 8 for record in found)
    changes = [
        (record.key, int.from_bytes(record.value or b"", "big", signed=True)) for record in found
    ]
    totals = running_totals([*lines, "hello hello"])
    assert {(key or b"").decode(): value for key, value in changes} == totals
    assert [value for key, value in changes if key == b"hello"] == [4, 6]

    records = read_batch(spark, servers, OUTPUT)
    assert stream_view(records).count() == len(found)
    table = {row["key"]: bytes(row["value"]) for row in table_view(records).collect()}
    assert table == {word: total.to_bytes(8, "big") for word, total in totals.items()}


@pytest.mark.spec("book2:A3-11")
def test_a_stream_keeps_all_and_a_table_the_newest(spark: SparkSession) -> None:
    """Repeated keys: all of them in one view, the last of each in the other."""
    rows = [("Rahul", "1", 0), ("Ajay", "2", 1), ("Rahul", "3", 2), ("Ajay", None, 3)]
    records = spark.createDataFrame(rows, "key STRING, value STRING, offset BIGINT")
    assert [tuple(row) for row in stream_view(records).collect()] == [row[:2] for row in rows]
    assert [tuple(row) for row in table_view(records).collect()] == [("Rahul", "3")]
