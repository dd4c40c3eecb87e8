"""cluster: three brokers, replication factor 3, acks=all, loaded by Kafka's ProducerPerformance;
the CPU time and the memory of everything that makes up the cluster, ZooKeeper included.

The two clusters never run side by side: six brokers would fight for the cores that the load needs.
So each repetition starts ours, measures, ends it, and does the same with Apache Kafka's. Memory is
taken after the load, and a page that several processes share counts once (PSS).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from benchmarks import admin
from benchmarks.bench import Bench, Scenario
from benchmarks.clusters import Cluster
from benchmarks.table import Metric, Row, at_least, at_most

_PARTITIONS = 6
_FACTOR = 3
_WARM_UP = ((100, 1_000_000), (1024, 300_000))  # at every scale: a JVM compiles as it goes
_BIG_BATCHES = ("batch.size=262144", "linger.ms=5")


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of load."""

    record_size: int
    records: int
    batches: str = "default batches"
    properties: tuple[str, ...] = ()

    @property
    def row(self) -> Row:
        rate = at_least(1.0 if self.properties else 0.8)
        return Row(
            "cluster",
            f"{self.record_size} B, {_PARTITIONS} p, {self.batches}",
            (
                Metric("records", "1/s", rate),
                Metric("cluster cpu", "s per million", at_most(1.0)),
            ),
        )


SHAPES = tuple(
    Shape(record_size, records, *batches)
    for record_size, records in ((1024, 1_000_000), (100, 5_000_000))
    for batches in (("256 KiB", _BIG_BATCHES), ())
)
MEMORY = Row("cluster", "memory after load", (Metric("pss", "MiB", at_most(0.4)),))


def run(bench: Bench, wanted: Collection[str]) -> None:
    for _ in bench.repetitions:
        for launcher in bench.launchers:
            with bench.cluster(launcher, {}) as cluster:
                for size, records in _WARM_UP:
                    bench.say(f"warming {cluster.name} up: {records:,} records of {size} B")
                    _load(bench, cluster, "warm", records, size, ())
                for shape in SHAPES:
                    _measure(bench, cluster, shape)
                bench.record(MEMORY, cluster.name, {"pss": cluster.pss_mib()})


def _measure(bench: Bench, cluster: Cluster, shape: Shape) -> None:
    bench.settle()
    records = bench.scaled(shape.records, at_least=10_000)
    sample = _load(bench, cluster, "load", records, shape.record_size, shape.properties)
    bench.record(shape.row, cluster.name, sample)


def _load(
    bench: Bench,
    cluster: Cluster,
    prefix: str,
    records: int,
    record_size: int,
    properties: tuple[str, ...],
) -> dict[str, float]:
    topic = admin.fresh_name(prefix)
    admin.create_topics(cluster, [topic], _PARTITIONS, replication_factor=_FACTOR)
    loaded = bench.java.produce(cluster, topic, records, record_size, properties)
    admin.delete_topics(cluster, [topic])
    return {"records": loaded.per_s, "cluster cpu": loaded.cpu_s_per(1_000_000)}


SCENARIO = Scenario((*(shape.row for shape in SHAPES), MEMORY), run)
