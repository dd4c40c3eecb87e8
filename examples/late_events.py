"""Readings that come late: drop them, wait for them, or count again in the evening.

    headrace run --broker examples.late_events:pipeline
    headrace run --broker examples.late_events:evening

    topic readings ──┬── at once ────── topic readings-at-once
                     ├── patient ────── topic readings-patient
                     └── evening ────── printed

Readings are counted by the minute in which they were taken. A count is written once, when a later
reading shows that the minute is over: at once, or five minutes later. What comes after that is
dropped, and `headrace run` shows how much under LATE ROWS. The first is quick and misses most, the
second makes everybody wait; only the evening, which reads the topic again, has every reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from examples.topics import Draft, provide, servers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

READINGS: Final = "readings"
AT_ONCE: Final = "readings-at-once"
PATIENT: Final = "readings-patient"
PATIENCE: Final = {AT_ONCE: "0 seconds", PATIENT: "5 minutes"}
READINGS_PER_TRIGGER: Final = 4  # two minutes of the sample: within a trigger nothing is late
MINUTE_MS: Final = 60_000
SAMPLE_BEGIN_MS: Final = 1_078_786_800_000


def pipeline(spark: SparkSession) -> list[DataStreamWriter]:
    provide(READINGS, sample(), partitions=1)
    for topic in PATIENCE:
        provide(topic)
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    return [query(spark, topic).trigger(processingTime="1 second") for topic in PATIENCE]


def evening(spark: SparkSession) -> None:
    """The batch job: exact, and too late for whoever needed it at noon."""
    provide(READINGS, sample(), partitions=1)
    by_minute(spark.read.format("headrace").options(**source()).load()).orderBy("minute").show(100)


def query(spark: SparkSession, output: str) -> DataStreamWriter:
    """The counts of each minute, as soon as the patience of this output allows."""
    records = (
        spark.readStream.format("headrace")
        .options(**source(), startingOffsets="earliest")
        .option("maxOffsetsPerTrigger", READINGS_PER_TRIGGER)
        .load()
    )
    counts = by_minute(records.withWatermark("timestamp", PATIENCE[output]))
    return (
        counts.selectExpr("CAST(minute AS STRING) AS key", "CAST(readings AS STRING) AS value")
        .writeStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("topic", output)
        .queryName(output)
    )


def by_minute(records: DataFrame) -> DataFrame:
    """How many readings were taken in each minute; all three answers share this."""
    from pyspark.sql import functions as f

    minutes = records.groupBy(f.window("timestamp", "1 minute").alias("window"))
    counts = minutes.agg(f.count("*").alias("readings"))
    return counts.select(f.unix_millis("window.start").alias("minute"), "readings")


def source() -> dict[str, str]:
    return {"kafka.bootstrap.servers": servers(), "subscribe": READINGS}


def reading(minute: float) -> Draft:
    return Draft(f"{20 + minute % 5:.1f}", "station-1", SAMPLE_BEGIN_MS + int(minute * MINUTE_MS))


def sample() -> list[Draft]:
    """Half an hour of two readings a minute, of which one in eight is three or ten minutes late."""
    arrivals: list[tuple[float, float]] = []
    for minute in range(30):
        late = {0: 10, 4: 3}.get(minute % 8, 0)
        arrivals += [(minute, minute), (minute + 0.5 + late, minute + 0.5)]
    return [reading(taken) for _, taken in sorted(arrivals)]
