"""Partitions of a topic: where they are, their offsets, their replicas, replicas on the move."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import UNSET, UnsetType

from headrace.admin.client import Admin
from headrace.admin.records import offsets_at
from headrace.admin.views import PartitionView, Reassignment
from headrace.client.offsets import EARLIEST, LATEST
from headrace.http.endpoint import Query
from headrace.rest.call import Call
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.clusters import find_broker
from headrace.rest.v3.resources import Links, Listing, Related, Resource, enter
from headrace.types import TopicPartition

_CLUSTER: Final = "/v3/clusters/{cluster_id}"
_PARTITIONS: Final = f"{_CLUSTER}/topics/{{topic_name}}/partitions"
_NUMBERED: Final = f"{_PARTITIONS}/{{partition_id:int}}"
table: Final = v3_table(tag="Partitions")

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


def place_of(call: Call) -> TopicPartition:
    """Topic and partition in the path."""
    return TopicPartition(call.path("topic_name"), call.path("partition_id"))


@table.get(_PARTITIONS, "List partitions", reply=KafkaPartitionList)
async def list_partitions(call: Call) -> KafkaPartitionList:
    calls, links = await enter(call)
    name = call.path("topic_name")
    topic = await calls.ask(lambda admin: admin.topic(name))
    data = [_partition(links, name, each) for each in topic.partitions]
    return KafkaPartitionList(links.listed("topics", name, "partitions"), data)


@table.get(_NUMBERED, "Get a partition", reply=KafkaPartition)
async def get_partition(call: Call) -> KafkaPartition:
    calls, links = await enter(call)
    place = place_of(call)
    found = await calls.ask(lambda admin: admin.partition(place))
    return _partition(links, place[0], found)


def _partition(links: Links, topic: str, partition: PartitionView) -> KafkaPartition:
    me = ("topics", topic, "partitions", partition.number)
    leader = partition.leader
    return KafkaPartition(
        metadata=links.metadata(*me, crn=(f"topic={topic}", f"partition={partition.number}")),
        cluster_id=links.cluster_id,
        topic_name=topic,
        partition_id=partition.number,
        leader=None if leader is None else links.related(*me, "replicas", leader),
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
    place = place_of(call)
    ends = _ends(call.request.query_params.get("offset_type"))

    def look_up(admin: Admin) -> tuple[PartitionView, dict[str, int]]:
        found = admin.partition(place)
        return found, {name: offsets_at(admin, [place], _ENDS[name])[place].offset for name in ends}

    found, offsets = await calls.ask(look_up)
    shown = _partition(links, place.topic, found)
    shown.metadata.self_url = links.url(
        "topics", place.topic, "partitions", place.partition, "offset"
    )
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
    found = await calls.ask(lambda admin: admin.partition(place))
    data = [_replica(links, place[0], found, broker) for broker in found.replicas]
    return KafkaReplicaList(
        links.listed("topics", place[0], "partitions", place[1], "replicas"), data
    )


@table.get(
    f"{_NUMBERED}/replicas/{{broker_id:int}}", "Get a replica", tag="Replicas", reply=KafkaReplica
)
async def get_replica(call: Call) -> KafkaReplica:
    calls, links = await enter(call)
    place, broker = place_of(call), call.path("broker_id")
    found = await calls.ask(lambda admin: admin.partition(place))
    if broker not in found.replicas:
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

    def search(admin: Admin) -> list[tuple[str, PartitionView]]:
        find_broker(admin, broker)
        return [
            (topic.name, partition)
            for topic in admin.topics()
            for partition in topic.partitions
            if broker in partition.replicas
        ]

    data = [_replica(links, topic, each, broker) for topic, each in await calls.ask(search)]
    return KafkaReplicaList(links.listed("brokers", broker, "partition-replicas"), data)


def _replica(links: Links, topic: str, partition: PartitionView, broker: int) -> KafkaReplica:
    number = partition.number
    crn = (f"topic={topic}", f"partition={number}", f"replica={broker}")
    return KafkaReplica(
        metadata=links.metadata("topics", topic, "partitions", number, "replicas", broker, crn=crn),
        cluster_id=links.cluster_id,
        topic_name=topic,
        partition_id=number,
        broker_id=broker,
        is_leader=partition.leader == broker,
        is_in_sync=broker in partition.isr,
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
    moving = await calls.ask(Admin.reassignments)
    data = [_reassignment(links, place, each) for place, each in moving.items()]
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

    def search(admin: Admin) -> dict[TopicPartition, Reassignment]:
        partitions = admin.topic(name).partitions
        return admin.reassignments([TopicPartition(name, each.number) for each in partitions])

    moving = await calls.ask(search)
    data = [_reassignment(links, place, each) for place, each in moving.items()]
    return KafkaReassignmentList(
        links.listed("topics", name, "partitions", "-", "reassignment"), data
    )


@table.get(
    f"{_NUMBERED}/reassignment", "Get the move of a partition's replicas", reply=KafkaReassignment
)
async def get_reassignment(call: Call) -> KafkaReassignment:
    calls, links = await enter(call)
    place = place_of(call)

    def search(admin: Admin) -> Reassignment:
        admin.partition(place)
        moving = admin.reassignments([place])
        if place not in moving:
            raise faults.not_found(f"No reassignment of {place} is under way.")
        return moving[place]

    return _reassignment(links, place, await calls.ask(search))


def _reassignment(links: Links, place: TopicPartition, moving: Reassignment) -> KafkaReassignment:
    topic, number = place
    me = ("topics", topic, "partitions", number)
    crn = (f"topic={topic}", f"partition={number}", "reassignment")
    return KafkaReassignment(
        metadata=links.metadata(*me, "reassignment", crn=crn),
        cluster_id=links.cluster_id,
        topic_name=topic,
        partition_id=number,
        adding_replicas=list(moving.adding),
        removing_replicas=list(moving.removing),
        replicas=links.related(*me, "replicas"),
    )
