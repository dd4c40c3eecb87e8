"""consumer-perf: Kafka's ConsumerPerformance reads a topic as the only member of a group.
join: from subscribe to the first record, and until a second member has its share.
heartbeats: a thousand groups of three members that do nothing but live.

The initial rebalance delay is 0 on both brokers and heartbeats come ten times a second, so that the
times are those of the brokers and not those of the settings.
"""

from __future__ import annotations

from collections.abc import Collection

from benchmarks import admin
from benchmarks.bench import Bench, Pair, Scenario
from benchmarks.brokers import Broker
from benchmarks.clients import group_heartbeats
from benchmarks.table import Metric, Row, Sample, at_least, at_most

CONSUMER_PERF = Row(
    "consumer-perf",
    "100 B, 6 p",
    (
        Metric("records", "1/s", at_least(1.0)),
        Metric("broker cpu", "s per million", at_most(1.0)),
    ),
)
PROTOCOLS = ("classic", "consumer")
JOINS = {
    protocol: Row(
        "join",
        f"{protocol} protocol",
        (
            Metric("first record", "ms", at_most(1.0)),
            Metric("second member", "ms", at_most(1.0)),
        ),
    )
    for protocol in PROTOCOLS
}
HEARTBEATS = Row(
    "heartbeats",
    "1,000 groups of 3",
    (
        Metric("broker cpu", "s per 1000", at_most(1.0)),
        Metric("heartbeats", "1/s"),
    ),
)

_RECORDS = 5_000_000
_ROUNDS = 15
_GROUPS = 1_000
_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
}


def run(bench: Bench, wanted: Collection[str]) -> None:
    with bench.pair(_SETTINGS) as pair:
        if "consumer-perf" in wanted:
            _consumer_perf(bench, pair)
        if "join" in wanted:
            for protocol in PROTOCOLS:
                _join(bench, pair, protocol)
    if "heartbeats" in wanted:
        with bench.pair({"group.initial.rebalance.delay.ms": "500"}) as pair:
            _heartbeats(bench, pair)


def _consumer_perf(bench: Bench, pair: Pair) -> None:
    records = bench.scaled(_RECORDS, at_least=100_000)
    topics = {}
    for broker in pair:
        bench.say(f"filling a topic of {broker.name}")
        topics[broker] = topic = admin.fresh_name("perf")
        admin.create_topics(broker, [topic], partitions=6)
        bench.java.produce(broker, topic, records, 100, ())

    def measure(broker: Broker) -> Sample:
        loaded = bench.java.consumer_performance(broker, topics[broker], records)
        return {"records": loaded.per_s, "broker cpu": loaded.cpu_s_per(1_000_000)}

    bench.alternate(pair, CONSUMER_PERF, measure, warm_up=measure)


def _join(bench: Bench, pair: Pair, protocol: str) -> None:
    topics = {}
    for broker in pair:
        topics[broker] = topic = admin.fresh_name("join")
        admin.create_topics(broker, [topic], partitions=4)
        bench.java.produce(broker, topic, 1_000, 100, ())

    def measure(broker: Broker) -> Sample:
        rounds = bench.scaled(_ROUNDS, at_least=5)
        told = bench.java.join_groups(broker, topics[broker], protocol, partitions=4, rounds=rounds)
        return {"first record": told["first_ms"], "second member": told["second_ms"]}

    bench.alternate(pair, JOINS[protocol], measure)


def _heartbeats(bench: Bench, pair: Pair) -> None:
    def measure(broker: Broker) -> Sample:
        groups = bench.scaled(_GROUPS, at_least=50)
        loaded = group_heartbeats(broker, groups=groups, members=3, rounds=20)
        return {"broker cpu": loaded.cpu_s_per(1000), "heartbeats": loaded.per_s}

    bench.alternate(pair, HEARTBEATS, measure)


SCENARIO = Scenario((CONSUMER_PERF, *JOINS.values(), HEARTBEATS), run)
