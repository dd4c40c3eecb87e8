"""Which labs there are, on which stage each is told, and which exercise of which document it is."""

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
    document: str

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


def _labs(stage: Stage, documents: dict[str, str]) -> list[Lab]:
    return [Lab(module, stage, document) for module, document in documents.items()]


_SLIDES: Final = "slides"
_COURSE: Final = "administration course"
_NOTES: Final = "class notes"
_INTRODUCTION: Final = "introduction"
_BOOK: Final = "book"

LABS: Final[list[Lab]] = [
    *_labs(
        Stage.BROKER,
        {
            "labs.introduction": f"{_COURSE}, lab 1a",
            "labs.single_node": f"{_SLIDES}, lab 1; {_COURSE}, lab 1b",
            "labs.producer_example": f"{_SLIDES}, lab 2",
            "labs.consumer_example": f"{_SLIDES}, lab 3",
            "labs.batch_sizes": f"{_SLIDES}, lab 3, batch sizes",
            "labs.stock.latest_prices": f"{_SLIDES}, labs 6, SimpleStockPriceConsumer",
            "labs.stock.seeking": f"{_SLIDES}, labs 6, SeekTo listener",
            "labs.stock.into_database": f"{_SLIDES}, labs 6, exactly once into a database",
            "labs.stock.thread_per_consumer": f"{_SLIDES}, labs 6, thread per consumer",
            "labs.stock.worker_pool": f"{_SLIDES}, labs 6, worker pool",
            "labs.stock.priority_queue": f"{_SLIDES}, labs 6, priority queue",
            "labs.delivery_semantics": f"{_SLIDES} and {_NOTES}, delivery semantics",
            "labs.null_keys": f"{_COURSE}, lab 1c",
            "labs.explore_log": f"{_COURSE}, lab 4a; {_NOTES}, dump a segment",
            "labs.partitions_and_offsets": f"{_COURSE}, lab 7a",
            "labs.repartition": f"{_COURSE}, repartitioning",
            "labs.performance": f"{_COURSE}, labs 8a and 8b",
            "labs.customers": f"{_NOTES}, consumer group over customers",
            "labs.compaction_use_cases": f"{_SLIDES}, customers; {_COURSE}, uses of compaction",
            "labs.transactions": f"{_COURSE}, transactions demonstration",
            "labs.exactly_once": f"{_COURSE}, uses of exactly-once",
            "labs.food_ordering": f"{_COURSE}, food ordering",
            "labs.driver_positions": f"{_COURSE}, driver-positions",
            "labs.problems.__main__": f"{_COURSE}, problems A to F",
            "labs.event_hub": f"{_SLIDES}, feeds and sinks; event hub",
            "labs.microservices": f"{_SLIDES}, asynchronous microservices",
            "labs.read_models": f"{_SLIDES}, CQRS, replay, commit log",
            "labs.lego": f"{_INTRODUCTION}, Lego demonstration",
        },
    ),
    *_labs(
        Stage.ALONE,
        {
            "labs.configuration": f"{_COURSE}, lab 5a",
            "labs.troubleshooting": f"{_COURSE}, configuration troubleshooting",
            "labs.sizing": f"{_COURSE}, broker sizing",
            "labs.serialization": f"{_BOOK}, serialization choice",
            "cluster.three_brokers": f"{_SLIDES}, lab 1.2; {_NOTES}, three brokers on one host",
        },
    ),
    *_labs(
        Stage.PLATFORM,
        {
            "labs.hello_world": f"{_INTRODUCTION}, Hello World",
            "labs.rereading": f"{_INTRODUCTION}, re-reading and manual commits",
            "labs.cards": f"{_INTRODUCTION}, card program",
            "labs.employees": f"{_SLIDES}, lab 7.2",
            "labs.registry_walk": f"{_SLIDES}, Schema Registry walk-through",
            "labs.protobuf_messages": f"{_SLIDES}, Protobuf lab",
            "labs.conversion_layer": f"{_BOOK}, format-conversion layer",
        },
    ),
    *_labs(
        Stage.CLUSTER,
        {
            "labs.stock.producing": f"{_SLIDES}, stock application, labs 5.1 to 5.8",
            "labs.replica_check": f"{_SLIDES}, lab 2, replica verification",
            "labs.customers_replicated": f"{_NOTES}, customers-new",
            "labs.zookeeper_watch": f"{_NOTES}, ZooKeeper watch",
            "labs.isr_lag": f"{_NOTES}, lag of in-sync replicas",
            "labs.replica_placement": f"{_COURSE}, replica placement",
            "cluster.failover": f"{_SLIDES}, lab 1.2, failover",
            "cluster.more_replicas": f"{_COURSE}, lab 5b",
            "cluster.decommission": f"{_COURSE}, lab 6a",
            "cluster.replace_broker": f"{_COURSE}, replacing a failed broker",
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
