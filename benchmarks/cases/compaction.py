"""compaction: ten million records of a million keys, until the cleaner has noted them as clean.

A topic is filled through librdkafka while its policy is `delete`, so that all of it is dirty when
the policy becomes `compact`: from that request on the time counts, until the partition's line in
`cleaner-offset-checkpoint` reaches the active segment. The brokers are stopped after filling, and
each repetition runs on a copy of the folder. A tenth of the load, in a topic of its own, is
compacted first and not counted: a JVM is slow until it has compiled what it does. Memory is the
most that was seen meanwhile, and CPU is that of all processes of the broker.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewTopic

from benchmarks import admin
from benchmarks.bench import Bench, Scenario
from benchmarks.brokers import Broker
from benchmarks.table import Metric, Row, Sample, at_most

CODECS = ("none", "lz4")
ROWS = {
    codec: Row(
        "compaction",
        f"100 B, a tenth stays, {codec}",
        (Metric("seconds", "s", at_most(2.0)), Metric("broker cpu", "s"), Metric("memory", "MiB")),
    )
    for codec in CODECS
}

_RECORDS, _WARM_UP_RECORDS = 10_000_000, 1_000_000
_VALUE_BYTES = 100
_SETTINGS = {"log.cleaner.backoff.ms": "100"}
_SEGMENTS = {"segment.bytes": str(32 << 20)}
_COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
_WARM_UP, _LOAD = "warm-up", "load"
_TIMEOUT_S = 300
_MEMORY_EVERY_S = 0.2


def run(bench: Bench, wanted: Collection[str]) -> None:
    for codec in CODECS:
        with ExitStack() as stack:
            filled = []
            for launcher in bench.launchers:
                broker = stack.enter_context(bench.broker(launcher, _SETTINGS))
                _fill(bench, broker, codec)
                filled.append(broker)
            for _ in bench.repetitions:
                for broker in filled:
                    _copy(_image(broker), broker.data)
                    bench.settle()
                    bench.record(ROWS[codec], broker.name, _measure(broker))
                    broker.kill()


def _measure(broker: Broker) -> Sample:
    broker.start()
    admin.wait_for_leaders(broker, (_WARM_UP, _LOAD))
    client = admin.connect(broker)
    _compact(broker, client, _WARM_UP)
    return _compact(broker, client, _LOAD)


def _compact(broker: Broker, client: AdminClient, topic: str) -> Sample:
    """Change the policy of a topic and wait until all but its active segment is clean."""
    active = max(int(log.stem) for log in _folder(broker).glob(f"{topic}-0/*.log"))
    memory = _most_memory(broker)
    cpu_s, began = broker.cpu_seconds(), time.monotonic()
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        for key, value in _COMPACT.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    for future in client.incremental_alter_configs([resource]).values():
        future.result(_TIMEOUT_S)
    most = 0.0

    def is_clean() -> bool:
        nonlocal most
        most = next(memory)
        return _clean_offset(broker, topic) >= active

    broker.wait_until(is_clean, what=f"compacted topic {topic}")
    seconds = time.monotonic() - began
    return {"seconds": seconds, "broker cpu": broker.cpu_seconds() - cpu_s, "memory": most}


def _most_memory(broker: Broker) -> Iterator[float]:
    """The most memory seen so far; looked at now and then, since looking takes time as well."""
    most, looked = broker.rss_mib(), time.monotonic()
    while True:
        yield most
        if time.monotonic() - looked > _MEMORY_EVERY_S:
            most, looked = max(most, broker.rss_mib()), time.monotonic()


def _clean_offset(broker: Broker, topic: str) -> int:
    checkpoint = _folder(broker) / "cleaner-offset-checkpoint"
    for line in checkpoint.read_text().splitlines()[2:]:
        name, partition, offset = line.split()
        if (name, partition) == (topic, "0"):
            return int(offset)
    return -1


def _folder(broker: Broker) -> Path:
    """Where the partitions are: in the data folder, or in the one that Kafka was given below it."""
    return next(path for path in (broker.data / "log", broker.data) if path.exists())


def _fill(bench: Bench, broker: Broker, codec: str) -> None:
    records = bench.scaled(_RECORDS, at_least=100_000)
    bench.say(f"writing {records:,} keyed records, {codec}, to {broker.name}")
    broker.start()
    client = admin.connect(broker)
    new = [NewTopic(topic, 1, 1, config=_SEGMENTS) for topic in (_WARM_UP, _LOAD)]
    for future in client.create_topics(new).values():
        future.result(_TIMEOUT_S)
    admin.wait_for_leaders(broker, (_WARM_UP, _LOAD))
    _produce(broker, _WARM_UP, min(records, _WARM_UP_RECORDS), codec)
    _produce(broker, _LOAD, records, codec)
    broker.stop()
    broker.data.rename(_image(broker))


def _produce(broker: Broker, topic: str, records: int, codec: str) -> None:
    """Records whose keys are drawn from a tenth of their number, the same on every broker."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "compression.type": codec,
            "linger.ms": 5,
            "log_level": 0,
            "queue.buffering.max.messages": 500_000,
        }
    )
    draw = random.Random(1)
    half = _VALUE_BYTES // 2
    values = [draw.randbytes(half) + bytes(half) for _ in range(1000)]
    keys = max(1, records // 10)
    for number in range(records):
        key = b"key-%08d" % int(draw.random() * keys)
        while True:
            try:
                producer.produce(topic, values[number % len(values)], key)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush(_TIMEOUT_S)


def _image(broker: Broker) -> Path:
    return broker.folder / "filled"


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    # cp keeps the holes of Kafka's preallocated index files, which Python's copy would fill.
    copy = ["cp", "-a", "--reflink=auto", str(source), str(target)]
    subprocess.run(copy, check=True, timeout=_TIMEOUT_S)


SCENARIO = Scenario(tuple(ROWS.values()), run)
