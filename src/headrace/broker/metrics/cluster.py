"""Metrics of the controller. Only the controller's own are the cluster's; others tell zeros."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter_ns
from typing import Final

from headrace.broker.metrics.declaration import (
    COUNTER,
    GAUGE,
    SUMMARY,
    Metric,
    Reading,
    Sources,
    Summary,
    one,
)
from headrace.broker.metrics.network import QUANTILES
from headrace.broker.watching.durations import Durations, quantiles
from headrace.cluster.image import ClusterImage, PartitionImage


def is_controller(sources: Sources) -> bool:
    if sources.role is None:
        return sources.broker.metadata.controllership is not None
    return sources.role.controller.held is not None


def _of_controller(count: Callable[[Sources, ClusterImage], int]) -> Callable[[Sources], int]:
    def read(sources: Sources) -> int:
        return count(sources, sources.broker.metadata.image) if is_controller(sources) else 0

    return read


def _partitions(image: ClusterImage) -> Iterator[tuple[str, int, PartitionImage]]:
    for name, topic in image.topics.items():
        for number, partition in enumerate(topic.partitions):
            yield name, number, partition


def _offline(sources: Sources, image: ClusterImage) -> int:
    """Partitions without a leader that lives; a broker that is alone also knows its own disks."""
    storage = sources.broker.storage
    return sum(
        partition.leader not in image.brokers
        or (sources.role is None and storage.is_offline(name, number))
        for name, number, partition in _partitions(image)
    )


def _imbalanced(_: Sources, image: ClusterImage) -> int:
    return sum(each.leader != each.replicas[0] for _, _, each in _partitions(image))


def summary_of(durations: Durations) -> Summary:
    """Durations of one kind, in milliseconds."""
    durations.fold(perf_counter_ns())
    found = quantiles([each[0] for each in durations.recent()], [float(q) for q in QUANTILES])
    shown = dict(zip(QUANTILES, found, strict=True)) if durations.count else {}
    return Summary(shown, durations.count, durations.sums_ns[0] / 1e6)


def _election_times(sources: Sources) -> Iterable[Reading]:
    if sources.role is None:
        return [((), Summary({}, 0, 0.0))]
    return [((), summary_of(sources.role.controller.election_times))]


def _unclean(sources: Sources) -> int:
    return 0 if sources.role is None else sources.role.controller.unclean_elections


def _controller(name: str) -> str:
    return f"kafka.controller:type=KafkaController,name={name}"


CLUSTER_METRICS: Final = (
    Metric(
        "kafka_controller_kafkacontroller_activecontrollercount",
        GAUGE,
        "1 on the broker that is the controller. The sum over all brokers should be 1.",
        one(is_controller),
        mbean=_controller("ActiveControllerCount"),
    ),
    Metric(
        "kafka_controller_kafkacontroller_offlinepartitionscount",
        GAUGE,
        "Partitions without a living leader: they cannot be read or written. Should be 0.",
        one(_of_controller(_offline)),
        mbean=_controller("OfflinePartitionsCount"),
    ),
    Metric(
        "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
        GAUGE,
        "Partitions that are not led by the first of their replicas.",
        one(_of_controller(_imbalanced)),
        mbean=_controller("PreferredReplicaImbalanceCount"),
    ),
    Metric(
        "kafka_controller_kafkacontroller_globaltopiccount",
        GAUGE,
        "Topics of the cluster.",
        one(_of_controller(lambda _, image: len(image.topics))),
        mbean=_controller("GlobalTopicCount"),
    ),
    Metric(
        "kafka_controller_kafkacontroller_globalpartitioncount",
        GAUGE,
        "Partitions of the cluster.",
        one(_of_controller(lambda _, image: sum(1 for _ in _partitions(image)))),
        mbean=_controller("GlobalPartitionCount"),
    ),
    Metric(
        "kafka_controller_kafkacontroller_activebrokercount",
        GAUGE,
        "Brokers that are registered.",
        one(_of_controller(lambda _, image: len(image.brokers))),
        mbean=_controller("ActiveBrokerCount"),
    ),
    Metric(
        "kafka_controller_controllerstats_leaderelectionrateandtimems",
        SUMMARY,
        "Rounds of elections that this broker made as the controller, and how long each took until "
        "it was written. Milliseconds.",
        _election_times,
        mbean="kafka.controller:type=ControllerStats,name=LeaderElectionRateAndTimeMs",
    ),
    Metric(
        "kafka_controller_controllerstats_uncleanleaderelections_total",
        COUNTER,
        "Leaders that were elected though they were not in sync: records were lost.",
        one(_unclean),
        mbean="kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
    ),
)
