"""start: from the start of the process to the first Metadata answer, on empty storage.
idle: memory and CPU of a broker that nobody uses.

Kafka's storage is formatted beforehand and that is not counted, although ours formats its own
within the time.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from benchmarks.bench import Bench, Scenario
from benchmarks.table import Metric, Row, at_most

START = Row("start", "empty storage", (Metric("seconds", "s", at_most(0.15)),))
IDLE = Row(
    "idle",
    "after start",
    (Metric("rss", "MiB", at_most(0.16)), Metric("cpu", "% of a core")),
)

_SETTLE_S = 2.0


def run(bench: Bench, wanted: Collection[str]) -> None:
    window_s = max(3.0, min(10.0, 10 * bench.scale))
    for _ in bench.repetitions:
        for launcher in bench.launchers:
            with bench.broker(launcher, {}) as broker:
                bench.settle()
                seconds = broker.start()
                if "start" in wanted:
                    bench.record(START, broker.name, {"seconds": seconds})
                if "idle" in wanted:
                    time.sleep(_SETTLE_S)
                    before = broker.cpu_seconds()
                    time.sleep(window_s)
                    cpu = 100 * (broker.cpu_seconds() - before) / window_s
                    bench.record(IDLE, broker.name, {"rss": broker.rss_mib(), "cpu": cpu})
                broker.stop()


SCENARIO = Scenario((START, IDLE), run)
