"""Trucks report where they are and how they are driven; dangerous events go on to a topic.

    headrace run --broker examples.truck_positions:pipeline

    topic truck_position ──┬── dangerous-driving ── topic dangerous_driving
                           └── with driver names ── topic dangerous_driving_driver

A record is a line `time,truck,driver,route,event,latitude,longitude,correlation` with the driver as
its key; every event that is not `Normal` is dangerous. The names come from the compacted topic
`truck_driver`, read anew with every batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from examples.topics import Draft, provide, servers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

POSITIONS: Final = "truck_position"
DRIVERS: Final = "truck_driver"
DANGEROUS: Final = "dangerous_driving"
WITH_DRIVER: Final = "dangerous_driving_driver"
PARTITIONS: Final = 8
COLUMNS: Final = (
    "ts",
    "truck_id",
    "driver_id",
    "route_id",
    "event_type",
    "latitude",
    "longitude",
    "correlation_id",
)
NORMAL: Final = "Normal"


def pipeline(spark: SparkSession) -> list[DataStreamWriter]:
    provide(POSITIONS, sample_positions(), partitions=PARTITIONS)
    provide(DRIVERS, sample_drivers(), config={"cleanup.policy": "compact"})
    provide(DANGEROUS)
    provide(WITH_DRIVER)
    return [
        writer.trigger(processingTime="1 second")
        for writer in (dangerous_driving(spark), with_driver(spark))
    ]


def positions(records: DataFrame) -> DataFrame:
    """The columns of each line, beside the record's own key and value; null where it is short."""
    from pyspark.sql import functions as f

    cells = f.split(f.col("value").cast("string"), ",")
    named = [f.get(cells, number).alias(name) for number, name in enumerate(COLUMNS)]
    return records.select("key", "value", *named)


def dangerous(rows: DataFrame) -> DataFrame:
    return rows.where(f"event_type <> '{NORMAL}'")


def dangerous_driving(spark: SparkSession) -> DataStreamWriter:
    """Whole records, with their keys, as they came."""
    found = dangerous(positions(_read(spark, POSITIONS)))
    return _write(found.select("key", "value"), DANGEROUS).queryName("dangerous-driving")


def with_driver(spark: SparkSession) -> DataStreamWriter:
    """The same events with the names of the drivers; a driver without a name stays."""
    names = (
        spark.read.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("subscribe", DRIVERS)
        .load()
    )
    events = dangerous(positions(_read(spark, POSITIONS)))
    joined = events.join(latest_names(names), "driver_id", "left")
    rows = joined.selectExpr(
        "driver_id AS key",
        "to_json(struct(ts, truck_id, driver_id, name, route_id, event_type)) AS value",
    )
    return _write(rows, WITH_DRIVER).queryName("dangerous-driving-driver")


def latest_names(records: DataFrame) -> DataFrame:
    """The topic as a table: the newest name of each driver."""
    from pyspark.sql import functions as f

    driver = f.col("key").cast("string").alias("driver_id")
    newest = f.max_by(f.col("value").cast("string"), "offset")  # a key has one partition
    return records.groupBy(driver).agg(newest.alias("name"))


def _read(spark: SparkSession, topic: str) -> DataFrame:
    return (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )


def _write(rows: DataFrame, topic: str) -> DataStreamWriter:
    return (
        rows.writeStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("topic", topic)
    )


def position(number: int, driver: int, event: str) -> Draft:
    """A line of truck `number`, keyed by its driver."""
    time_ms = 1_078_786_800_000 + number * 1_000
    line = f"{time_ms},{10 + driver},{driver},{1900 + driver},{event},38.5,-90.{number:04},{number}"
    return Draft(line, str(driver))


def sample_positions() -> list[Draft]:
    events = ("Normal", "Normal", "Overspeed", "Normal", "Lane Departure", "Normal", "Normal")
    return [position(n, 11 + n % 5, events[n % len(events)]) for n in range(210)]


def sample_drivers() -> list[Draft]:
    names = {"11": "Mara Lind", "12": "Ole Berg", "13": "Ines Roth", "14": "Tom Aske"}
    return [Draft(name, driver) for driver, name in names.items()]
