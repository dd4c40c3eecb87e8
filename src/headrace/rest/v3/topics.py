"""Topics: list, create (or only check), show, add partitions, delete."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from headrace.client.cluster import Cluster
from headrace.errors import Error
from headrace.rest.openapi import Endpoint, Parameter
from headrace.rest.v3 import faults, schemas
from headrace.rest.v3.access import enter
from headrace.rest.v3.asking import ask_controller
from headrace.rest.v3.request_bodies import query_flag, read_json
from headrace.rest.v3.resources import Body, Links, listing, no_content, reply
from headrace.rest.v3.topic_metadata import describe_topic, describe_topics
from headrace.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from headrace.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.wire.messages.metadata import MetadataResponseTopic

TIMEOUT_MS: Final = 30_000
"""How long the controller may wait until a change has reached its brokers."""

_BROKERS_DEFAULT: Final = -1
_MAX_INT32: Final = 0x7FFFFFFF
_MAX_INT16: Final = 0x7FFF
_OPERATIONS: Final = {
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
}


class ReplicasAssignment(msgspec.Struct):
    """The brokers of one partition, the preferred leader first."""

    partition_id: int
    broker_ids: list[int]


class TopicConfig(msgspec.Struct):
    """A setting of a new topic."""

    name: str
    value: str | None = None


class CreateTopic(msgspec.Struct):
    """What a client sends to create a topic."""

    topic_name: str
    partitions_count: int | None = None
    replication_factor: int | None = None
    replicas_assignments: list[ReplicasAssignment] = []
    configs: list[TopicConfig] = []
    validate_only: bool = False


class UpdatePartitionCount(msgspec.Struct):
    """How many partitions a topic shall have."""

    partitions_count: int


async def list_topics(request: Request) -> Response:
    calls, links = await enter(request)
    data = [_topic(links, topic) for topic in await calls.ask(describe_topics)]
    return reply(listing("KafkaTopicList", links.url("topics"), data))


async def get_topic(request: Request) -> Response:
    calls, links = await enter(request)
    name = request.path_params["topic_name"]
    with_operations = query_flag(request, "include_authorized_operations")
    topic = await calls.ask(
        lambda cluster: describe_topic(cluster, name, with_operations=with_operations)
    )
    return reply(_topic(links, topic))


def _topic(links: Links, topic: MetadataResponseTopic) -> Body:
    replicas = max((len(each.replica_nodes) for each in topic.partitions), default=0)
    return _shown(
        links,
        str(topic.name),
        is_internal=topic.is_internal,
        replication_factor=replicas,
        partitions_count=len(topic.partitions),
        operations=_named(topic.topic_authorized_operations),
    )


def _shown(
    links: Links,
    name: str,
    *,
    is_internal: bool,
    replication_factor: int,
    partitions_count: int,
    operations: list[str],
) -> Body:
    me = ("topics", name)
    return links.resource(
        "KafkaTopic",
        links.url(*me),
        links.crn(f"topic={name}"),
        topic_name=name,
        is_internal=is_internal,
        replication_factor=replication_factor,
        partitions_count=partitions_count,
        partitions=links.related(*me, "partitions"),
        configs=links.related(*me, "configs"),
        partition_reassignments=links.related(*me, "partitions", "-", "reassignment"),
        authorized_operations=operations,
    )


def _named(bits: int) -> list[str]:
    """The operations in a bit set; a negative one says that nobody asked."""
    return [name for bit, name in _OPERATIONS.items() if bits >= 0 and bits >> bit & 1]


# -- creating -------------------------------------------------------------------------------------


async def create_topic(request: Request) -> Response:
    calls, links = await enter(request)
    asked = await read_json(request, CreateTopic)
    created = await calls.ask(lambda cluster: _create(cluster, asked))
    body = _shown(
        links,
        asked.topic_name,
        is_internal=False,
        replication_factor=created.replication_factor,
        partitions_count=created.num_partitions,
        operations=[],
    )
    response = reply(body, 200 if asked.validate_only else 201)
    if not asked.validate_only:
        response.headers["location"] = links.url("topics", asked.topic_name)
    return response


def _create(cluster: Cluster, asked: CreateTopic) -> CreatableTopicResult:
    assigned = asked.replicas_assignments
    partitions = _count("partitions_count", asked.partitions_count, _MAX_INT32)
    replicas = _count("replication_factor", asked.replication_factor, _MAX_INT16)
    for each in assigned:
        for number in (each.partition_id, *each.broker_ids):
            _count("replicas_assignments", number, _MAX_INT32, least=0)
    topic = CreatableTopic(
        name=asked.topic_name,
        num_partitions=_BROKERS_DEFAULT if assigned else partitions,
        replication_factor=_BROKERS_DEFAULT if assigned else replicas,
        assignments=[
            CreatableReplicaAssignment(
                partition_index=each.partition_id, broker_ids=each.broker_ids
            )
            for each in assigned
        ],
        configs=[CreatableTopicConfig(name=one.name, value=one.value) for one in asked.configs],
    )
    request = CreateTopicsRequest(
        topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=asked.validate_only
    )
    response = ask_controller(
        cluster,
        request,
        f"creating the topic {asked.topic_name}",
        lambda answer: [each.error_code for each in answer.topics],
    )
    created: CreatableTopicResult = response.topics[0]
    if created.error_code:
        raise faults.of_code(created.error_code, created.error_message)
    if created.num_partitions < 0 and not asked.validate_only:
        # Brokers before Kafka 2.4 do not tell what became of the defaults.
        found = describe_topic(cluster, asked.topic_name)
        created.num_partitions = len(found.partitions)
        created.replication_factor = len(found.partitions[0].replica_nodes)
    return created


def _count(name: str, number: int | None, most: int, *, least: int = 1) -> int:
    if number is None:
        return _BROKERS_DEFAULT
    if not least <= number <= most:
        raise faults.of_code(
            Error.INVALID_REQUEST, f"{name} is {number}: allowed is {least} to {most}"
        )
    return number


# -- changing -------------------------------------------------------------------------------------


async def update_partition_count(request: Request) -> Response:
    calls, links = await enter(request)
    name = request.path_params["topic_name"]
    asked = await read_json(request, UpdatePartitionCount)
    count = _count("partitions_count", asked.partitions_count, _MAX_INT32)

    def grow(cluster: Cluster) -> MetadataResponseTopic:
        answer = ask_controller(
            cluster,
            CreatePartitionsRequest(
                topics=[CreatePartitionsTopic(name=name, count=count)],
                timeout_ms=TIMEOUT_MS,
                validate_only=False,
            ),
            f"adding partitions to the topic {name}",
            lambda answer: [each.error_code for each in answer.results],
        )
        _raise_first(answer.results)
        return describe_topic(cluster, name)

    return reply(_topic(links, await calls.ask(grow)))


async def delete_topic(request: Request) -> Response:
    calls, _ = await enter(request)
    name = request.path_params["topic_name"]

    def delete(cluster: Cluster) -> None:
        # Versions up to 5 read the one list, later ones the other.
        wanted = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=TIMEOUT_MS
        )
        answer = ask_controller(
            cluster,
            wanted,
            f"deleting the topic {name}",
            lambda answer: [each.error_code for each in answer.responses],
        )
        _raise_first(answer.responses)

    await calls.ask(delete)
    return no_content()


def _raise_first(results: list[object]) -> None:
    for result in results:
        code: int = getattr(result, "error_code", 0)
        if code:
            detail: str | None = getattr(result, "error_message", None)
            known = code == Error.UNKNOWN_TOPIC_OR_PARTITION
            raise faults.of_code(code, None if known else detail)


_TOPICS: Final = "/v3/clusters/{cluster_id}/topics"
_NAMED: Final = f"{_TOPICS}/{{topic_name}}"
_CREATE_REQUEST: Final = schemas.struct(
    {"topic_name": schemas.STRING},
    {
        "partitions_count": {"type": ["integer", "null"]},
        "replication_factor": {"type": ["integer", "null"]},
        "replicas_assignments": schemas.array(
            schemas.struct({"partition_id": schemas.INT32, "broker_ids": schemas.INTEGERS})
        ),
        "configs": schemas.array(
            schemas.struct({"name": schemas.STRING}, {"value": schemas.TEXT_OR_NULL})
        ),
        "validate_only": schemas.BOOLEAN,
    },
)
ENDPOINTS: Final = (
    Endpoint(
        _TOPICS,
        "GET",
        list_topics,
        "List topics",
        "Topics",
        responses={200: schemas.listing(schemas.TOPIC)},
        errors=(404,),
    ),
    Endpoint(
        _TOPICS,
        "POST",
        create_topic,
        "Create a topic",
        "Topics",
        request=_CREATE_REQUEST,
        responses={200: schemas.TOPIC, 201: schemas.TOPIC},
        errors=(400, 404, 413, 415),
    ),
    Endpoint(
        _NAMED,
        "GET",
        get_topic,
        "Get a topic",
        "Topics",
        parameters=(Parameter("include_authorized_operations", schemas.BOOLEAN),),
        responses={200: schemas.TOPIC},
        errors=(400, 404),
    ),
    Endpoint(
        _NAMED,
        "PATCH",
        update_partition_count,
        "Add partitions to a topic",
        "Topics",
        request=schemas.struct({"partitions_count": schemas.INT32}),
        responses={200: schemas.TOPIC},
        errors=(400, 404, 413, 415),
    ),
    Endpoint(
        _NAMED,
        "DELETE",
        delete_topic,
        "Delete a topic",
        "Topics",
        responses={204: None},
        errors=(400, 404),
    ),
)
