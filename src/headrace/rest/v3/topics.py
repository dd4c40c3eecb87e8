"""Topics: list, create (or only check), show, add partitions, delete."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import Response

from headrace.admin.acls import Operation
from headrace.admin.client import Admin
from headrace.admin.views import Created, TopicView
from headrace.errors import Error
from headrace.http.endpoint import Query
from headrace.rest.call import Call
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.resources import Links, Listing, Related, Resource, enter

_TOPICS: Final = "/v3/clusters/{cluster_id}/topics"
_NAMED: Final = f"{_TOPICS}/{{topic_name}}"
table: Final = v3_table(tag="Topics")

_MAX_INT32: Final = 0x7FFFFFFF
_MAX_INT16: Final = 0x7FFF


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
    data = [_topic(links, topic) for topic in await calls.ask(Admin.topics)]
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
    topic = await calls.ask(lambda admin: admin.topic(name, with_operations=with_operations))
    return _topic(links, topic)


def _topic(links: Links, topic: TopicView) -> KafkaTopic:
    return _shown(
        links,
        topic.name,
        is_internal=topic.is_internal,
        replication_factor=topic.replication_factor,
        partitions_count=len(topic.partitions),
        operations=_named(topic.operations),
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


def _named(bits: int | None) -> list[str]:
    """The operations in a bit set; none if they were not requested, or the broker sent none."""
    known = bits if bits is not None and bits >= 0 else 0
    return [each.name for each in Operation if each >= Operation.READ and known >> each & 1]


# -- creating -------------------------------------------------------------------------------------


@table.post(_TOPICS, "Create a topic", body=CreateTopic, reply=KafkaTopic, also_status=(201,))
async def create_topic(call: Call) -> Response:
    calls, links = await enter(call)
    asked: CreateTopic = call.body
    created = await calls.ask(lambda admin: _create(admin, asked))
    body = _shown(
        links,
        asked.topic_name,
        is_internal=False,
        replication_factor=created.replication_factor,
        partitions_count=created.partitions,
        operations=[],
    )
    response = call.respond(body, 200 if asked.validate_only else 201)
    if not asked.validate_only:
        response.headers["location"] = links.url("topics", asked.topic_name)
    return response


def _create(admin: Admin, asked: CreateTopic) -> Created:
    assigned = {each.partition_id: each.broker_ids for each in asked.replicas_assignments}
    _check("partitions_count", asked.partitions_count, _MAX_INT32)
    _check("replication_factor", asked.replication_factor, _MAX_INT16)
    for partition, brokers in assigned.items():
        for number in (partition, *brokers):
            _check("replicas_assignments", number, _MAX_INT32, least=0)
    if len(assigned) < len(asked.replicas_assignments):
        raise faults.of_code(
            Error.INVALID_REPLICA_ASSIGNMENT, "replicas_assignments names a partition twice"
        )
    created = admin.create(
        asked.topic_name,
        None if assigned else asked.partitions_count,
        None if assigned else asked.replication_factor,
        assigned,
        {each.name: each.value for each in asked.configs},
        validate_only=asked.validate_only,
    )
    if created.partitions < 0 and not asked.validate_only:
        # Brokers before Kafka 2.4 do not tell what became of the defaults.
        found = admin.topic(asked.topic_name)
        return Created(len(found.partitions), found.replication_factor)
    return created


def _check(name: str, number: int | None, most: int, *, least: int = 1) -> None:
    if number is not None and not least <= number <= most:
        raise faults.of_code(
            Error.INVALID_REQUEST, f"{name} is {number}: allowed is {least} to {most}"
        )


# -- changing -------------------------------------------------------------------------------------


@table.patch(_NAMED, "Add partitions to a topic", body=UpdatePartitionCount, reply=KafkaTopic)
async def update_partition_count(call: Call) -> KafkaTopic:
    calls, links = await enter(call)
    name = call.path("topic_name")
    count: int = call.body.partitions_count
    _check("partitions_count", count, _MAX_INT32)

    def grow(admin: Admin) -> TopicView:
        admin.grow({name: count})
        return admin.topic(name)

    return _topic(links, await calls.ask(grow))


@table.delete(_NAMED, "Delete a topic", status=204)
async def delete_topic(call: Call) -> None:
    calls, _ = await enter(call)
    name = call.path("topic_name")
    await calls.ask(lambda admin: admin.delete([name]))
