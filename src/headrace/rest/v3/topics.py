"""Topics: list, create (or only check), show, add partitions, delete."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import Response

from headrace.client.cluster import Cluster
from headrace.errors import Error
from headrace.http.endpoint import Query
from headrace.rest.call import Call
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.asking import ask_controller
from headrace.rest.v3.resources import Links, Listing, Related, Resource, enter
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

_TOPICS: Final = "/v3/clusters/{cluster_id}/topics"
_NAMED: Final = f"{_TOPICS}/{{topic_name}}"
table: Final = v3_table(tag="Topics")

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


class KafkaTopic(Resource, kw_only=True):
    """A topic."""

    topic_name: str
    is_internal: bool
    replication_factor: int
    partitions_count: int
    partitions: Related
    configs: Related
    partition_reassignments: Related
    authorized_operations: list[str]


class KafkaTopicList(Listing[KafkaTopic]):
    """All topics."""


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


@table.get(_TOPICS, "List topics", reply=KafkaTopicList)
async def list_topics(call: Call) -> KafkaTopicList:
    calls, links = await enter(call)
    data = [_topic(links, topic) for topic in await calls.ask(describe_topics)]
    return KafkaTopicList(links.listed("topics"), data)


@table.get(
    _NAMED,
    "Get a topic",
    query=(Query("include_authorized_operations", bool, default=False),),
    reply=KafkaTopic,
)
async def get_topic(call: Call) -> KafkaTopic:
    calls, links = await enter(call)
    name = call.path("topic_name")
    with_operations = call.query("include_authorized_operations")
    topic = await calls.ask(
        lambda cluster: describe_topic(cluster, name, with_operations=with_operations)
    )
    return _topic(links, topic)


def _topic(links: Links, topic: MetadataResponseTopic) -> KafkaTopic:
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
) -> KafkaTopic:
    me = ("topics", name)
    return KafkaTopic(
        metadata=links.metadata(*me, crn=(f"topic={name}",)),
        cluster_id=links.cluster_id,
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


@table.post(_TOPICS, "Create a topic", body=CreateTopic, reply=KafkaTopic, also_status=(201,))
async def create_topic(call: Call) -> Response:
    calls, links = await enter(call)
    asked: CreateTopic = call.body
    created = await calls.ask(lambda cluster: _create(cluster, asked))
    body = _shown(
        links,
        asked.topic_name,
        is_internal=False,
        replication_factor=created.replication_factor,
        partitions_count=created.num_partitions,
        operations=[],
    )
    response = call.respond(body, 200 if asked.validate_only else 201)
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


@table.patch(_NAMED, "Add partitions to a topic", body=UpdatePartitionCount, reply=KafkaTopic)
async def update_partition_count(call: Call) -> KafkaTopic:
    calls, links = await enter(call)
    name = call.path("topic_name")
    count = _count("partitions_count", call.body.partitions_count, _MAX_INT32)

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

    return _topic(links, await calls.ask(grow))


@table.delete(_NAMED, "Delete a topic", status=204)
async def delete_topic(call: Call) -> None:
    calls, _ = await enter(call)
    name = call.path("topic_name")

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


def _raise_first(results: list[object]) -> None:
    for result in results:
        code: int = getattr(result, "error_code", 0)
        if code:
            detail: str | None = getattr(result, "error_message", None)
            known = code == Error.UNKNOWN_TOPIC_OR_PARTITION
            raise faults.of_code(code, None if known else detail)
