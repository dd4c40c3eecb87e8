"""The clients that load a broker: Kafka's own tools, a small Java program, bare sockets.

Every function takes the broker and returns plain numbers; a client's failure is a BenchmarkError
with the end of what it said.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import programs
from benchmarks.brokers import Broker
from benchmarks.errors import BenchmarkError
from benchmarks.kafka.server import tool_command
from benchmarks.raw_client import RawLoad

_SOURCE = Path(__file__).resolve().parent / "java" / "Clients.java"
_PRODUCED = re.compile(r"(\d+) records sent, ([\d.]+) records/sec .* ms 99th")
_RECORD_SIZE = 100


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load did: how much in how many seconds, and the broker's CPU time meanwhile."""

    count: int
    seconds: float
    broker_cpu_s: float

    @property
    def per_s(self) -> float:
        return self.count / self.seconds

    def cpu_s_per(self, many: int) -> float:
        return self.broker_cpu_s / self.count * many


@dataclass(frozen=True, slots=True)
class RoundTrips:
    load: Loaded
    p50_ms: float
    p99_ms: float


class JavaClients:
    """Kafka's performance tools and `Clients.java`, which is compiled once per run."""

    def __init__(self, class_path: str, folder: Path) -> None:
        folder.mkdir()
        self._command = tool_command(f"{folder}:{class_path}")
        compiler = ["javac", "-cp", class_path, "-d", str(folder), str(_SOURCE)]
        done = subprocess.run(compiler, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise BenchmarkError(f"{_SOURCE.name} does not compile:\n{done.stderr[-2000:]}")

    def produce(
        self, broker: Broker, topic: str, records: int, record_size: int, properties: Sequence[str]
    ) -> Loaded:
        """ProducerPerformance at full speed with acks=all.

        The rate is the tool's own, from its first record on, so the start of the JVM is not in it.
        """
        arguments = ["--bootstrap-server", broker.bootstrap, "--topic", topic]
        arguments += ["--num-records", str(records), "--record-size", str(record_size)]
        arguments += ["--throughput", "-1", "--command-property", "acks=all", *properties]
        command = [*self._command, "org.apache.kafka.tools.ProducerPerformance", *arguments]
        before = broker.cpu_seconds()
        with programs.running("ProducerPerformance", [command]) as (program,):
            told = program.read_all()
            program.finish()
        cpu_s = broker.cpu_seconds() - before
        summaries = _PRODUCED.findall(told)
        if not summaries or int(summaries[-1][0]) != records:
            raise BenchmarkError(f"ProducerPerformance did not send {records:,}:\n{told[-2000:]}")
        return Loaded(records, records / float(summaries[-1][1]), cpu_s)

    def consume(self, broker: Broker, topic: str, records: int) -> Loaded:
        """Read a whole topic with assigned partitions, after a tenth of it as a warm-up."""
        warmup = max(1, records // 10)
        told, cpu_s = self._warmed(broker, "consume", topic=topic, records=records, warmup=warmup)
        if told["records"] != records:
            raise BenchmarkError(f"{topic} held {told['records']:,} records, not {records:,}")
        return Loaded(records, told["seconds"], cpu_s)

    def end_to_end(
        self, broker: Broker, topic: str, *, count: int, warmup: int
    ) -> dict[str, float]:
        """Latencies from a producer's send to a waiting consumer, and the broker's CPU time."""
        told, cpu_s = self._warmed(
            broker, "e2e", topic=topic, count=count, warmup=warmup, size=_RECORD_SIZE
        )
        return {**told, "cpu_s": cpu_s}

    def _warmed(
        self, broker: Broker, verb: str, **options: str | int
    ) -> tuple[dict[str, float], float]:
        pairs = [f"{key}={value}" for key, value in options.items()]
        command = [*self._command, "Clients", verb, f"bootstrap={broker.bootstrap}", *pairs]
        with programs.running(f"Clients {verb}", [command]) as (program,):
            program.expect("GO")
            before = broker.cpu_seconds()
            program.go()
            told = program.read_json()
            cpu_s = broker.cpu_seconds() - before
            program.finish()
        return told, cpu_s


def raw_round_trips(
    broker: Broker, topic: str, *, clients: int, round_trips: int, warmup: int
) -> RoundTrips:
    """Bare sockets, all at once, each on a partition of its own with one request in flight."""
    host, port = broker.address
    loads = [
        RawLoad(host, port, topic, partition, round_trips, warmup, _RECORD_SIZE)
        for partition in range(clients)
    ]
    client = [sys.executable, "-m", "benchmarks.raw_client"]
    with programs.running("raw client", [[*client, load.to_argument()] for load in loads]) as all_:
        for program in all_:
            program.expect("READY")
        before = broker.cpu_seconds()
        for program in all_:
            program.go()
        told = [program.read_json() for program in all_]
        cpu_s = broker.cpu_seconds() - before
        for program in all_:
            program.finish()
    nanos = sorted(nano for one in told for nano in one["nanos"])
    seconds = max(one["ended"] for one in told) - min(one["began"] for one in told)
    loaded = Loaded(len(nanos), seconds, cpu_s)
    return RoundTrips(loaded, _quantile_ms(nanos, 0.5), _quantile_ms(nanos, 0.99))


def _quantile_ms(sorted_nanos: Sequence[int], part: float) -> float:
    return sorted_nanos[min(len(sorted_nanos) - 1, int(part * len(sorted_nanos)))] / 1e6
