"""Partitions of a topic: where they are, their offsets, their replicas, replicas on the move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from headrace.client.cluster import Cluster
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.rest.openapi import Endpoint, Parameter
from headrace.rest.v3 import faults, schemas
from headrace.rest.v3.access import enter
from headrace.rest.v3.asking import ask_controller
from headrace.rest.v3.clusters import find_broker
from headrace.rest.v3.resources import Body, Links, listing, reply
from headrace.rest.v3.topic_metadata import (
    describe_partition,
    describe_topic,
    describe_topics,
    partitions_of,
)
from headrace.types import TopicPartition
from headrace.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
)
from headrace.wire.messages.metadata import MetadataResponsePartition

TIMEOUT_MS: Final = 30_000
_NO_LEADER: Final = -1
_ENDS: Final = {"EARLIEST": EARLIEST, "LATEST": LATEST}


def place_of(request: Request) -> tuple[str, int]:
    """Topic and partition in the path."""
    partition: int = request.path_params["partition_id"]
    return request.path_params["topic_name"], partition


async def list_partitions(request: Request) -> Response:
    calls, links = await enter(request)
    name = request.path_params["topic_name"]
    topic = await calls.ask(lambda cluster: describe_topic(cluster, name))
    data = [_partition(links, name, each) for each in partitions_of(topic)]
    return reply(listing("KafkaPartitionList", links.url("topics", name, "partitions"), data))


async def get_partition(request: Request) -> Response:
    calls, links = await enter(request)
    place = place_of(request)
    found = await calls.ask(lambda cluster: describe_partition(cluster, *place))
    return reply(_partition(links, place[0], found))


def _partition(links: Links, topic: str, partition: MetadataResponsePartition) -> Body:
    me = ("topics", topic, "partitions", partition.partition_index)
    leader = partition.leader_id
    return links.resource(
        "KafkaPartition",
        links.url(*me),
        links.crn(f"topic={topic}", f"partition={partition.partition_index}"),
        topic_name=topic,
        partition_id=partition.partition_index,
        leader=None if leader == _NO_LEADER else links.related(*me, "replicas", leader),
        replicas=links.related(*me, "replicas"),
        reassignment=links.related(*me, "reassignment"),
    )


async def get_offset(request: Request) -> Response:
    calls, links = await enter(request)
    topic, partition = place_of(request)
    asked = request.query_params.get("offset_type")
    ends = _ends(asked)

    def look_up(cluster: Cluster) -> tuple[MetadataResponsePartition, dict[str, int]]:
        found = describe_partition(cluster, topic, partition)
        place = TopicPartition(topic, partition)
        offsets = {
            name: list_offsets(cluster, {place: _ENDS[name]}, read_committed=False)[place].offset
            for name in ends
        }
        return found, offsets

    found, offsets = await calls.ask(look_up)
    body = _partition(links, topic, found)
    body["metadata"]["self"] = links.url("topics", topic, "partitions", partition, "offset")
    body |= {f"{name.lower()}_offset": offset for name, offset in offsets.items()}
    return reply(body)


def _ends(asked: str | None) -> tuple[str, ...]:
    if asked is None:
        return tuple(_ENDS)
    name = asked.upper().removesuffix("_OFFSET")
    if name not in _ENDS:
        raise faults.bad_request(f"offset_type={asked!r}: allowed are EARLIEST and LATEST")
    return (name,)


# -- replicas -------------------------------------------------------------------------------------


async def list_replicas(request: Request) -> Response:
    calls, links = await enter(request)
    place = place_of(request)
    found = await calls.ask(lambda cluster: describe_partition(cluster, *place))
    data = [_replica(links, place[0], found, broker) for broker in found.replica_nodes]
    self_url = links.url("topics", place[0], "partitions", place[1], "replicas")
    return reply(listing("KafkaReplicaList", self_url, data))


async def get_replica(request: Request) -> Response:
    calls, links = await enter(request)
    place, broker = place_of(request), request.path_params["broker_id"]
    found = await calls.ask(lambda cluster: describe_partition(cluster, *place))
    if broker not in found.replica_nodes:
        raise faults.not_found(f"Replica {broker} of {place[0]}-{place[1]} cannot be found.")
    return reply(_replica(links, place[0], found, broker))


async def list_replicas_of_broker(request: Request) -> Response:
    calls, links = await enter(request)
    broker: int = request.path_params["broker_id"]

    def search(cluster: Cluster) -> list[tuple[str, MetadataResponsePartition]]:
        find_broker(cluster, broker)
        return [
            (str(topic.name), partition)
            for topic in describe_topics(cluster)
            for partition in partitions_of(topic)
            if broker in partition.replica_nodes
        ]

    data = [_replica(links, topic, each, broker) for topic, each in await calls.ask(search)]
    self_url = links.url("brokers", broker, "partition-replicas")
    return reply(listing("KafkaReplicaList", self_url, data))


def _replica(links: Links, topic: str, partition: MetadataResponsePartition, broker: int) -> Body:
    number = partition.partition_index
    return links.resource(
        "KafkaReplica",
        links.url("topics", topic, "partitions", number, "replicas", broker),
        links.crn(f"topic={topic}", f"partition={number}", f"replica={broker}"),
        topic_name=topic,
        partition_id=number,
        broker_id=broker,
        is_leader=partition.leader_id == broker,
        is_in_sync=broker in partition.isr_nodes,
        broker=links.related("brokers", broker),
    )


# -- reassignments --------------------------------------------------------------------------------


async def list_all_reassignments(request: Request) -> Response:
    calls, links = await enter(request)
    moving = await calls.ask(lambda cluster: list(_reassignments(cluster, None)))
    data = [_reassignment(links, topic, each) for topic, each in moving]
    self_url = links.url("topics", "-", "partitions", "-", "reassignment")
    return reply(listing("KafkaReassignmentList", self_url, data))


async def list_reassignments_of_topic(request: Request) -> Response:
    calls, links = await enter(request)
    name = request.path_params["topic_name"]

    def search(cluster: Cluster) -> list[tuple[str, OngoingPartitionReassignment]]:
        numbers = [each.partition_index for each in describe_topic(cluster, name).partitions]
        return list(_reassignments(cluster, {name: numbers}))

    data = [_reassignment(links, topic, each) for topic, each in await calls.ask(search)]
    self_url = links.url("topics", name, "partitions", "-", "reassignment")
    return reply(listing("KafkaReassignmentList", self_url, data))


async def get_reassignment(request: Request) -> Response:
    calls, links = await enter(request)
    topic, partition = place_of(request)

    def search(cluster: Cluster) -> OngoingPartitionReassignment:
        describe_partition(cluster, topic, partition)
        for _, moving in _reassignments(cluster, {topic: [partition]}):
            return moving
        raise faults.not_found(f"No reassignment of {topic}-{partition} is under way.")

    return reply(_reassignment(links, topic, await calls.ask(search)))


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


def _reassignment(links: Links, topic: str, moving: OngoingPartitionReassignment) -> Body:
    me = ("topics", topic, "partitions", moving.partition_index)
    return links.resource(
        "KafkaReassignment",
        links.url(*me, "reassignment"),
        links.crn(f"topic={topic}", f"partition={moving.partition_index}", "reassignment"),
        topic_name=topic,
        partition_id=moving.partition_index,
        adding_replicas=moving.adding_replicas,
        removing_replicas=moving.removing_replicas,
        replicas=links.related(*me, "replicas"),
    )


_CLUSTER: Final = "/v3/clusters/{cluster_id}"
_PARTITIONS: Final = f"{_CLUSTER}/topics/{{topic_name}}/partitions"
_NUMBERED: Final = f"{_PARTITIONS}/{{partition_id:int}}"
_WITH_OFFSETS: Final = {
    **schemas.PARTITION,
    "properties": {
        **schemas.PARTITION["properties"],
        "earliest_offset": schemas.INTEGER,
        "latest_offset": schemas.INTEGER,
    },
}


def _get(path: str, handler: Any, summary: str, schema: dict[str, Any], tag: str) -> Endpoint:
    return Endpoint(path, "GET", handler, summary, tag, responses={200: schema}, errors=(400, 404))


ENDPOINTS: Final = (
    _get(
        f"{_CLUSTER}/topics/-/partitions/-/reassignment",
        list_all_reassignments,
        "List the partitions whose replicas move",
        schemas.listing(schemas.REASSIGNMENT),
        "Partitions",
    ),
    _get(
        f"{_PARTITIONS}/-/reassignment",
        list_reassignments_of_topic,
        "List the partitions of a topic whose replicas move",
        schemas.listing(schemas.REASSIGNMENT),
        "Partitions",
    ),
    _get(
        _PARTITIONS,
        list_partitions,
        "List partitions",
        schemas.listing(schemas.PARTITION),
        "Partitions",
    ),
    _get(_NUMBERED, get_partition, "Get a partition", schemas.PARTITION, "Partitions"),
    Endpoint(
        f"{_NUMBERED}/offset",
        "GET",
        get_offset,
        "Get both ends of a partition's log",
        "Partitions",
        parameters=(Parameter("offset_type", {"enum": ["EARLIEST", "LATEST"]}),),
        responses={200: _WITH_OFFSETS},
        errors=(400, 404),
    ),
    _get(
        f"{_NUMBERED}/reassignment",
        get_reassignment,
        "Get the move of a partition's replicas",
        schemas.REASSIGNMENT,
        "Partitions",
    ),
    _get(
        f"{_NUMBERED}/replicas",
        list_replicas,
        "List replicas",
        schemas.listing(schemas.REPLICA),
        "Replicas",
    ),
    _get(
        f"{_NUMBERED}/replicas/{{broker_id:int}}",
        get_replica,
        "Get a replica",
        schemas.REPLICA,
        "Replicas",
    ),
    _get(
        f"{_CLUSTER}/brokers/{{broker_id:int}}/partition-replicas",
        list_replicas_of_broker,
        "List the replicas on a broker",
        schemas.listing(schemas.REPLICA),
        "Replicas",
    ),
)
