"""spark-read, spark-trigger, spark-write, spark-avro: our source, sink and serdes in Spark, beside
Spark's own Kafka connector and spark-avro. One broker (ours), one session, the two in turn.

The connector is taken at its best: warm, with polls of 50,000 records, and with large batches where
it writes. Rates of reading are those of a running query; what its start costs is shown beside them.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from benchmarks import admin
from benchmarks.bench import Bench, Scenario
from benchmarks.brokers import Broker
from benchmarks.programs import Program, running
from benchmarks.spark.jars import connector_jars
from benchmarks.table import OURS, THEIRS, Metric, Row, Sample, Target, at_least, at_most

_CPU = Metric("broker cpu", "s per million", at_most(1.0))


def _read(label: str, target: Target | None) -> Row:
    return Row("spark-read", label, (Metric("rows", "1/s", target), _CPU))


READ_1M = _read("to noop, 1 M rows a trigger", at_least(1.0))
READ_100K = _read("to noop, 100 k rows a trigger", at_least(0.8))
PARQUET = _read("to parquet, 1 M rows a trigger", None)
WINDOW = _read("windowed counts, 1 M rows a trigger", None)
TRIGGER = Row("spark-trigger", "1 k rows a trigger", (Metric("trigger", "ms", at_most(1.7)),))
START = Row("spark-trigger", "a query of one batch", (Metric("query", "ms"),))
WRITE = Row(
    "spark-write",
    "at least once",
    (Metric("rows", "1/s", at_least(1.2)), Metric("broker cpu", "s per million")),
)
WRITE_EXACTLY_ONCE = Row(
    "spark-write", "exactly once, theirs at least once", (Metric("rows", "1/s"),)
)
AVRO = Row("spark-avro", "4 fields, in memory", (Metric("rows", "1/s", at_least(1.0)),))
AVRO_COLUMN = Row("spark-avro", "4 fields, from a topic", (Metric("rows", "1/s", at_least(1.0)),))
AVRO_SOURCE = Row(
    "spark-avro",
    "4 fields, from a topic, in the source",
    (Metric("rows", "1/s", at_least(1.0)),),
)

_ROWS = 8_000_000
_ROWS_AT_LEAST = 2_000_000
# What a JVM must have read before it is as fast as it gets; the same at every scale.
_WARM_ROWS = 16_000_000
_SMALL_ROWS = 100_000
_WRITTEN_ROWS = 3_000_000
_AVRO_ROWS = 3_000_000
_PARTITIONS = 6
_RECORD_SIZE = 100
_TIMEOUT_S = 3600
_TUNED_READER = {"kafka.max.poll.records": "50000"}
_TUNED_WRITER = {"kafka.batch.size": "262144", "kafka.linger.ms": "5"}

Order = dict[str, Any]


class _Spark:
    """The program with the session, and the broker that both connectors talk to."""

    def __init__(self, bench: Bench, broker: Broker, program: Program) -> None:
        self.bench = bench
        self.broker = broker
        self._program = program

    def ask(self, order: Order) -> Sample:
        """Have one load run; the broker's CPU time is added to what the program says of it."""
        before = self.broker.cpu_seconds()
        self._program.go(json.dumps(order))
        told = self._program.read_json()
        cpu_s = self.broker.cpu_seconds() - before
        return {**told, "broker cpu": cpu_s / told["rows"] * 1_000_000}

    def alternate(
        self,
        row: Row,
        order: Callable[[str], Order],
        sample: Mapping[str, str],
        *,
        warm_ups: int = 1,
    ) -> None:
        """Ours, theirs, ours … after some of each that do not count.

        `sample` says which of the program's numbers is which metric; rates are made of times.
        """
        for side in (OURS, THEIRS) * warm_ups:
            self.bench.say(f"warming up: {row.case}, {row.label}: {side}")
            self.ask(order(side))
        for _ in self.bench.repetitions:
            for side in (OURS, THEIRS):
                self.bench.settle()
                told = dict(self.ask(order(side)))
                told.setdefault("rows_per_s", told["rows"] / told["seconds"])
                told["query_ms"] = told["seconds"] * 1000
                values = {key: told[name] for key, name in sample.items()}
                self.bench.record(row, side, values | {"broker cpu": told["broker cpu"]})


def run(bench: Bench, wanted: Collection[str]) -> None:
    jars = connector_jars()
    launcher, _ = bench.launchers
    with bench.broker(launcher, {}) as broker:
        bench.say(f"starting {broker.name}")
        broker.start()
        program = [sys.executable, "-m", "benchmarks.spark.program"]
        command = [*program, str(broker.folder / "spark"), jars]
        with running("Spark", [command], _TIMEOUT_S) as (program_running,):
            program_running.expect("ready")
            spark = _Spark(bench, broker, program_running)
            for case, measure in _CASES.items():
                if case in wanted:
                    measure(spark)


def _measure_reads(spark: _Spark) -> None:
    rows = spark.bench.scaled(_ROWS, at_least=_ROWS_AT_LEAST)
    topic = _filled(spark, "read", rows, _PARTITIONS)
    for row, rows_per_trigger, sink in (
        (READ_1M, 1_000_000, "noop"),
        (READ_100K, 100_000, "noop"),
        (PARQUET, 1_000_000, "parquet"),
        (WINDOW, 1_000_000, "window"),
    ):
        order = _stream_order(spark, topic, rows_per_trigger, sink)
        warm_ups = math.ceil(_WARM_ROWS / rows) if row is READ_1M else 1
        spark.alternate(row, order, {"rows": "rows_per_s"}, warm_ups=warm_ups)


def _measure_triggers(spark: _Spark) -> None:
    rows = spark.bench.scaled(_SMALL_ROWS, at_least=50_000)
    topic = _filled(spark, "small", rows, 2)
    spark.alternate(TRIGGER, _stream_order(spark, topic, 1_000, "noop"), {"trigger": "batch_ms"})
    spark.alternate(START, _stream_order(spark, topic, rows, "noop"), {"query": "query_ms"})


def _measure_writes(spark: _Spark) -> None:
    rows = spark.bench.scaled(_WRITTEN_ROWS, at_least=500_000)
    for row, guarantee in ((WRITE, "at-least-once"), (WRITE_EXACTLY_ONCE, "exactly-once")):
        ours = {"guarantee": guarantee}

        def order(side: str, ours: Mapping[str, str] = ours) -> Order:
            topic = admin.fresh_name("write")
            admin.create_topics(spark.broker, [topic], partitions=_PARTITIONS)
            options = {"kafka.bootstrap.servers": spark.broker.bootstrap, "topic": topic}
            options |= ours if side == OURS else _TUNED_WRITER
            return {"load": "write", "connector": side, "options": options, "rows": rows}

        spark.alternate(row, order, {"rows": "rows_per_s"})


def _measure_avro(spark: _Spark) -> None:
    rows = spark.bench.scaled(_AVRO_ROWS, at_least=500_000)
    spark.alternate(
        AVRO,
        lambda side: {"load": "avro", "connector": side, "rows": rows},
        {"rows": "rows_per_s"},
        warm_ups=3,
    )
    topic = admin.fresh_name("avro")
    admin.create_topics(spark.broker, [topic], partitions=_PARTITIONS)
    target = {"kafka.bootstrap.servers": spark.broker.bootstrap, "topic": topic}
    spark.ask({"load": "fill_avro", "connector": OURS, "options": target, "rows": rows})
    theirs = _stream_order(spark, topic, rows // 6, "avro")
    spark.alternate(AVRO_COLUMN, theirs, {"rows": "rows_per_s"}, warm_ups=2)
    ours = _stream_order(spark, topic, rows // 6, "decoded")
    spark.alternate(
        AVRO_SOURCE,
        lambda side: (ours if side == OURS else theirs)(side),
        {"rows": "rows_per_s"},
        warm_ups=2,
    )


def _stream_order(
    spark: _Spark, topic: str, rows_per_trigger: int, sink: str
) -> Callable[[str], Order]:
    common = {
        "kafka.bootstrap.servers": spark.broker.bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "kafka.isolation.level": "read_committed",
    }

    def order(side: str) -> Order:
        options = common | (_TUNED_READER if side == THEIRS else {})
        return {
            "load": "stream",
            "connector": side,
            "options": options,
            "rows_per_trigger": rows_per_trigger,
            "sink": sink,
        }

    return order


def _filled(spark: _Spark, name: str, rows: int, partitions: int) -> str:
    """A topic with this many records from Kafka's own producer."""
    spark.bench.say(f"filling a topic with {rows:,} records")
    topic = admin.fresh_name(name)
    admin.create_topics(spark.broker, [topic], partitions=partitions)
    spark.bench.java.produce(spark.broker, topic, rows, _RECORD_SIZE, ())
    return topic


_CASES: Mapping[str, Callable[[_Spark], None]] = {
    "spark-read": _measure_reads,
    "spark-trigger": _measure_triggers,
    "spark-write": _measure_writes,
    "spark-avro": _measure_avro,
}
SCENARIO = Scenario(
    (
        READ_1M,
        READ_100K,
        PARQUET,
        WINDOW,
        TRIGGER,
        START,
        WRITE,
        WRITE_EXACTLY_ONCE,
        AVRO,
        AVRO_COLUMN,
        AVRO_SOURCE,
    ),
    run,
)
