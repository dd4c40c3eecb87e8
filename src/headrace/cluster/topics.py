"""Decisions about topics: creating, deleting and growing them.

Each function reads the image and the request and returns the change, or raises the fault that the
client is answered with. Chance and identity come in as arguments, so that a test knows the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from headrace.cluster.config_changes import check_topic_configs
from headrace.cluster.image import (
    ClusterImage,
    PartitionImage,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
    TopicImage,
)
from headrace.cluster.placement import Chance, assign_replicas
from headrace.cluster.topic_names import check_name
from headrace.errors import ClientFault, Error
from headrace.types import ZERO_UUID

BROKER_DEFAULT: Final = -1
MAX_PARTITIONS_PER_REQUEST: Final = 10_000

# Kafka never uses these: the first is "no id", the second names its metadata topic.
_RESERVED_IDS: Final = frozenset({ZERO_UUID, UUID(int=1)})


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic as a client asks for it: either counts or `assignments` of (partition, replicas)."""

    name: str
    num_partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    """The broker's `num.partitions` and `default.replication.factor`."""

    num_partitions: int = 1
    replication_factor: int = 1


def create_topic(
    image: ClusterImage,
    request: NewTopic,
    defaults: TopicDefaults,
    *,
    chance: Chance,
    new_id: Callable[[], UUID],
) -> TopicCreated:
    """CreateTopics for one topic. Asking only for validation means not using the change."""
    check_name(request.name)
    if request.name in image.topics:
        raise ClientFault(Error.TOPIC_ALREADY_EXISTS, f"Topic '{request.name}' already exists.")
    other = image.colliding_topic(request.name)
    if other is not None:
        raise ClientFault(
            Error.INVALID_TOPIC_EXCEPTION,
            f"Topic '{request.name}' collides with the existing topic '{other}': '.' and '_' "
            "are the same in metric names.",
        )
    replicas = (
        _manual_assignment(image, request)
        if request.assignments
        else _automatic_assignment(image, request, defaults, chance)
    )
    configs = check_topic_configs(request.configs)
    topic_id = new_id()
    while topic_id in _RESERVED_IDS or topic_id in image.topic_names:
        topic_id = new_id()
    partitions = [_new_partition(brokers) for brokers in replicas]
    return TopicCreated(TopicImage(request.name, topic_id, partitions), configs)


def delete_topic(
    image: ClusterImage,
    *,
    name: str | None = None,
    topic_id: UUID = ZERO_UUID,
    deletion_enabled: bool = True,
) -> TopicDeleted:
    """DeleteTopics for one topic, named either by its name or by its id."""
    if (name is None) == (topic_id == ZERO_UUID):
        raise ClientFault(
            Error.INVALID_REQUEST, "Give either the name or the id of the topic to delete."
        )
    if not deletion_enabled:
        raise ClientFault(
            Error.TOPIC_DELETION_DISABLED, "Topic deletion is disabled by delete.topic.enable."
        )
    if name is None:
        name = image.topic_names.get(topic_id)
        if name is None:
            raise ClientFault(Error.UNKNOWN_TOPIC_ID, "There is no topic with this id.")
    topic = image.topics.get(name)
    if topic is None:
        raise ClientFault(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    return TopicDeleted(topic)


def create_partitions(
    image: ClusterImage,
    name: str,
    count: int,
    assignments: Sequence[Sequence[int]] | None = None,
) -> PartitionsAdded:
    """CreatePartitions for one topic: `count` is the number that the topic has afterwards.

    Replicas that nobody assigned go on where partition 0 began, so that the round stays even. A
    topic on the move gets as many as it will have.
    """
    topic = image.topics.get(name)
    if topic is None:
        raise ClientFault(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    existing = len(topic.partitions)
    if count == existing:
        raise ClientFault(
            Error.INVALID_PARTITIONS, f"Topic '{name}' already has {existing} partition(s)."
        )
    if count < existing:
        raise ClientFault(
            Error.INVALID_PARTITIONS,
            f"The topic '{name}' currently has {existing} partition(s); {count} would not be "
            "an increase.",
        )
    added = count - existing
    _check_size(added)
    first = topic.partitions[0].target
    if assignments is None:
        racks = image.placeable_racks()
        start = sum(broker < first[0] for broker in racks) % max(len(racks), 1)
        replicas: Sequence[Sequence[int]] = assign_replicas(
            racks,
            added,
            len(first),
            start_index=start,
            shift=start,
            first_partition=existing,
        )
    else:
        if len(assignments) != added:
            raise ClientFault(
                Error.INVALID_REPLICA_ASSIGNMENT,
                f"{added} partition(s) are to be added, but {len(assignments)} assignment(s) "
                "were given.",
            )
        for brokers in assignments:
            check_replicas(image, brokers, len(first))
        replicas = assignments
    partitions = [*topic.partitions, *(_new_partition(brokers) for brokers in replicas)]
    grown = replace(topic, partitions=partitions, version=topic.version + 1)
    return PartitionsAdded(grown, existing)


def _manual_assignment(image: ClusterImage, request: NewTopic) -> Sequence[Sequence[int]]:
    for value, what in (
        (request.replication_factor, "replication factor"),
        (request.num_partitions, "number of partitions"),
    ):
        if value != BROKER_DEFAULT:
            raise ClientFault(
                Error.INVALID_REQUEST,
                f"Replicas were assigned by hand, so the {what} must be -1 and not {value}.",
            )
    _check_size(len(request.assignments))
    by_partition: dict[int, Sequence[int]] = {}
    size = None
    for partition, replicas in request.assignments:
        if partition in by_partition:
            raise ClientFault(
                Error.INVALID_REPLICA_ASSIGNMENT, f"Partition {partition} is assigned twice."
            )
        check_replicas(image, replicas, size)
        size = len(replicas)
        by_partition[partition] = replicas
    if sorted(by_partition) != list(range(len(by_partition))):
        raise ClientFault(
            Error.INVALID_REPLICA_ASSIGNMENT,
            "Partitions must be numbered from 0 without a gap, not "
            + ", ".join(str(partition) for partition in sorted(by_partition)),
        )
    return [by_partition[partition] for partition in range(len(by_partition))]


def _automatic_assignment(
    image: ClusterImage, request: NewTopic, defaults: TopicDefaults, chance: Chance
) -> Sequence[Sequence[int]]:
    partitions, factor = request.num_partitions, request.replication_factor
    if factor == BROKER_DEFAULT:
        factor = defaults.replication_factor
    if partitions == BROKER_DEFAULT:
        partitions = defaults.num_partitions
    if factor <= 0:
        raise ClientFault(
            Error.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 for the broker's default.",
        )
    if partitions <= 0:
        raise ClientFault(
            Error.INVALID_PARTITIONS,
            "Number of partitions must be larger than 0, or -1 for the broker's default.",
        )
    _check_size(partitions)
    racks = image.placeable_racks()
    brokers = max(len(racks), 1)
    return assign_replicas(
        racks,
        partitions,
        factor,
        start_index=chance.randrange(brokers),
        shift=chance.randrange(brokers),
    )


def _check_size(partitions: int) -> None:
    if partitions > MAX_PARTITIONS_PER_REQUEST:
        raise ClientFault(
            Error.POLICY_VIOLATION,
            f"{partitions} partitions in one request; at most {MAX_PARTITIONS_PER_REQUEST} are "
            "allowed.",
        )


def check_replicas(image: ClusterImage, replicas: Sequence[int], size: int | None = None) -> None:
    """Refuse replicas of one partition that cannot be, or are not as many as the others have."""
    if not replicas:
        raise ClientFault(Error.INVALID_REPLICA_ASSIGNMENT, "A partition has no replicas assigned.")
    if len(set(replicas)) != len(replicas):
        raise ClientFault(
            Error.INVALID_REPLICA_ASSIGNMENT,
            f"The replicas {list(replicas)} name a broker more than once.",
        )
    for broker in replicas:
        if broker not in image.brokers:
            raise ClientFault(
                Error.INVALID_REPLICA_ASSIGNMENT,
                f"The replicas {list(replicas)} name broker {broker}, which is not registered.",
            )
        if image.is_cordoned(broker):
            raise ClientFault(
                Error.INVALID_REPLICA_ASSIGNMENT,
                f"The replicas {list(replicas)} name broker {broker}, all of whose log directories "
                "are cordoned: change its cordoned.log.dirs.",
            )
    if size is not None and len(replicas) != size:
        raise ClientFault(
            Error.INVALID_REPLICA_ASSIGNMENT,
            f"A partition has {len(replicas)} replica(s), the ones before it have {size}.",
        )


def _new_partition(replicas: Sequence[int]) -> PartitionImage:
    """All replicas of an empty partition are in sync, and the preferred one leads."""
    return PartitionImage(tuple(replicas), isr=tuple(replicas), leader=replicas[0])
