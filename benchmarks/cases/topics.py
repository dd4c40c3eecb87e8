"""topics: from the first request for 1,000 new topics until all of their leaders are known.
restart: a clean restart with those topics, from process start until all leaders are known again.

A hundred topics are made beforehand, uncounted, so that neither broker meets the request cold.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from benchmarks import admin
from benchmarks.bench import Bench, Scenario
from benchmarks.brokers import Broker
from benchmarks.table import Metric, Row, at_most

TOPICS = Row(
    "topics",
    "new, until usable",
    (Metric("seconds", "s", at_most(0.3)), Metric("broker cpu", "s")),
)
RESTART = Row(
    "restart",
    "clean, same topics",
    (Metric("seconds", "s", at_most(0.25)), Metric("stop", "s")),
)

_PER_REQUEST = 100


def run(bench: Bench, wanted: Collection[str]) -> None:
    count = bench.scaled(1_000, at_least=_PER_REQUEST)
    for _ in bench.repetitions:
        for launcher in bench.launchers:
            with bench.broker(launcher, {}) as broker:
                bench.settle()
                broker.start()
                names = [f"warm-{i}" for i in range(_PER_REQUEST)]
                admin.create_topics(broker, names)
                names += [f"many-{i}" for i in range(count)]
                _create(bench, broker, names[_PER_REQUEST:], measured="topics" in wanted)
                if "restart" in wanted:
                    _restart(bench, broker, names)
                broker.stop()


def _create(bench: Bench, broker: Broker, names: list[str], *, measured: bool) -> None:
    client = admin.connect(broker)
    client.list_topics(timeout=30)  # connects, so that the time is the broker's
    cpu_s, began = broker.cpu_seconds(), time.monotonic()
    for start in range(0, len(names), _PER_REQUEST):
        admin.request_topics(broker, client, names[start : start + _PER_REQUEST])
    admin.wait_for_leaders(broker, names)
    seconds, cpu_s = time.monotonic() - began, broker.cpu_seconds() - cpu_s
    if measured:
        bench.record(TOPICS, broker.name, {"seconds": seconds, "broker cpu": cpu_s})


def _restart(bench: Bench, broker: Broker, names: list[str]) -> None:
    stop_s = broker.stop()
    bench.settle()
    began = broker.launch()
    admin.wait_for_leaders(broker, names)
    bench.record(RESTART, broker.name, {"seconds": time.monotonic() - began, "stop": stop_s})


SCENARIO = Scenario((TOPICS, RESTART), run)
