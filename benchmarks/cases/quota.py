"""quota: a client that wants everything has a quota; its rate, and what its neighbour notices.

The greedy client of librdkafka runs at full speed until its rate has settled. Then it is measured,
while a neighbour makes one-record round trips: their 99th percentile is set beside that of a
neighbour that is alone. A broker of ours that misses the quota by more than a twentieth fails the
case.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from benchmarks import admin, programs
from benchmarks.bench import Bench, Scenario
from benchmarks.brokers import Broker
from benchmarks.clients import raw_round_trips
from benchmarks.errors import BenchmarkError
from benchmarks.greedy_client import GreedyLoad
from benchmarks.table import OURS, Metric, Row, Sample, at_most

_METRICS: Final = (
    Metric("off quota", "%"),
    Metric("p99 beside it", "× alone", at_most(1.2)),
    Metric("p99", "ms", at_most(1.0)),
)
PRODUCER = Row("quota", "greedy producer, 5 MB/s", _METRICS)
CONSUMER = Row("quota", "greedy consumer, 5 MB/s", _METRICS)

_QUOTA: Final = 5_000_000
_MOST_OFF_PERCENT: Final = 5.0
# Two samples of a second: bursts are small, and over ten seconds they even out.
_SETTINGS: Final = {"quota.window.num": "2", "quota.window.size.seconds": "1"}
_SETTLE_S: Final = 5.0
_MEASURED_S: Final = 20
_ROUND_TRIPS: Final = 15_000
_RECORDS: Final = 100_000


def run(bench: Bench, wanted: Collection[str]) -> None:
    with bench.pair(_SETTINGS) as pair:
        for row, verb, key in (
            (PRODUCER, "produce", "producer_byte_rate"),
            (CONSUMER, "consume", "consumer_byte_rate"),
        ):
            bench.alternate(
                pair,
                row,
                lambda broker, verb=verb, key=key: _measure(bench, broker, verb, key),  # type: ignore[misc]
                warm_up=lambda broker: _trips(bench, broker),
            )


def _measure(bench: Bench, broker: Broker, verb: str, key: str) -> Sample:
    topic, client_id = admin.fresh_name("quota"), admin.fresh_name("greedy")
    admin.create_topics(broker, [topic])
    if verb == "consume":
        bench.java.produce(broker, topic, _RECORDS, 1_000, ["batch.size=20000"])
    alone_ms = _trips(bench, broker)
    load = GreedyLoad(
        broker.bootstrap, client_id, topic, verb, _SETTLE_S, max(10, _MEASURED_S * bench.scale)
    )
    client = [sys.executable, "-m", "benchmarks.greedy_client", load.to_argument()]
    with (
        _quota(broker, client_id, key),
        programs.running(f"greedy client ({verb})", [client]) as (greedy,),
    ):
        greedy.expect("READY")
        greedy.go()
        beside_ms = _trips(bench, broker)
        rate = greedy.read_json()["bytes_per_s"]
        greedy.finish()
    admin.delete_topics(broker, [topic])
    off = abs(rate / _QUOTA - 1) * 100
    if broker.name == OURS and off > _MOST_OFF_PERCENT:
        raise BenchmarkError(f"the greedy client ({verb}) settled {off:.1f} % off its quota")
    return {"off quota": off, "p99 beside it": beside_ms / alone_ms, "p99": beside_ms}


def _trips(bench: Bench, broker: Broker) -> float:
    """The neighbour's 99th percentile."""
    topic = admin.fresh_name("neighbour")
    admin.create_topics(broker, [topic])
    count = bench.scaled(_ROUND_TRIPS, at_least=500)
    done = raw_round_trips(broker, topic, clients=1, round_trips=count, warmup=count // 4)
    admin.delete_topics(broker, [topic])
    return done.p99_ms


@contextmanager
def _quota(broker: Broker, client_id: str, key: str) -> Iterator[None]:
    from headrace.admin.quotas import change_quotas
    from headrace.cli.asking import connect
    from headrace.cli.target import parse_target

    with connect(parse_target(broker.bootstrap, ())) as client:
        change_quotas(client, {"client-id": client_id}, {key: float(_QUOTA)})
        try:
            yield
        finally:
            change_quotas(client, {"client-id": client_id}, {key: None})


SCENARIO = Scenario((PRODUCER, CONSUMER), run)
