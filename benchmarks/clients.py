"""The clients that load a broker: Kafka's own tools, a small Java program, bare sockets.

Every function takes the broker and returns plain numbers; a client's failure is a BenchmarkError
with the end of what it said.
"""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import admin, programs
from benchmarks.brokers import Broker, Served
from benchmarks.errors import BenchmarkError
from benchmarks.group_client import GroupLoad
from benchmarks.kafka.server import tool_command
from benchmarks.raw_client import RawLoad

_SOURCES = Path(__file__).resolve().parent / "java"
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
        sources = [str(source) for source in sorted(_SOURCES.glob("*.java"))]
        compiler = ["javac", "-cp", class_path, "-d", str(folder), *sources]
        done = subprocess.run(compiler, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise BenchmarkError(f"{_SOURCES} does not compile:\n{done.stderr[-2000:]}")

    def produce(
        self,
        broker: Served,
        topic: str,
        records: int,
        record_size: int,
        properties: Sequence[str],
        options: Sequence[str] = (),
    ) -> Loaded:
        """ProducerPerformance at full speed with acks=all.

        The rate is the tool's own, from its first record on, so the start of the JVM is not in it.
        """
        arguments = ["--bootstrap-server", broker.bootstrap, "--topic", topic]
        arguments += ["--num-records", str(records), "--record-size", str(record_size)]
        arguments += ["--throughput", "-1", *options]
        arguments += ["--command-property", "acks=all", *properties]
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

    def consumer_performance(self, broker: Broker, topic: str, records: int) -> Loaded:
        """ConsumerPerformance as the only member of a new group; the rate leaves out the join."""
        group = f"perf-{uuid.uuid4().hex[:8]}"
        arguments = ["--bootstrap-server", broker.bootstrap, "--topic", topic]
        arguments += ["--num-records", str(records), "--group", group, "--timeout", "60000"]
        command = [*self._command, "org.apache.kafka.tools.ConsumerPerformance", *arguments]
        before = broker.cpu_seconds()
        with programs.running("ConsumerPerformance", [command]) as (program,):
            told = program.read_all()
            program.finish()
        cpu_s = broker.cpu_seconds() - before
        last = told.strip().rpartition("\n")[2].split(", ")
        try:
            read, fetch_ms = int(last[4]), int(last[7])
        except (IndexError, ValueError):
            raise BenchmarkError(f"ConsumerPerformance said:\n{told[-2000:]}") from None
        if read < records:
            raise BenchmarkError(f"{topic} gave {read:,} records, not {records:,}")
        return Loaded(read, fetch_ms / 1000, cpu_s)

    def join_groups(
        self, broker: Broker, topic: str, protocol: str, *, partitions: int, rounds: int
    ) -> dict[str, float]:
        """Median times to the first record of a new group, and until a second member shares."""
        told, _ = self._warmed(
            broker,
            "join",
            program="Groups",
            topic=topic,
            protocol=protocol,
            partitions=partitions,
            heartbeat=100,
            rounds=rounds,
            warmup=5,
        )
        return told

    def transactions(self, broker: Broker, topic: str, *, count: int, warmup: int) -> Loaded:
        """Transactions of one record each, one after the other."""
        told, cpu_s = self._warmed(
            broker, "transactions", program="Groups", topic=topic, count=count, warmup=warmup
        )
        return Loaded(count, told["seconds"], cpu_s)

    def end_to_end(
        self, broker: Broker, topic: str, *, count: int, warmup: int
    ) -> dict[str, float]:
        """Latencies from a producer's send to a waiting consumer, and the broker's CPU time."""
        told, cpu_s = self._warmed(
            broker, "e2e", topic=topic, count=count, warmup=warmup, size=_RECORD_SIZE
        )
        return {**told, "cpu_s": cpu_s}

    def _warmed(
        self, broker: Broker, verb: str, program: str = "Clients", **options: str | int
    ) -> tuple[dict[str, float], float]:
        pairs = [f"{key}={value}" for key, value in options.items()]
        command = [*self._command, program, verb, f"bootstrap={broker.bootstrap}", *pairs]
        with programs.running(f"{program} {verb}", [command]) as (client,):
            client.expect("GO")
            before = broker.cpu_seconds()
            client.go()
            told = client.read_json()
            cpu_s = broker.cpu_seconds() - before
            client.finish()
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


def group_heartbeats(broker: Broker, *, groups: int, members: int, rounds: int) -> Loaded:
    """So many heartbeats of every member of so many groups, one process, a few connections."""
    admin.find_coordinator(broker)
    host, port = broker.address
    load = GroupLoad(
        host,
        port,
        groups=groups,
        members=members,
        at_once=50,
        rounds=rounds,
        warmup=2,
        prefix=f"beat-{uuid.uuid4().hex[:8]}",
    )
    client = [sys.executable, "-m", "benchmarks.group_client", load.to_argument()]
    with programs.running("group client", [client]) as (program,):
        program.expect("READY")
        before = broker.cpu_seconds()
        program.go()
        told = program.read_json()
        cpu_s = broker.cpu_seconds() - before
        program.finish()
    return Loaded(groups * members * rounds, told["seconds"], cpu_s)


def _quantile_ms(sorted_nanos: Sequence[int], part: float) -> float:
    return sorted_nanos[min(len(sorted_nanos) - 1, int(part * len(sorted_nanos)))] / 1e6
