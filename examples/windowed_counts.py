"""Rolling word counts of the last ten minutes, every two seconds, with retractions.

    headrace run --broker examples.windowed_counts:pipeline

The count of a word is the old one, plus what came in, minus what left: nothing is counted again.
Words are kept per slide of two seconds, and when the watermark passes the moment in which a slide
leaves the window, its words are taken back. The topic `windowed-counts` has the newest count of
each word, and a record without a value when a word has left for good.
"""
# ruff: noqa: N802, N803 (Spark calls methods and arguments by these names)

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from examples.sample_text import LINES
from examples.topics import Draft, provide, servers
from examples.updates import write_updates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

WINDOW_MS: Final = 600_000
SLIDE_MS: Final = 2_000
PARTITIONS: Final = 2
INPUT: Final = "test"
OUTPUT: Final = "windowed-counts"
LATENESS: Final = "2 seconds"
SAMPLE_BEGIN_MS: Final = 1_078_786_800_000
_STATE: Final = "slides ARRAY<BIGINT>, counts ARRAY<BIGINT>"
_RESULT: Final = "word STRING, count BIGINT"


def pipeline(spark: SparkSession) -> DataStreamWriter:
    """Counts to the topic; the sample is twenty minutes of a line every two seconds."""
    sample = [
        Draft(LINES[number % len(LINES)], timestamp_ms=SAMPLE_BEGIN_MS + number * SLIDE_MS)
        for number in range(600)
    ]
    provide(INPUT, sample, partitions=1)
    provide(OUTPUT, config={"cleanup.policy": "compact"})
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    return query(spark).trigger(processingTime="2 seconds")


def query(spark: SparkSession, max_offsets_per_trigger: int = 100) -> DataStreamWriter:
    counts = windowed_counts(words(read(spark, max_offsets_per_trigger)))
    return write_updates(changes(counts), OUTPUT).queryName("windowed-counts")


def read(spark: SparkSession, max_offsets_per_trigger: int) -> DataFrame:
    return (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("subscribe", INPUT)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", max_offsets_per_trigger)
        .load()
    )


def words(records: DataFrame) -> DataFrame:
    """One row per word, with the time of its record."""
    from pyspark.sql import functions as f

    text = f.col("value").cast("string")
    return records.select("timestamp", f.explode(f.split(text, " ")).alias("word"))


def windowed_counts(rows: DataFrame) -> DataFrame:
    """Each change of a word's count; zero means that it has left the window."""
    return (
        rows.withWatermark("timestamp", LATENESS)
        .groupBy("word")
        .transformWithState(
            statefulProcessor=SlidingCount(),
            outputStructType=_RESULT,
            outputMode="Update",
            timeMode="EventTime",
        )
    )


def changes(counts: DataFrame) -> DataFrame:
    """Counts as records; zero becomes a tombstone, so that a compacted topic forgets the word."""
    return counts.selectExpr("word AS key", "CAST(NULLIF(count, 0) AS STRING) AS value")


def slide_of(time_ms: int) -> int:
    """The end of the slide that a moment belongs to."""
    return time_ms - time_ms % SLIDE_MS + SLIDE_MS


def leaves_at(slide_ms: int) -> int:
    """When the window has moved on so far that this slide is no longer in it."""
    return slide_ms + WINDOW_MS


def enter(slides: Mapping[int, int], times_ms: Iterator[int], now_ms: int) -> dict[int, int]:
    """Add a word's occurrences; those that had left the window before they came are dropped."""
    result = dict(slides)
    for time_ms in times_ms:
        slide = slide_of(time_ms)
        if leaves_at(slide) > now_ms:
            result[slide] = result.get(slide, 0) + 1
    return result


def leave(slides: Mapping[int, int], now_ms: int) -> dict[int, int]:
    """Take back what is no longer in the window."""
    return {slide: count for slide, count in slides.items() if leaves_at(slide) > now_ms}


class SlidingCount(StatefulProcessor):
    """The slides of one word as state, and a timer for the moment in which the oldest leaves."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("slides", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        now_ms = timerValues.getCurrentWatermarkInMs()
        before = self._slides()
        times = (int(row["timestamp"].timestamp() * 1_000) for row in rows)
        return self._become(key[0], before, enter(before, times, now_ms))

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        before = self._slides()
        after = leave(before, expiredTimerInfo.getExpiryTimeInMs())
        return self._become(key[0], before, after)

    def close(self) -> None:
        pass

    def _slides(self) -> dict[int, int]:
        kept = self._state.get()
        return dict(zip(*kept, strict=True)) if kept else {}

    def _become(self, word: str, before: Mapping[int, int], after: dict[int, int]) -> Iterator[Row]:
        for slide in after.keys() - before.keys():
            self._handle.registerTimer(leaves_at(slide))
        if after:
            self._state.update((list(after), list(after.values())))
        else:
            self._state.clear()
        if after != before:
            yield Row(word=word, count=sum(after.values()))
