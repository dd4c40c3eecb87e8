"""What is asked of Spark, in the same words for both connectors.

Each function runs one load and returns plain numbers. It knows nothing of ratios or targets, and
leaves the broker's CPU time to the one who can see the broker.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.table import OURS

_QUERY_TIMEOUT_S = 600
# A query's first batches find nothing open: files, connections, the planner of a source.
_FIRST_BATCHES = 2
_AVRO = json.dumps(
    {
        "type": "record",
        "name": "Payment",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "name", "type": "string"},
            {"name": "amount", "type": "double"},
            {"name": "approved", "type": "boolean"},
        ],
    }
)

Options = Mapping[str, str]


class Loads:
    """The loads of one session; temporary files go below `folder`."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._avro: DataFrame | None = None

    def stream(
        self, *, connector: str, options: Options, rows_per_trigger: int, sink: str
    ) -> dict[str, float]:
        """Read a topic to its end in batches; the rate is that of the batches after the first."""
        source = self._spark.readStream.format(connector).options(**options)
        if sink == "decoded":
            source = source.option("value.format", "avro").option("value.schema", _AVRO)
        rows = source.option("maxOffsetsPerTrigger", rows_per_trigger).load()
        if sink == "avro":
            payment = _from_avro(connector)("value", _AVRO).alias("payment")
            rows, sink = rows.select(payment).select("payment.*"), "noop"
        elif sink == "decoded":
            rows, sink = rows.select("value.*"), "noop"
        scratch = Path(tempfile.mkdtemp(dir=self._folder))
        began = time.monotonic()
        query = _start(rows, sink, scratch)
        if not query.awaitTermination(_QUERY_TIMEOUT_S):
            raise TimeoutError(f"a query of {connector} took more than {_QUERY_TIMEOUT_S} s")
        seconds = time.monotonic() - began
        shutil.rmtree(scratch, ignore_errors=True)
        batches = [
            (each["numInputRows"], each["durationMs"]["triggerExecution"])
            for each in (json.loads(progress.json) for progress in query.recentProgress)
            if each["numInputRows"]
        ]
        steady = batches[_FIRST_BATCHES:] or batches
        return {
            "rows": sum(count for count, _ in batches),
            "seconds": seconds,
            "rows_per_s": sum(count for count, _ in steady) / sum(ms for _, ms in steady) * 1000,
            "batch_ms": median(ms for _, ms in steady),
        }

    def write(self, *, connector: str, options: Options, rows: int) -> dict[str, float]:
        """Write numbered rows of 100 B with a key from two tasks."""
        number = F.col("id").cast("string")
        made = self._spark.range(rows, numPartitions=2).select(
            number.alias("key"), F.lpad(number, 100, "x").alias("value")
        )
        began = time.monotonic()
        made.write.format(connector).options(**options).mode("append").save()
        return {"rows": rows, "seconds": time.monotonic() - began}

    def avro(self, *, connector: str, rows: int) -> dict[str, float]:
        """Decode Avro values of four fields that lie in memory."""
        if self._avro is None:
            self._avro = self._make_avro(rows)
        decoded = self._avro.select(_from_avro(connector)("value", _AVRO).alias("payment"))
        began = time.monotonic()
        decoded.select("payment.*").write.format("noop").mode("overwrite").save()
        return {"rows": rows, "seconds": time.monotonic() - began}

    def fill_avro(self, *, connector: str, options: Options, rows: int) -> dict[str, float]:
        """Write Avro values of four fields to a topic."""
        made = self._spark.range(rows, numPartitions=2)
        made.select(_payment()).write.format(connector).options(**options).mode("append").save()
        return {"rows": rows}

    def _make_avro(self, rows: int) -> DataFrame:
        made = self._spark.range(rows, numPartitions=2).select(_payment()).persist()
        made.count()
        return made


def _payment() -> Column:
    from pyspark.sql.avro.functions import to_avro

    payment = F.struct(
        F.col("id"),
        F.concat(F.lit("customer "), F.col("id") % 1000).alias("name"),
        (F.col("id") / 7).alias("amount"),
        (F.col("id") % 3 == 0).alias("approved"),
    )
    return to_avro(payment, _AVRO).alias("value")


def _from_avro(connector: str) -> Callable[[str, str], Column]:
    if connector == OURS:
        from headrace.pipelines import serdes

        return serdes.from_avro
    from pyspark.sql.avro import functions

    return functions.from_avro


def _start(rows: DataFrame, sink: str, scratch: Path) -> StreamingQuery:
    if sink == "window":
        groups = (F.window("timestamp", "1 second"), F.col("offset") % 1000)
        rows, mode, form = rows.groupBy(*groups).count(), "update", "noop"
    else:
        mode, form = "append", sink
    writer = rows.writeStream.format(form).outputMode(mode)
    if form == "parquet":
        writer = writer.option("path", str(scratch / "parquet"))
    checkpoint = str(scratch / "checkpoint")
    return writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()


def run(loads: Loads, order: Mapping[str, Any]) -> dict[str, float]:
    """Carry out one order: `{"load": "write", …}`."""
    arguments = dict(order)
    found: dict[str, float] = getattr(loads, arguments.pop("load"))(**arguments)
    return found
