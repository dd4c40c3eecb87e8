"""fsync: every append is on the disk before it is acknowledged (log.flush.interval.messages=1).

The price of durability on this disk, which is the same for both; what differs is how many appends
a broker can make at a time and how many it lets share one flush.
"""

from __future__ import annotations

from collections.abc import Collection

from benchmarks import admin
from benchmarks.bench import Bench, Scenario
from benchmarks.brokers import Broker
from benchmarks.clients import raw_round_trips
from benchmarks.table import Metric, Row, Sample, at_least

RAW = Row(
    "fsync",
    "8 raw clients",
    (
        Metric("round trips", "1/s", at_least(1.0)),
        Metric("p99", "ms"),
        Metric("broker cpu", "s per 1000"),
    ),
)
JAVA = Row(
    "fsync",
    "100 B, 1 p, default batches",
    (Metric("records", "1/s", at_least(1.0)), Metric("broker cpu", "s per million")),
)

_CLIENTS = 8
_SETTINGS = {"log.flush.interval.messages": "1"}


def run(bench: Bench, wanted: Collection[str]) -> None:
    round_trips = bench.scaled(500, at_least=50)
    records = bench.scaled(500_000, at_least=10_000)
    with bench.pair(_SETTINGS) as pair:
        bench.alternate(
            pair,
            RAW,
            lambda broker: _raw(broker, round_trips),
            warm_up=lambda broker: _raw(broker, 500),
        )
        bench.alternate(
            pair,
            JAVA,
            lambda broker: _java(bench, broker, records),
            warm_up=lambda broker: _java(bench, broker, 50_000),
        )


def _raw(broker: Broker, round_trips: int) -> Sample:
    topic = admin.fresh_name("fsync")
    admin.create_topics(broker, [topic], partitions=_CLIENTS)
    done = raw_round_trips(
        broker, topic, clients=_CLIENTS, round_trips=round_trips, warmup=round_trips // 10
    )
    admin.delete_topics(broker, [topic])
    return {
        "round trips": done.load.per_s,
        "p99": done.p99_ms,
        "broker cpu": done.load.cpu_s_per(1000),
    }


def _java(bench: Bench, broker: Broker, records: int) -> Sample:
    topic = admin.fresh_name("fsync")
    admin.create_topics(broker, [topic])
    loaded = bench.java.produce(broker, topic, records, 100, ())
    admin.delete_topics(broker, [topic])
    return {"records": loaded.per_s, "broker cpu": loaded.cpu_s_per(1_000_000)}


SCENARIO = Scenario((RAW, JAVA), run)
