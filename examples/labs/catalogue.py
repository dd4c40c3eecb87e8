"""Which labs there are, on which stage each is told, and what it shows."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from typing import Any, Final, NamedTuple


class Stage(StrEnum):
    """What must be there before a story can be told."""

    ALONE = "its own"
    BROKER = "a broker"
    PLATFORM = "a broker, registry, REST"
    CLUSTER = "three brokers"


class Lab(NamedTuple):
    """One lab: a module below `examples`, told on a stage."""

    module: str
    stage: Stage
    shows: str

    @property
    def name(self) -> str:
        return self.module.removeprefix("labs.").removesuffix(".__main__")

    @property
    def command(self) -> str:
        return f"python -m examples.{self.module.removesuffix('.__main__')}"

    def story(self) -> Callable[..., None]:
        found = import_module(f"examples.{self.module}")
        told: Callable[..., None] = getattr(found, "story", None) or found.main
        return told


def _labs(stage: Stage, labs: dict[str, str]) -> list[Lab]:
    return [Lab(module, stage, shows) for module, shows in labs.items()]


LABS: Final[list[Lab]] = [
    *_labs(
        Stage.BROKER,
        {
            "labs.introduction": "what a cluster says of itself, and a first message",
            "labs.single_node": "seven messages, 13 partitions; one partition keeps the order",
            "labs.producer_example": "synchronous and asynchronous sends; where keys go",
            "labs.consumer_example": "25 records split 10 + 7 + 8 in a group; all of them alone",
            "labs.batch_sizes": "how many records a poll returns",
            "labs.stock.latest_prices": "a map of the newest prices",
            "labs.stock.seeking": "start, end, an offset: where a consumer begins",
            "labs.stock.into_database": "price and offset in one SQLite transaction, with crashes",
            "labs.stock.thread_per_consumer": "five consumers in five threads, two of them idle",
            "labs.stock.worker_pool": "workers that finish out of order, commits without gaps",
            "labs.stock.priority_queue": "a partition that overtakes the others",
            "labs.delivery_semantics": "a crash in the worst place: repeated, lost, neither",
            "labs.null_keys": "sticky, round robin, by key",
            "labs.explore_log": "every file of a partition, the checkpoints, a dump of a segment",
            "labs.partitions_and_offsets": "more partitions, keys that move, a group's lag",
            "labs.repartition": "a copy that keeps the order of each key",
            "labs.performance": "requests, batches, codecs, measured with Kafka's tools",
            "labs.customers": "12,434 customers, the range assignor, idle members",
            "labs.compaction_use_cases": "changelog of a database, lookups, temperatures, orders",
            "labs.transactions": "fencing, one commit for records and offsets",
            "labs.exactly_once": "bills, transfers, stock, while the processor dies",
            "labs.food_ordering": "orders, menus, customers, restaurants; kitchens and stock",
            "labs.driver_positions": "one consumer, a group, several groups",
            "labs.problems.__main__": "six problems, their answers tried out",
            "labs.event_hub": "four feeds, six sinks; a nightly report and a live one",
            "labs.microservices": "services that call no one; one is away and catches up",
            "labs.read_models": "a new view built from the first event; state rebuilt",
            "labs.lego": "topics, publish and subscribe, partitions, the log, compaction",
        },
    ),
    *_labs(
        Stage.ALONE,
        {
            "labs.configuration": "five levels of a setting, tried out with the size of a message",
            "labs.troubleshooting": "five reasons why a segment does not roll",
            "labs.sizing": "replicas, brokers, threads for 12 disks and 24 cores",
            "labs.serialization": "the same orders in JSON, Avro and Protobuf: bytes and CPU",
            "cluster.three_brokers": "three server.properties; a group shares, others get all",
        },
    ),
    *_labs(
        Stage.PLATFORM,
        {
            "labs.hello_world": "a client library and HTTP",
            "labs.rereading": "a new group each time; commits by hand; the same over HTTP",
            "labs.cards": "Avro keys and values from a client and over HTTP",
            "labs.employees": "a schema that grows, and readers of both versions",
            "labs.registry_walk": "every resource of the registry, and a refusal",
            "labs.protobuf_messages": "with the generated class and without it",
            "labs.conversion_layer": "XML, JSON and Avro in, one format out, errors returned",
        },
    ),
    *_labs(
        Stage.CLUSTER,
        {
            "labs.stock.producing": "interceptor, partitioner, batches, retries, metrics",
            "labs.replica_check": "the lag of replicas, 0, 11, 15, 0",
            "labs.customers_replicated": "three brokers, one replica and three",
            "labs.zookeeper_watch": "a watch tells of a stopped broker; another controller",
            "labs.isr_lag": "both followers lag: reads go on, acks=all is rejected",
            "labs.replica_placement": "four replicas on five brokers; the loss of a leader",
            "cluster.failover": "a broker is killed, a consumer goes",
            "cluster.more_replicas": "the replication factor is raised",
            "cluster.decommission": "administrative tools: reassignment and controlled shutdown",
            "cluster.replace_broker": "a new machine under the same id",
        },
    ),
]


def find(name: str) -> Lab | None:
    return next((lab for lab in LABS if name in (lab.name, lab.module)), None)


def on_stage(lab: Lab, stage: Any) -> None:
    """Tell the story."""
    story = lab.story()
    if lab.stage is Stage.ALONE:
        story()
    else:
        story(stage)
