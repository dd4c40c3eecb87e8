"""The word count of Kafka Streams on Spark: running totals, each change a record of a topic.

    headrace run --broker examples.streams_word_count:pipeline

Lines of the topic `input` are lower-cased and split as Java splits them; equal words meet by a
shuffle, and the total of each word is state named `Count`. Every change goes to the topic
`wordCount`: the word as key, the total as eight bytes, most significant first. The last record of a
word is its total.

`stream_view` and `table_view` are the two ways to read such a topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from examples.sample_text import lines
from examples.topics import provide, servers
from examples.updates import write_updates

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

APPLICATION: Final = "Kafka-Stream-wordCount"
INPUT: Final = "input"
OUTPUT: Final = "wordCount"
STORE: Final = "Count"


def pipeline(spark: SparkSession) -> DataStreamWriter:
    provide(INPUT, lines())
    provide(OUTPUT, config={"cleanup.policy": "compact"})
    return word_count(spark).trigger(processingTime="1 second")


def word_count(spark: SparkSession) -> DataStreamWriter:
    """stream → flatMapValues → map → countByKey → toStream → to."""
    records = (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("subscribe", INPUT)
        .option("startingOffsets", "earliest")
        .option("groupIdPrefix", APPLICATION)
        .load()
    )
    return write_updates(changes(totals(words(records))), OUTPUT).queryName(STORE)


def words(records: DataFrame) -> DataFrame:
    """One row per word, with the key of its line and the word as the new key beside it."""
    from pyspark.sql import functions as f

    word = f.explode(java_split(f.lower(f.col("value").cast("string"))))
    return records.select("key", word.alias("word"))


def java_split(text: Column) -> Column:
    r"""`text.split("\\W+")` of Java: a leading empty word stays, trailing ones are dropped.

    Spark splits with Java's expressions and keeps all empty words, so the last one goes here. A
    text without any word has none, except the empty text, which is one empty word.
    """
    from pyspark.sql import functions as f

    parts = f.split(text, r"\W+")
    shorter = f.slice(parts, 1, f.size(parts) - 1)
    return (
        f.when(text == "", f.array(f.lit("")))
        .when(~f.rlike(text, f.lit(r"\w")), f.array().cast("array<string>"))
        .when(f.element_at(parts, -1) == "", shorter)
        .otherwise(parts)
    )


def totals(rows: DataFrame) -> DataFrame:
    return rows.groupBy("word").count()


def changes(table: DataFrame) -> DataFrame:
    """Totals as records: `hex` writes a number from its most significant byte on."""
    from pyspark.sql import functions as f

    value = f.unhex(f.lpad(f.hex("count"), 16, "0"))
    return table.select(f.col("word").alias("key"), value.alias("value"))


def stream_view(records: DataFrame) -> DataFrame:
    """Every record is a fact of its own."""
    return records.selectExpr("CAST(key AS STRING) AS key", "value")


def table_view(records: DataFrame) -> DataFrame:
    """A record replaces the one before it with the same key; without a value it removes it."""
    from pyspark.sql import functions as f

    key = f.col("key").cast("string").alias("key")
    newest = f.max_by(f.struct("value"), "offset")  # a key has one partition
    return records.groupBy(key).agg(newest["value"].alias("value")).where("value IS NOT NULL")
