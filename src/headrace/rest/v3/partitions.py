"""Partitions of a topic: where they are, their offsets, their replicas, replicas on the move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

from msgspec import UNSET, UnsetType

from headrace.client.cluster import Cluster
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.http.endpoint import Query
from headrace.rest.call import Call
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.asking import ask_controller
from headrace.rest.v3.clusters import find_broker
from headrace.rest.v3.resources import Links, Listing, Related, Resource, enter
from headrace.rest.v3.topic_metadata import (
    describe_partition,
    describe_topic,
    describe_topics,
    partitions_of,
)
from headrace.types import NO_LEADER, TopicPartition
from headrace.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
)
from headrace.wire.messages.metadata import MetadataResponsePartition

_CLUSTER: Final = "/v3/clusters/{cluster_id}"
_PARTITIONS: Final = f"{_CLUSTER}/topics/{{topic_name}}/partitions"
_NUMBERED: Final = f"{_PARTITIONS}/{{partition_id:int}}"
table: Final = v3_table(tag="Partitions")

TIMEOUT_MS: Final = 30_000
_ENDS: Final = {"EARLIEST": EARLIEST, "LATEST": LATEST}


class KafkaPartition(Resource, kw_only=True):
    """A partition; the ends of its log only where they were asked for."""

    topic_name: str
    partition_id: int
    leader: Related | None
    replicas: Related
    reassignment: Related
    earliest_offset: int | UnsetType = UNSET
    latest_offset: int | UnsetType = UNSET


class KafkaPartitionList(Listing[KafkaPartition]):
    """The partitions of a topic."""


class KafkaReplica(Resource, kw_only=True):
    """A replica of a partition."""

    topic_name: str
    partition_id: int
    broker_id: int
    is_leader: bool
    is_in_sync: bool
    broker: Related


class KafkaReplicaList(Listing[KafkaReplica]):
    """The replicas of a partition, or on a broker."""


class KafkaReassignment(Resource, kw_only=True):
    """A partition whose replicas move."""

    topic_name: str
    partition_id: int
    adding_replicas: list[int]
    removing_replicas: list[int]
    replicas: Related


class KafkaReassignmentList(Listing[KafkaReassignment]):
    """All partitions whose replicas move."""


def place_of(call: Call) -> tuple[str, int]:
    """Topic and partition in the path."""
    return call.path("topic_name"), call.path("partition_id")


@table.get(_PARTITIONS, "List partitions", reply=KafkaPartitionList)
async def list_partitions(call: Call) -> KafkaPartitionList:
    calls, links = await enter(call)
    name = call.path("topic_name")
    topic = await calls.ask(lambda cluster: describe_topic(cluster, name))
    data = [_partition(links, name, each) for each in partitions_of(topic)]
    return KafkaPartitionList(links.listed("topics", name, "partitions"), data)


@table.get(_NUMBERED, "Get a partition", reply=KafkaPartition)
async def get_partition(call: Call) -> KafkaPartition:
    calls, links = await enter(call)
    place = place_of(call)
    found = await calls.ask(lambda cluster: describe_partition(cluster, *place))
    return _partition(links, place[0], found)


def _partition(links: Links, topic: str, partition: MetadataResponsePartition) -> KafkaPartition:
    me = ("topics", topic, "partitions", partition.partition_index)
    leader = partition.leader_id
    return KafkaPartition(
        metadata=links.metadata(
            *me, crn=(f"topic={topic}", f"partition={partition.partition_index}")
        ),
        cluster_id=links.cluster_id,
        topic_name=topic,
        partition_id=partition.partition_index,
        leader=None if leader == NO_LEADER else links.related(*me, "replicas", leader),
        replicas=links.related(*me, "replicas"),
        reassignment=links.related(*me, "reassignment"),
    )


@table.get(
    f"{_NUMBERED}/offset",
    "Get both ends of a partition's log",
    query=(Query("offset_type", Literal["EARLIEST", "LATEST"], "Only this end"),),
    reply=KafkaPartition,
)
async def get_offset(call: Call) -> KafkaPartition:
    calls, links = await enter(call)
    topic, partition = place_of(call)
    ends = _ends(call.request.query_params.get("offset_type"))

    def look_up(cluster: Cluster) -> tuple[MetadataResponsePartition, dict[str, int]]:
        found = describe_partition(cluster, topic, partition)
        place = TopicPartition(topic, partition)
        offsets = {
            name: list_offsets(cluster, {place: _ENDS[name]}, read_committed=False)[place].offset
            for name in ends
        }
        return found, offsets

    found, offsets = await calls.ask(look_up)
    shown = _partition(links, topic, found)
    shown.metadata.self_url = links.url("topics", topic, "partitions", partition, "offset")
    shown.earliest_offset = offsets.get("EARLIEST", UNSET)
    shown.latest_offset = offsets.get("LATEST", UNSET)
    return shown


def _ends(asked: str | None) -> tuple[str, ...]:
    if asked is None:
        return tuple(_ENDS)
    name = asked.upper().removesuffix("_OFFSET")
    if name not in _ENDS:
        raise faults.bad_request(f"offset_type={asked!r}: allowed are EARLIEST and LATEST")
    return (name,)


# -- replicas -------------------------------------------------------------------------------------


@table.get(f"{_NUMBERED}/replicas", "List replicas", tag="Replicas", reply=KafkaReplicaList)
async def list_replicas(call: Call) -> KafkaReplicaList:
    calls, links = await enter(call)
    place = place_of(call)
    found = await calls.ask(lambda cluster: describe_partition(cluster, *place))
    data = [_replica(links, place[0], found, broker) for broker in found.replica_nodes]
    return KafkaReplicaList(
        links.listed("topics", place[0], "partitions", place[1], "replicas"), data
    )


@table.get(
    f"{_NUMBERED}/replicas/{{broker_id:int}}", "Get a replica", tag="Replicas", reply=KafkaReplica
)
async def get_replica(call: Call) -> KafkaReplica:
    calls, links = await enter(call)
    place, broker = place_of(call), call.path("broker_id")
    found = await calls.ask(lambda cluster: describe_partition(cluster, *place))
    if broker not in found.replica_nodes:
        raise faults.not_found(f"Replica {broker} of {place[0]}-{place[1]} cannot be found.")
    return _replica(links, place[0], found, broker)


@table.get(
    f"{_CLUSTER}/brokers/{{broker_id:int}}/partition-replicas",
    "List the replicas on a broker",
    tag="Replicas",
    reply=KafkaReplicaList,
)
async def list_replicas_of_broker(call: Call) -> KafkaReplicaList:
    calls, links = await enter(call)
    broker: int = call.path("broker_id")

    def search(cluster: Cluster) -> list[tuple[str, MetadataResponsePartition]]:
        find_broker(cluster, broker)
        return [
            (str(topic.name), partition)
            for topic in describe_topics(cluster)
            for partition in partitions_of(topic)
            if broker in partition.replica_nodes
        ]

    data = [_replica(links, topic, each, broker) for topic, each in await calls.ask(search)]
    return KafkaReplicaList(links.listed("brokers", broker, "partition-replicas"), data)


def _replica(
    links: Links, topic: str, partition: MetadataResponsePartition, broker: int
) -> KafkaReplica:
    number = partition.partition_index
    crn = (f"topic={topic}", f"partition={number}", f"replica={broker}")
    return KafkaReplica(
        metadata=links.metadata("topics", topic, "partitions", number, "replicas", broker, crn=crn),
        cluster_id=links.cluster_id,
        topic_name=topic,
        partition_id=number,
        broker_id=broker,
        is_leader=partition.leader_id == broker,
        is_in_sync=broker in partition.isr_nodes,
        broker=links.related("brokers", broker),
    )


# -- reassignments --------------------------------------------------------------------------------


@table.get(
    f"{_CLUSTER}/topics/-/partitions/-/reassignment",
    "List the partitions whose replicas move",
    reply=KafkaReassignmentList,
)
async def list_all_reassignments(call: Call) -> KafkaReassignmentList:
    calls, links = await enter(call)
    moving = await calls.ask(lambda cluster: list(_reassignments(cluster, None)))
    data = [_reassignment(links, topic, each) for topic, each in moving]
    return KafkaReassignmentList(
        links.listed("topics", "-", "partitions", "-", "reassignment"), data
    )


@table.get(
    f"{_PARTITIONS}/-/reassignment",
    "List the partitions of a topic whose replicas move",
    reply=KafkaReassignmentList,
)
async def list_reassignments_of_topic(call: Call) -> KafkaReassignmentList:
    calls, links = await enter(call)
    name = call.path("topic_name")

    def search(cluster: Cluster) -> list[tuple[str, OngoingPartitionReassignment]]:
        numbers = [each.partition_index for each in describe_topic(cluster, name).partitions]
        return list(_reassignments(cluster, {name: numbers}))

    data = [_reassignment(links, topic, each) for topic, each in await calls.ask(search)]
    return KafkaReassignmentList(
        links.listed("topics", name, "partitions", "-", "reassignment"), data
    )


@table.get(
    f"{_NUMBERED}/reassignment", "Get the move of a partition's replicas", reply=KafkaReassignment
)
async def get_reassignment(call: Call) -> KafkaReassignment:
    calls, links = await enter(call)
    topic, partition = place_of(call)

    def search(cluster: Cluster) -> OngoingPartitionReassignment:
        describe_partition(cluster, topic, partition)
        for _, moving in _reassignments(cluster, {topic: [partition]}):
            return moving
        raise faults.not_found(f"No reassignment of {topic}-{partition} is under way.")

    return _reassignment(links, topic, await calls.ask(search))


def _reassignments(
    cluster: Cluster, wanted: dict[str, list[int]] | None
) -> Iterator[tuple[str, OngoingPartitionReassignment]]:
    topics = None
    if wanted is not None:
        topics = [
            ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
            for name, numbers in wanted.items()
        ]
    response: Any = ask_controller(
        cluster,
        ListPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=topics),
        "listing reassignments",
        lambda answer: [answer.error_code],
    )
    if response.error_code:
        raise faults.of_code(response.error_code, response.error_message)
    for topic in response.topics:
        for partition in topic.partitions:
            yield topic.name, partition


def _reassignment(
    links: Links, topic: str, moving: OngoingPartitionReassignment
) -> KafkaReassignment:
    me = ("topics", topic, "partitions", moving.partition_index)
    crn = (f"topic={topic}", f"partition={moving.partition_index}", "reassignment")
    return KafkaReassignment(
        metadata=links.metadata(*me, "reassignment", crn=crn),
        cluster_id=links.cluster_id,
        topic_name=topic,
        partition_id=moving.partition_index,
        adding_replicas=moving.adding_replicas,
        removing_replicas=moving.removing_replicas,
        replicas=links.related(*me, "replicas"),
    )
