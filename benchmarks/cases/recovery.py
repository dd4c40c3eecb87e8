"""recovery: the start after a kill -9 with 2 GB of records, until the last of them can be read.

Two topics of one partition hold a million records of 1 KiB each. That stays below the default size
of a segment, so both brokers have one open segment per partition to check, whatever they flushed.
The folder is kept as the crash left it and copied for each repetition: a broker that noted its
progress in an earlier recovery gains nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path

from benchmarks import admin, wire
from benchmarks.bench import Bench, Scenario
from benchmarks.brokers import Broker
from benchmarks.table import Metric, Row, at_most

RECOVERY = Row(
    "recovery",
    "after kill -9",
    (Metric("seconds", "s", at_most(0.25)), Metric("broker cpu", "s")),
)

_TOPICS = ("crash-0", "crash-1")
_RECORD_SIZE = 1024
_COPY_TIMEOUT_S = 300


def run(bench: Bench, wanted: Collection[str]) -> None:
    records = bench.scaled(1_000_000, at_least=10_000)
    with ExitStack() as stack:
        crashed = []
        for launcher in bench.launchers:
            broker = stack.enter_context(bench.broker(launcher, {}))
            bench.say(f"writing {len(_TOPICS)} × {records:,} records to {broker.name}")
            _write_and_crash(bench, broker, records)
            crashed.append(broker)
        for _ in bench.repetitions:
            for broker in crashed:
                _copy(_image(broker), broker.data)
                bench.settle()
                seconds, cpu_s = _recover(broker, records - 1)
                bench.record(RECOVERY, broker.name, {"seconds": seconds, "broker cpu": cpu_s})
                broker.kill()


def _write_and_crash(bench: Bench, broker: Broker, records: int) -> None:
    broker.start()
    admin.create_topics(broker, _TOPICS)
    for topic in _TOPICS:
        bench.java.produce(broker, topic, records, _RECORD_SIZE, ())
    broker.kill()
    broker.data.rename(_image(broker))


def _recover(broker: Broker, last_offset: int) -> tuple[float, float]:
    began = broker.launch()
    admin.wait_for_leaders(broker, _TOPICS)
    broker.wait_until(
        lambda: all(wire.can_fetch(broker.address, topic, 0, last_offset) for topic in _TOPICS),
        what="last record",
    )
    return time.monotonic() - began, broker.cpu_seconds()


def _image(broker: Broker) -> Path:
    return broker.folder / "crashed"


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    # cp keeps the holes of Kafka's preallocated index files, which Python's copy would fill.
    copy = ["cp", "-a", "--reflink=auto", str(source), str(target)]
    subprocess.run(copy, check=True, timeout=_COPY_TIMEOUT_S)


SCENARIO = Scenario((RECOVERY,), run)
