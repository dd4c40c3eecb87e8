"""produce: Kafka's ProducerPerformance at full speed, acks=all, in nine shapes of load.
consume: the same topics read back by assigned consumers.

A topic is read directly after it was written, so both brokers serve it from the page cache.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from benchmarks import admin
from benchmarks.bench import Bench, Pair, Scenario
from benchmarks.brokers import Broker
from benchmarks.table import Metric, Row, Sample, Target, at_least, at_most

_WARM_UP_RECORDS = 1_000_000
# What a repetition wrote is removed at once, by both. A virtual machine that has given free memory
# back gets it anew at the first touch, for several times the price of writing to it: by default
# files stay for a minute, every repetition would write to such memory, and that price would be
# most of what is measured.
_SETTINGS = {"log.segment.delete.delay.ms": "500"}
_BIG_BATCHES = ("batch.size=262144", "linger.ms=5")


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of load."""

    record_size: int
    records: int
    partitions: int
    batches: str = "default batches"
    properties: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.record_size} B, {self.partitions} p, {self.batches}"

    @property
    def produce(self) -> Row:
        cpu = at_most(0.5 if self.properties else 0.8)
        return Row("produce", self.label, _metrics(cpu))

    @property
    def consume(self) -> Row:
        return Row("consume", self.label, _metrics(at_most(1.2)))


def _metrics(cpu: Target) -> tuple[Metric, ...]:
    return (
        Metric("records", "1/s", at_least(1.0)),
        Metric("broker cpu", "s per million", cpu),
    )


SHAPES = (
    *(
        Shape(record_size, records, partitions, *batches)
        for record_size, records in ((100, 5_000_000), (1024, 1_000_000))
        for partitions in (1, 6)
        for batches in ((), ("256 KiB", _BIG_BATCHES))
    ),
    Shape(1024, 1_000_000, 6, "256 KiB lz4", (*_BIG_BATCHES, "compression.type=lz4")),
)


def run(bench: Bench, wanted: Collection[str]) -> None:
    with bench.pair(_SETTINGS) as pair:
        _warm_up(bench, pair)
        for shape in SHAPES:
            topics = _produce(bench, pair, shape, measured="produce" in wanted)
            if "consume" in wanted:
                _consume(bench, pair, shape, topics)
            for broker, topic in topics.items():
                admin.delete_topics(broker, [topic])


def _warm_up(bench: Bench, pair: Pair) -> None:
    """A JVM compiles itself while it is used: both brokers serve some load before the first one."""
    for broker in pair:
        bench.say(f"warming {broker.name} up")
        topic = admin.fresh_name("warm")
        admin.create_topics(broker, [topic], partitions=6)
        bench.java.produce(broker, topic, _WARM_UP_RECORDS, 100, ())
        bench.java.consume(broker, topic, _WARM_UP_RECORDS)
        admin.delete_topics(broker, [topic])


def _produce(bench: Bench, pair: Pair, shape: Shape, *, measured: bool) -> dict[Broker, str]:
    """Write the topic on both brokers; the last repetition's topics stay, to be read."""
    topics: dict[Broker, str] = {}
    records = _records(bench, shape)

    def measure(broker: Broker) -> Sample:
        if broker in topics:
            admin.delete_topics(broker, [topics[broker]])
        topics[broker] = topic = admin.fresh_name("load")
        admin.create_topics(broker, [topic], shape.partitions)
        loaded = bench.java.produce(broker, topic, records, shape.record_size, shape.properties)
        return {"records": loaded.per_s, "broker cpu": loaded.cpu_s_per(1_000_000)}

    if measured:
        bench.alternate(pair, shape.produce, measure)
    else:
        for broker in pair:
            bench.say(f"filling a topic of {broker.name}: {shape.label}")
            measure(broker)
    return topics


def _consume(bench: Bench, pair: Pair, shape: Shape, topics: dict[Broker, str]) -> None:
    def measure(broker: Broker) -> Sample:
        loaded = bench.java.consume(broker, topics[broker], _records(bench, shape))
        return {"records": loaded.per_s, "broker cpu": loaded.cpu_s_per(1_000_000)}

    bench.alternate(pair, shape.consume, measure)


def _records(bench: Bench, shape: Shape) -> int:
    return bench.scaled(shape.records, at_least=10_000)


SCENARIO = Scenario(
    (*(shape.produce for shape in SHAPES), *(shape.consume for shape in SHAPES)), run
)
