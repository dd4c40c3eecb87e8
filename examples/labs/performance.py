"""How fast a producer is, and what makes it faster.

    python -m examples.labs.performance

The tool that comes with Kafka measures; the settings differ from run to run. Batches make the
difference: fewer requests, and more for a codec to work with.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from examples.cluster.lab import LabFailed, say, shell
from examples.labs.staging import check, expect, on_broker
from examples.topics import create_topic
from headrace.testing import Broker

RECORD_BYTES: Final = 200
_REPORT: Final = re.compile(
    r"(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\), ([\d.]+) ms avg latency"
)


class Run(NamedTuple):
    """What one run of the tool told, and what it left on the disk."""

    records: int
    rate: float
    latency_ms: float
    log_bytes: int


def measure(broker: Broker, name: str, records: int, *settings: str) -> Run:
    """Fill a topic of its own with these settings of the producer."""
    topic = f"performance-{name}"
    create_topic(broker.bootstrap_servers, topic)
    words = ("--topic", topic, "--num-records", str(records), "--throughput", "-1")
    size = ("--record-size", str(RECORD_BYTES))
    servers = f"bootstrap.servers={broker.bootstrap_servers}"
    told = shell(
        "kafka-producer-perf-test", *words, *size, "--command-property", servers, *settings
    )
    reports = _REPORT.findall(told)
    if not reports:
        raise LabFailed(f"the tool did not report: {told}")
    count, rate, _, latency = reports[-1]
    return Run(int(count), float(rate), float(latency), log_bytes(broker.data_dir / f"{topic}-0"))


def log_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.log"))


def story(broker: Broker) -> None:
    say("A request for each record, then batches")
    single = measure(broker, "single", 500, "acks=all", "batch.size=1", "linger.ms=0")
    batched = measure(broker, "batched", 20_000, "acks=all", "batch.size=65536", "linger.ms=20")
    expect((single.records, batched.records), (500, 20_000), "the tool has sent all records")
    print(f"one by one {single.rate:.0f}/s, in batches {batched.rate:.0f}/s")
    check(batched.rate > 2 * single.rate, "batches are more than twice as fast")
    per_record = single.log_bytes / single.records - batched.log_bytes / batched.records
    check(per_record > 50, f"and a record takes {per_record:.0f} bytes less: it shares a header")

    say("A codec works on whole batches")
    packed = measure(
        broker,
        "packed",
        20_000,
        "acks=all",
        "batch.size=65536",
        "linger.ms=20",
        "compression.type=zstd",
    )
    share = packed.log_bytes / batched.log_bytes
    check(share < 0.9, f"with zstd the log has {share:.0%} of the size")
    quick = measure(broker, "no-waiting", 20_000, "acks=0", "batch.size=65536", "linger.ms=20")
    print(f"acks=0 {quick.rate:.0f}/s, acks=all {batched.rate:.0f}/s: on one broker no matter")

    say("And the consumer's side")
    words = ("--topic", "performance-batched", "--num-records", "20000")
    told = shell("kafka-consumer-perf-test", "--bootstrap-server", broker.bootstrap_servers, *words)
    head, values = (line.split(", ") for line in told.splitlines()[-2:])
    figures = dict(zip(head, values, strict=True))
    check(int(figures["data.consumed.in.nMsg"]) >= 20_000, "it has read every record")
    print(f"{figures['nMsg.sec']} records/s, {figures['MB.sec']} MB/s")


if __name__ == "__main__":
    on_broker(story)
