"""metrics: what it costs to be watched. The same broker with metrics and without, in turn.

With metrics every request is timed by stage and the answer's errors are counted. The column of the
other side is Headrace itself with `metrics.listener` empty; Kafka is not measured here. CPU time
decides: it does not depend on what else the machine does meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from benchmarks import admin
from benchmarks.bench import Bench, Pair, Scenario
from benchmarks.brokers import Broker, HeadraceLauncher
from benchmarks.clients import raw_round_trips
from benchmarks.table import THEIRS, Metric, Row, Sample, at_most

ROUND_TRIPS = Row(
    "metrics",
    "1 raw client, on ÷ off",
    (
        Metric("broker cpu", "s per 1000", at_most(1.03)),
        Metric("p50", "ms"),
    ),
)
BATCHES = Row(
    "metrics",
    "produce, default batches, on ÷ off",
    (
        Metric("broker cpu", "s per million", at_most(1.03)),
        Metric("records", "1/s"),
    ),
)

_TRIPS = 20_000
_RECORDS = 3_000_000
_RECORD_SIZE = 100


def run(bench: Bench, wanted: Collection[str]) -> None:
    ours = bench.launchers[0]
    assert isinstance(ours, HeadraceLauncher), "only our own broker can be watched like this"
    unwatched = replace(ours, name=THEIRS)
    on, off = {"metrics.listener": "127.0.0.1:0"}, {"metrics.listener": ""}
    with bench.broker(ours, on) as a, bench.broker(unwatched, off) as b:
        for broker in (a, b):
            broker.start()
        _round_trips(bench, (a, b))
        _batches(bench, (a, b))
        for broker in (a, b):
            broker.stop()


def _round_trips(bench: Bench, pair: Pair) -> None:
    count = bench.scaled(_TRIPS, at_least=2_000)

    def trips(broker: Broker) -> Sample:
        topic = admin.fresh_name("watched")
        admin.create_topics(broker, [topic])
        done = raw_round_trips(broker, topic, clients=1, round_trips=count, warmup=count // 10)
        admin.delete_topics(broker, [topic])
        return {"broker cpu": done.load.cpu_s_per(1000), "p50": done.p50_ms}

    bench.alternate(pair, ROUND_TRIPS, trips, warm_up=trips)


def _batches(bench: Bench, pair: Pair) -> None:
    records = bench.scaled(_RECORDS, at_least=100_000)

    def produce(broker: Broker) -> Sample:
        topic = admin.fresh_name("watched")
        admin.create_topics(broker, [topic])
        done = bench.java.produce(broker, topic, records, _RECORD_SIZE, ())
        admin.delete_topics(broker, [topic])
        return {"broker cpu": done.cpu_s_per(1_000_000), "records": done.per_s}

    bench.alternate(pair, BATCHES, produce)


SCENARIO = Scenario((ROUND_TRIPS, BATCHES), run)
