"""Consumer groups, their consumers, and the partitions that each consumer has."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from headrace.client.cluster import Cluster
from headrace.rest.errors import RestError
from headrace.rest.openapi import Endpoint
from headrace.rest.v3 import faults, schemas
from headrace.rest.v3.access import enter
from headrace.rest.v3.group_descriptions import Group, Member, describe_group, list_groups
from headrace.rest.v3.resources import Body, Links, listing, reply
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


async def list_consumer_groups(request: Request) -> Response:
    calls, links = await enter(request)

    def describe_all(cluster: Cluster) -> list[Group]:
        found = []
        for group_id in list_groups(cluster):
            try:
                found.append(describe_group(cluster, group_id))
            except RestError as error:
                # A group may be deleted between the list and its description.
                if error.http_status != 404:
                    raise
        return found

    data = [_group(links, group) for group in await calls.ask(describe_all)]
    return reply(listing("KafkaConsumerGroupList", links.url("consumer-groups"), data))


async def get_consumer_group(request: Request) -> Response:
    links, group = await find_group(request)
    return reply(_group(links, group))


async def find_group(request: Request) -> tuple[Links, Group]:
    """The group in the path."""
    calls, links = await enter(request)
    group_id = request.path_params["consumer_group_id"]
    return links, await calls.ask(lambda cluster: describe_group(cluster, group_id))


def _group(links: Links, group: Group) -> Body:
    me = ("consumer-groups", group.group_id)
    return links.resource(
        "KafkaConsumerGroup",
        links.url(*me),
        links.crn(f"consumer-group={group.group_id}"),
        consumer_group_id=group.group_id,
        is_simple=group.is_simple,
        partition_assignor=group.assignor,
        state=_STATES.get(group.state, "UNKNOWN"),
        type=group.type,
        is_mixed_consumer_group=group.is_mixed,
        coordinator=links.related("brokers", group.coordinator),
        consumers=links.related(*me, "consumers"),
        lag_summary=links.related(*me, "lag-summary"),
    )


async def list_consumers(request: Request) -> Response:
    links, group = await find_group(request)
    data = [_consumer(links, group, member) for member in group.members]
    self_url = links.url("consumer-groups", group.group_id, "consumers")
    return reply(listing("KafkaConsumerList", self_url, data))


async def get_consumer(request: Request) -> Response:
    links, group = await find_group(request)
    return reply(_consumer(links, group, group.member(request.path_params["consumer_id"])))


def _consumer(links: Links, group: Group, member: Member) -> Body:
    me = ("consumer-groups", group.group_id, "consumers", member.consumer_id)
    return links.resource(
        "KafkaConsumer",
        links.url(*me),
        links.crn(f"consumer-group={group.group_id}", f"consumer={member.consumer_id}"),
        consumer_group_id=group.group_id,
        consumer_id=member.consumer_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        assignments=links.related(*me, "assignments"),
    )


async def list_assignments(request: Request) -> Response:
    links, group = await find_group(request)
    member = group.member(request.path_params["consumer_id"])
    data = [_assignment(links, group, member, place) for place in member.assignment]
    self_url = links.url(
        "consumer-groups", group.group_id, "consumers", member.consumer_id, "assignments"
    )
    return reply(listing("KafkaConsumerAssignmentList", self_url, data))


async def get_assignment(request: Request) -> Response:
    links, group = await find_group(request)
    member = group.member(request.path_params["consumer_id"])
    asked = TopicPartition(request.path_params["topic_name"], request.path_params["partition_id"])
    if asked not in member.assignment:
        raise faults.not_found(f"{member.consumer_id} has no assignment of {asked}.")
    return reply(_assignment(links, group, member, asked))


def _assignment(links: Links, group: Group, member: Member, place: TopicPartition) -> Body:
    consumer = ("consumer-groups", group.group_id, "consumers", member.consumer_id)
    where = (place.topic, "partitions", place.partition)
    return links.resource(
        "KafkaConsumerAssignment",
        links.url(*consumer, "assignments", *where),
        links.crn(
            f"consumer-group={group.group_id}",
            f"consumer={member.consumer_id}",
            f"assignment={place.topic}",
            f"partition={place.partition}",
        ),
        consumer_group_id=group.group_id,
        consumer_id=member.consumer_id,
        topic_name=place.topic,
        partition_id=place.partition,
        partition=links.related("topics", *where),
        lag=links.related("consumer-groups", group.group_id, "lags", *where),
    )


# A group or a consumer may have a slash in its name: `path` takes it, and longer paths come first.
_GROUPS: Final = "/v3/clusters/{cluster_id}/consumer-groups"
_GROUP: Final = f"{_GROUPS}/{{consumer_group_id:path}}"
_CONSUMER: Final = f"{_GROUP}/consumers/{{consumer_id:path}}"


def _get(path: str, handler: Any, summary: str, schema: dict[str, Any]) -> Endpoint:
    return Endpoint(
        path,
        "GET",
        handler,
        summary,
        "Consumer groups",
        responses={200: schema},
        errors=(400, 404),
    )


ENDPOINTS: Final = (
    _get(
        _GROUPS,
        list_consumer_groups,
        "List consumer groups",
        schemas.listing(schemas.CONSUMER_GROUP),
    ),
    _get(
        f"{_CONSUMER}/assignments/{{topic_name}}/partitions/{{partition_id:int}}",
        get_assignment,
        "Get an assignment",
        schemas.ASSIGNMENT,
    ),
    _get(
        f"{_CONSUMER}/assignments",
        list_assignments,
        "List the partitions that a consumer has",
        schemas.listing(schemas.ASSIGNMENT),
    ),
    _get(_CONSUMER, get_consumer, "Get a consumer", schemas.CONSUMER),
    _get(
        f"{_GROUP}/consumers",
        list_consumers,
        "List the consumers of a group",
        schemas.listing(schemas.CONSUMER),
    ),
)
GROUP_ENDPOINT: Final = _get(
    _GROUP, get_consumer_group, "Get a consumer group", schemas.CONSUMER_GROUP
)
"""Comes after everything else below a group, because its name takes any path."""
