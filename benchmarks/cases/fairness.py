"""fairness: what a client notices of another one that floods, never reads or never stays.

A neighbour makes one-record round trips, alone and then beside the hostile client. The ratio of the
two 99th percentiles is what counts, and so is the memory that the broker takes meanwhile. A broker
of ours fails the case if the neighbour's percentile is more than ten times that of the neighbour
alone, or above 50 ms, or if the memory is more than twice that of an idle broker and 64 MiB.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Final

from benchmarks import admin, programs
from benchmarks.bench import Bench, Scenario
from benchmarks.brokers import Broker
from benchmarks.clients import raw_round_trips
from benchmarks.errors import BenchmarkError
from benchmarks.hostile_client import HostileLoad
from benchmarks.table import OURS, Metric, Row, Sample

_METRICS: Final = (
    Metric("p99 beside it", "× alone"),
    Metric("p99", "ms"),
    Metric("p50", "ms"),
    Metric("rss", "MiB"),
)
_ROWS: Final = {
    ("metadata", 1): Row("fairness", "a flood of Metadata, 1,000 partitions", _METRICS),
    ("metadata", 8): Row("fairness", "eight such floods", _METRICS),
    ("produce", 4): Row("fairness", "four floods of acks=0", _METRICS),
    ("unread", 16): Row("fairness", "16 clients that never read", _METRICS),
    ("churn", 1): Row("fairness", "connects and goes, again and again", _METRICS),
    ("items", 2): Row("fairness", "two that ask for 60,000 groups at once", _METRICS),
    ("bombs", 1): Row("fairness", "small batches that hold 100 MB", _METRICS),
    ("partitions", 1): Row("fairness", "10,000 partitions come and go", _METRICS),
}
_PARTITIONS: Final = 1_000
_ROUND_TRIPS: Final = 10_000
_MOST_TIMES_ALONE: Final = 10.0
_MOST_MS: Final = 50.0
_MORE_MIB: Final = 64


def run(bench: Bench, wanted: Collection[str]) -> None:
    with bench.pair({"log.segment.delete.delay.ms": "500"}) as pair:
        wide = admin.fresh_name("wide")
        idle_mib = {}
        for broker in pair:
            admin.create_topics(broker, [wide], _PARTITIONS)
            admin.find_coordinator(broker)
            _trips(bench, broker)
            idle_mib[broker] = broker.rss_mib()
        for (kind, connections), row in _ROWS.items():
            bench.alternate(
                pair,
                row,
                lambda broker, kind=kind, connections=connections: _measure(  # type: ignore[misc]
                    bench, broker, kind, connections, wide, idle_mib[broker]
                ),
            )


def _measure(
    bench: Bench, broker: Broker, kind: str, connections: int, wide: str, idle_mib: float
) -> Sample:
    alone_p99, _ = _trips(bench, broker)
    host, port = broker.address
    target = wide
    if kind in ("produce", "bombs"):
        target = admin.fresh_name("flooded")
        admin.create_topics(broker, [target], config={"retention.bytes": str(1 << 20)})
    load = HostileLoad(host, port, kind, target, connections)
    client = [sys.executable, "-m", "benchmarks.hostile_client", load.to_argument()]
    with programs.running(f"hostile client ({kind})", [client]) as (hostile,):
        hostile.expect("READY")
        p99, p50 = _trips(bench, broker)
        rss_mib = broker.rss_mib()
        hostile.go()
        hostile.finish()
    ratio = p99 / alone_p99
    if broker.name == OURS:
        if ratio > _MOST_TIMES_ALONE or p99 > _MOST_MS:
            raise BenchmarkError(
                f"beside a hostile client ({kind}) the 99th percentile is {p99:.1f} ms, "
                f"{ratio:.1f} times as long as alone"
            )
        if rss_mib > 2 * idle_mib + _MORE_MIB:
            raise BenchmarkError(
                f"a hostile client ({kind}) made the broker grow from {idle_mib:.0f} to "
                f"{rss_mib:.0f} MiB"
            )
    return {"p99 beside it": ratio, "p99": p99, "p50": p50, "rss": rss_mib}


def _trips(bench: Bench, broker: Broker) -> tuple[float, float]:
    """The neighbour's 99th percentile and its median."""
    topic = admin.fresh_name("neighbour")
    admin.create_topics(broker, [topic])
    count = bench.scaled(_ROUND_TRIPS, at_least=1_000)
    done = raw_round_trips(broker, topic, clients=1, round_trips=count, warmup=count // 4)
    admin.delete_topics(broker, [topic])
    return done.p99_ms, done.p50_ms


SCENARIO = Scenario(tuple(_ROWS.values()), run)
