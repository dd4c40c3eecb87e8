"""transactions: Kafka's ProducerPerformance committing every 100 ms; and one record at a time.

Both are the Java client with transactions v2, which both brokers offer.
"""

from __future__ import annotations

from collections.abc import Collection

from benchmarks import admin
from benchmarks.bench import Bench, Pair, Scenario
from benchmarks.brokers import Broker
from benchmarks.table import Metric, Row, Sample, at_least

EVERY_100_MS = Row(
    "transactions",
    "commit every 100 ms",
    (
        Metric("records", "1/s", at_least(1.0)),
        Metric("broker cpu", "s per million"),
    ),
)
SINGLE = Row(
    "transactions",
    "one record each",
    (
        Metric("transactions", "1/s", at_least(2.0)),
        Metric("broker cpu", "s per 1000"),
    ),
)

_RECORDS = 2_000_000
_SINGLE = 2_000


def run(bench: Bench, wanted: Collection[str]) -> None:
    with bench.pair() as pair:
        _every_100_ms(bench, pair)
        _single(bench, pair)


def _every_100_ms(bench: Bench, pair: Pair) -> None:
    def measure(broker: Broker) -> Sample:
        topic = admin.fresh_name("txn")
        admin.create_topics(broker, [topic], partitions=6)
        records = bench.scaled(_RECORDS, at_least=100_000)
        options = ("--transactional-id", topic, "--transaction-duration-ms", "100")
        loaded = bench.java.produce(broker, topic, records, 100, (), options)
        admin.delete_topics(broker, [topic])
        return {"records": loaded.per_s, "broker cpu": loaded.cpu_s_per(1_000_000)}

    bench.alternate(pair, EVERY_100_MS, measure, warm_up=measure)


def _single(bench: Bench, pair: Pair) -> None:
    def measure(broker: Broker) -> Sample:
        topic = admin.fresh_name("single")
        admin.create_topics(broker, [topic])
        count = bench.scaled(_SINGLE, at_least=200)
        loaded = bench.java.transactions(broker, topic, count=count, warmup=_SINGLE // 2)
        admin.delete_topics(broker, [topic])
        return {"transactions": loaded.per_s, "broker cpu": loaded.cpu_s_per(1000)}

    bench.alternate(pair, SINGLE, measure)


SCENARIO = Scenario((EVERY_100_MS, SINGLE), run)
