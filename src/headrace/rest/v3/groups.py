"""Consumer groups, their consumers, and the partitions that each consumer has."""

from __future__ import annotations

from typing import Final

from headrace.admin import groups
from headrace.admin.client import Admin
from headrace.admin.groups import GroupView, MemberView, find_group
from headrace.rest.call import Call
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.resources import Links, Listing, Related, Resource, enter
from headrace.types import TopicPartition

_STATES: Final = {
    "PreparingRebalance": "PREPARING_REBALANCE",
    "CompletingRebalance": "COMPLETING_REBALANCE",
    "Stable": "STABLE",
    "Dead": "DEAD",
    "Empty": "EMPTY",
    "Assigning": "ASSIGNING",
    "Reconciling": "RECONCILING",
}


# A group or a consumer may have a slash in its name: `path` takes it, and longer paths come first.
_GROUPS: Final = "/v3/clusters/{cluster_id}/consumer-groups"
_GROUP: Final = f"{_GROUPS}/{{consumer_group_id:path}}"
_CONSUMER: Final = f"{_GROUP}/consumers/{{consumer_id:path}}"
table: Final = v3_table(tag="Consumer groups")


class KafkaConsumerGroup(Resource, kw_only=True):
    """A consumer group."""

    consumer_group_id: str
    is_simple: bool
    partition_assignor: str
    state: str
    type: str
    is_mixed_consumer_group: bool
    coordinator: Related
    consumers: Related
    lag_summary: Related


class KafkaConsumerGroupList(Listing[KafkaConsumerGroup]):
    """All consumer groups."""


class KafkaConsumer(Resource, kw_only=True):
    """A member of a group."""

    consumer_group_id: str
    consumer_id: str
    instance_id: str | None
    client_id: str
    assignments: Related


class KafkaConsumerList(Listing[KafkaConsumer]):
    """The members of a group."""


class KafkaConsumerAssignment(Resource, kw_only=True):
    """A partition that a member has."""

    consumer_group_id: str
    consumer_id: str
    topic_name: str
    partition_id: int
    partition: Related
    lag: Related


class KafkaConsumerAssignmentList(Listing[KafkaConsumerAssignment]):
    """The partitions that a member has."""


@table.get(_GROUPS, "List consumer groups", reply=KafkaConsumerGroupList)
async def list_consumer_groups(call: Call) -> KafkaConsumerGroupList:
    calls, links = await enter(call)

    def describe_all(admin: Admin) -> list[GroupView]:
        # A group may be deleted between the list and its description.
        listed = [find_group(admin, each.group) for each in groups.list_consumer_groups(admin)]
        return [group for group in listed if group is not None]

    data = [_group(links, group) for group in await calls.ask(describe_all)]
    return KafkaConsumerGroupList(links.listed("consumer-groups"), data)


async def _find_group(call: Call) -> tuple[Links, GroupView]:
    """The group in the path."""
    calls, links = await enter(call)
    group_id = call.path("consumer_group_id")
    return links, await calls.ask(lambda admin: require_group(admin, group_id))


def require_group(admin: Admin, group_id: str) -> GroupView:
    """The group; one that does not exist is not found."""
    group = find_group(admin, group_id)
    if group is None:
        raise faults.not_found(f"Consumer group {group_id} cannot be found.")
    return group


def _member(group: GroupView, consumer_id: str) -> MemberView:
    for member in group.members:
        if member.id == consumer_id:
            return member
    raise faults.not_found(f"Consumer {consumer_id} of {group.group} cannot be found.")


def _group(links: Links, group: GroupView) -> KafkaConsumerGroup:
    me = ("consumer-groups", group.group)
    return KafkaConsumerGroup(
        metadata=links.metadata(*me, crn=(f"consumer-group={group.group}",)),
        cluster_id=links.cluster_id,
        consumer_group_id=group.group,
        is_simple=group.is_simple,
        partition_assignor=group.assignor,
        state=_STATES.get(group.state, "UNKNOWN"),
        type=group.type.upper(),
        is_mixed_consumer_group=group.is_mixed,
        coordinator=links.related("brokers", group.coordinator[0]),
        consumers=links.related(*me, "consumers"),
        lag_summary=links.related(*me, "lag-summary"),
    )


@table.get(
    f"{_CONSUMER}/assignments/{{topic_name}}/partitions/{{partition_id:int}}",
    "Get an assignment",
    reply=KafkaConsumerAssignment,
)
async def get_assignment(call: Call) -> KafkaConsumerAssignment:
    links, group = await _find_group(call)
    member = _member(group, call.path("consumer_id"))
    asked = TopicPartition(call.path("topic_name"), call.path("partition_id"))
    if asked not in member.assignment:
        raise faults.not_found(f"{member.id} has no assignment of {asked}.")
    return _assignment(links, group, member, asked)


@table.get(
    f"{_CONSUMER}/assignments",
    "List the partitions that a consumer has",
    reply=KafkaConsumerAssignmentList,
)
async def list_assignments(call: Call) -> KafkaConsumerAssignmentList:
    links, group = await _find_group(call)
    member = _member(group, call.path("consumer_id"))
    consumer = ("consumer-groups", group.group, "consumers", member.id)
    data = [_assignment(links, group, member, place) for place in member.assignment]
    return KafkaConsumerAssignmentList(links.listed(*consumer, "assignments"), data)


@table.get(_CONSUMER, "Get a consumer", reply=KafkaConsumer)
async def get_consumer(call: Call) -> KafkaConsumer:
    links, group = await _find_group(call)
    return _consumer(links, group, _member(group, call.path("consumer_id")))


@table.get(f"{_GROUP}/consumers", "List the consumers of a group", reply=KafkaConsumerList)
async def list_consumers(call: Call) -> KafkaConsumerList:
    links, group = await _find_group(call)
    data = [_consumer(links, group, member) for member in group.members]
    return KafkaConsumerList(links.listed("consumer-groups", group.group, "consumers"), data)


@table.get(_GROUP, "Get a consumer group", reply=KafkaConsumerGroup)
async def get_consumer_group(call: Call) -> KafkaConsumerGroup:
    """Comes after everything else below a group, because its name takes any path."""
    links, group = await _find_group(call)
    return _group(links, group)


def _consumer(links: Links, group: GroupView, member: MemberView) -> KafkaConsumer:
    me = ("consumer-groups", group.group, "consumers", member.id)
    crn = (f"consumer-group={group.group}", f"consumer={member.id}")
    return KafkaConsumer(
        metadata=links.metadata(*me, crn=crn),
        cluster_id=links.cluster_id,
        consumer_group_id=group.group,
        consumer_id=member.id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        assignments=links.related(*me, "assignments"),
    )


def _assignment(
    links: Links, group: GroupView, member: MemberView, place: TopicPartition
) -> KafkaConsumerAssignment:
    consumer = ("consumer-groups", group.group, "consumers", member.id)
    where = (place.topic, "partitions", place.partition)
    crn = (
        f"consumer-group={group.group}",
        f"consumer={member.id}",
        f"assignment={place.topic}",
        f"partition={place.partition}",
    )
    return KafkaConsumerAssignment(
        metadata=links.metadata(*consumer, "assignments", *where, crn=crn),
        cluster_id=links.cluster_id,
        consumer_group_id=group.group,
        consumer_id=member.id,
        topic_name=place.topic,
        partition_id=place.partition,
        partition=links.related("topics", *where),
        lag=links.related("consumer-groups", group.group, "lags", *where),
    )
