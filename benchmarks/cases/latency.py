"""sync: one-record round trips from bare sockets, acks=all.
e2e: from a Java producer's send until a waiting, assigned Java consumer has the record.

Nothing is batched and one record is under way per client: this is the cost of a request.
"""

from __future__ import annotations

from collections.abc import Collection

from benchmarks import admin
from benchmarks.bench import Bench, Pair, Scenario
from benchmarks.brokers import Broker
from benchmarks.clients import raw_round_trips
from benchmarks.table import Metric, Row, Sample, at_least, at_most

EIGHT = Row(
    "sync",
    "8 raw clients",
    (
        Metric("round trips", "1/s", at_least(1.0)),
        Metric("broker cpu", "s per 1000", at_most(0.7)),
        Metric("p50", "ms"),
        Metric("p99", "ms"),
    ),
)
ONE = Row(
    "sync",
    "1 raw client",
    (
        Metric("p50", "ms", at_most(1.0)),
        Metric("p99", "ms", at_most(1.0)),
        Metric("broker cpu", "s per 1000"),
    ),
)
END_TO_END = Row(
    "e2e",
    "Java producer to consumer",
    (
        Metric("p50", "ms", at_most(1.0)),
        Metric("p99", "ms", at_most(1.0)),
        Metric("broker cpu", "s per 1000"),
    ),
)

_COUNT = 5_000


def run(bench: Bench, wanted: Collection[str]) -> None:
    with bench.pair() as pair:
        if "sync" in wanted:
            _sync(bench, pair, EIGHT, clients=8)
            _sync(bench, pair, ONE, clients=1)
        if "e2e" in wanted:
            _end_to_end(bench, pair)


def _sync(bench: Bench, pair: Pair, row: Row, *, clients: int) -> None:
    def trips(broker: Broker, count: int) -> Sample:
        topic = admin.fresh_name("sync")
        admin.create_topics(broker, [topic], partitions=clients)
        done = raw_round_trips(broker, topic, clients=clients, round_trips=count, warmup=count // 2)
        admin.delete_topics(broker, [topic])
        return {
            "round trips": done.load.per_s,
            "broker cpu": done.load.cpu_s_per(1000),
            "p50": done.p50_ms,
            "p99": done.p99_ms,
        }

    count = bench.scaled(_COUNT, at_least=200)
    bench.alternate(
        pair,
        row,
        lambda broker: trips(broker, count),
        warm_up=lambda broker: trips(broker, _COUNT),
    )


def _end_to_end(bench: Bench, pair: Pair) -> None:
    def send(broker: Broker, count: int) -> Sample:
        topic = admin.fresh_name("e2e")
        admin.create_topics(broker, [topic])
        told = bench.java.end_to_end(broker, topic, count=count, warmup=max(1_000, count // 2))
        admin.delete_topics(broker, [topic])
        return {
            "p50": told["p50_ms"],
            "p99": told["p99_ms"],
            "broker cpu": told["cpu_s"] / count * 1000,
        }

    count = bench.scaled(_COUNT, at_least=200)
    bench.alternate(
        pair,
        END_TO_END,
        lambda broker: send(broker, count),
        warm_up=lambda broker: send(broker, _COUNT // 2),
    )


SCENARIO = Scenario((EIGHT, ONE, END_TO_END), run)
