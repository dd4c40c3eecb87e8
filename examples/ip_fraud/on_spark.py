"""IP fraud on Spark: fraud rows to a topic and to a table, hits per address, share of fraud.

    headrace run --broker examples.ip_fraud.on_spark:pipeline

    topic iprecord ──┬── fraud-rows ──── topic fraudip, table fraud_ip
                     ├── fraud-hits ──── topic fraud-hits    address: how often it came
                     └── fraud-share ─── topic fraud-share   second: records and fraud among them

Each arrow is a query with a checkpoint of its own, and each sink takes a repeated batch for what it
is: the topics by transactions, the table because a batch overwrites its own partitions. So every
figure is exact, whatever fails in between. The last value of a key in fraud-hits and fraud-share is
the truth of now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from examples.ip_fraud.access_log import COLUMNS
from examples.ip_fraud.properties import PropertyReader
from examples.ip_fraud.rules import CacheIPLookup, FraudRow, IPScanner
from examples.ip_fraud.traffic import Plan, batches
from examples.topics import Draft, provide, servers
from examples.updates import write_updates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

FRAUD_TOPIC: Final = "fraudip"
HITS_TOPIC: Final = "fraud-hits"
SHARE_TOPIC: Final = "fraud-share"
TABLE: Final = "fraud_ip"
BUCKETS: Final = 5
BATCH_INTERVAL: Final = "3 seconds"
SAMPLE: Final = Plan(seed=7, ticks=20, begin_ms=1_078_786_800_000)
_LATEST: Final = {"cleanup.policy": "compact"}


def pipeline(spark: SparkSession) -> list[DataStreamWriter]:
    """The three queries, over the topic that the generator's settings name."""
    topic = PropertyReader("streaming.properties").get("topic") or "iprecord"
    sample = (
        Draft(request.text, timestamp_ms=batch.timestamp_ms)
        for batch in batches(SAMPLE)
        for request in batch.requests
    )
    provide(topic, sample)
    return queries(spark, topic)


def queries(
    spark: SparkSession,
    topic: str,
    scanner: IPScanner | None = None,
    options: Mapping[str, str] | None = None,
) -> list[DataStreamWriter]:
    """Make the topics and the table of the results, and return the queries, not yet started.

    `options` are more options of the source.
    """
    provide(FRAUD_TOPIC)
    provide(HITS_TOPIC, config=_LATEST)
    provide(SHARE_TOPIC, config=_LATEST)
    create_table(spark)

    def records(query: str) -> DataFrame:
        source = read(spark, topic, query, options or {})
        return judged(source, scanner or CacheIPLookup())

    writers = {
        "fraud-rows": save_rows(records("fraud-rows")),
        "fraud-hits": write_updates(hits(records("fraud-hits")), HITS_TOPIC),
        "fraud-share": write_updates(share(records("fraud-share")), SHARE_TOPIC),
    }
    return [
        writer.queryName(name).trigger(processingTime=BATCH_INTERVAL)
        for name, writer in writers.items()
    ]


def read(spark: SparkSession, topic: str, query: str, options: Mapping[str, str]) -> DataFrame:
    """The topic from its beginning; lag tools find the query as a group of its name."""
    group = PropertyReader("streaming.properties").get("group.id") or "Stream"
    return (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", servers())
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("groupIdPrefix", f"{group}-{query}")
        .options(**options)
        .load()
    )


def judged(records: DataFrame, scanner: IPScanner) -> DataFrame:
    """Records with their address and the verdict; all other columns stay as they are."""
    from pyspark.sql import functions as f

    text = f.col("value").cast("string")
    address = f.split_part(text, f.lit(","), f.lit(1))
    octet = f.when(f.contains(address, f.lit(".")), f.split_part(address, f.lit("."), f.lit(1)))
    verdict = f.coalesce(asks(scanner)(octet), f.lit(False))
    return records.withColumns({"text": text, "ip": address, "fraud": verdict})


def asks(scanner: IPScanner) -> Any:
    """The scanner as a function of columns: it travels to the workers and is asked once a value."""
    from pyspark.sql.pandas import functions

    def is_listed(octets: pa.Array) -> pa.Array:
        different = octets.dictionary_encode()
        answers = [scanner.is_fraud_ip(octet) for octet in different.dictionary.to_pylist()]
        return pa.array(answers, pa.bool_()).take(different.indices)

    arrow_udf: Any = functions.arrow_udf  # its annotations want the kind, which Spark derives
    return arrow_udf(is_listed, "boolean")


def hits(records: DataFrame) -> DataFrame:
    """How often each fraudulent address came."""
    from pyspark.sql import functions as f

    counted = records.where("fraud").groupBy("ip").count()
    return counted.select(f.col("ip").alias("key"), f.col("count").cast("string").alias("value"))


def share(records: DataFrame) -> DataFrame:
    """Records and fraud among them, by second of the records' own time."""
    from pyspark.sql import functions as f

    counted = (
        records.withWatermark("timestamp", "10 minutes")
        .groupBy(f.window("timestamp", "1 second"))
        .agg(f.count("*").alias("records"), f.count_if("fraud").alias("fraud"))
    )
    return counted.select(
        f.unix_millis("window.start").cast("string").alias("key"),
        f.to_json(f.struct("records", "fraud")).alias("value"),
    )


def save_rows(records: DataFrame) -> DataStreamWriter:
    """Fraud rows to the topic and to the table, both from one reading."""
    found = records.where("fraud").select("key", "value", "text")
    target = servers()

    def save(batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        (
            batch.select("key", "value")
            .write.format("headrace")
            .option("kafka.bootstrap.servers", target)
            .option("topic", FRAUD_TOPIC)
            .option("writeName", "fraud")  # a repeated batch is found by it
            .mode("append")
            .save()
        )
        rows = table_rows(batch, batch_id).coalesce(1)  # few rows: one file per bucket
        # Only the partitions that these rows belong to: those of this batch.
        batch.sparkSession.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        rows.write.insertInto(TABLE, overwrite=True)
        batch.unpersist()

    return found.writeStream.foreachBatch(save)


def table_rows(batch: DataFrame, batch_id: int) -> DataFrame:
    """The columns 0, 3, 6, 7 and 8 of each record that has all ten, without blanks and quotes."""
    from pyspark.sql import functions as f

    cells = f.split("text", ", *")
    values = [f.get(cells, number) for number in (0, 3, 6, 7, 8)]
    values[3] = f.btrim(values[3], f.lit('"'))
    named = [value.alias(name) for name, value in zip(FraudRow._fields, values, strict=True)]
    complete = batch.where(f.size(cells) >= COLUMNS)
    return complete.select(*named[:-1], f.lit(batch_id).alias("batch"), named[-1])


def create_table(spark: SparkSession) -> None:
    """The table in Spark's catalog, with the partitions that earlier runs have left.

    ORC, partitioned by status, five buckets by address; `batch` is what makes a repetition replace
    its own rows.
    """
    folder = spark.conf.get("spark.sql.warehouse.dir")
    *columns, status = (f"{name} STRING" for name in FraudRow._fields)
    (
        spark.createDataFrame([], ", ".join((*columns, "batch BIGINT", status)))
        .write.format("orc")
        .partitionBy("batch", "status_code")
        .bucketBy(BUCKETS, "ip")
        .option("path", f"{folder}/{TABLE}")
        .mode("append")
        .saveAsTable(TABLE)
    )
