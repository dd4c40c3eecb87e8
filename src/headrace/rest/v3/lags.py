"""How far a consumer group is behind: each partition, and the worst of them with the sum.

A partition counts when the group has committed an offset for it. The end of its log is what a
reader of committed records can reach.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from headrace.client.cluster import Cluster
from headrace.client.group_offsets import committed_offsets
from headrace.client.offsets import LATEST, list_offsets
from headrace.rest.openapi import Endpoint
from headrace.rest.v3 import faults, schemas
from headrace.rest.v3.access import enter
from headrace.rest.v3.group_descriptions import Group, Member, describe_group
from headrace.rest.v3.resources import Body, Links, listing, reply
from headrace.rest.v3.topic_metadata import describe_topics
from headrace.types import TopicPartition


class Lag(NamedTuple):
    """One partition: what was committed, what there is."""

    place: TopicPartition
    current_offset: int
    log_end_offset: int
    owner: Member

    @property
    def lag(self) -> int:
        return max(0, self.log_end_offset - self.current_offset)


_NOBODY: Final = Member("", None, "", ())


def _measure(cluster: Cluster, group_id: str) -> tuple[Group, list[Lag]]:
    group = describe_group(cluster, group_id)
    committed = committed_offsets(cluster, group_id)
    alive = {
        TopicPartition(str(topic.name), partition.partition_index)
        for topic in describe_topics(cluster)
        for partition in topic.partitions
        if partition.leader_id >= 0
    }
    wanted = {place: LATEST for place in committed if place in alive}
    ends = list_offsets(cluster, wanted, read_committed=True) if wanted else {}
    lags = [
        Lag(place, committed[place][0], ends[place].offset, group.owner(place) or _NOBODY)
        for place in sorted(ends)
    ]
    return group, lags


async def _lags(request: Request) -> tuple[Links, Group, list[Lag]]:
    calls, links = await enter(request)
    group_id = request.path_params["consumer_group_id"]
    group, lags = await calls.ask(lambda cluster: _measure(cluster, group_id))
    return links, group, lags


async def list_lags(request: Request) -> Response:
    links, group, lags = await _lags(request)
    data = [_lag(links, group, lag) for lag in lags]
    self_url = links.url("consumer-groups", group.group_id, "lags")
    return reply(listing("KafkaConsumerLagList", self_url, data))


async def get_lag(request: Request) -> Response:
    links, group, lags = await _lags(request)
    asked = TopicPartition(request.path_params["topic_name"], request.path_params["partition_id"])
    for lag in lags:
        if lag.place == asked:
            return reply(_lag(links, group, lag))
    raise faults.not_found(f"The group {group.group_id} has no offset for {asked}.")


def _lag(links: Links, group: Group, lag: Lag) -> Body:
    topic, partition = lag.place
    return links.resource(
        "KafkaConsumerLag",
        links.url("consumer-groups", group.group_id, "lags", topic, "partitions", partition),
        links.crn(f"consumer-group={group.group_id}", f"lag={topic}", f"partition={partition}"),
        consumer_group_id=group.group_id,
        topic_name=topic,
        partition_id=partition,
        consumer_id=lag.owner.consumer_id,
        instance_id=lag.owner.instance_id,
        client_id=lag.owner.client_id,
        current_offset=lag.current_offset,
        log_end_offset=lag.log_end_offset,
        lag=lag.lag,
    )


async def get_lag_summary(request: Request) -> Response:
    links, group, lags = await _lags(request)
    if not lags:
        raise faults.not_found(f"Consumer group {group.group_id} has no committed offsets.")
    worst = max(lags, key=lambda lag: lag.lag)
    me = ("consumer-groups", group.group_id)
    topic, partition = worst.place
    body = links.resource(
        "KafkaConsumerGroupLagSummary",
        links.url(*me, "lag-summary"),
        links.crn(f"consumer-group={group.group_id}", "lag-summary"),
        consumer_group_id=group.group_id,
        max_lag_consumer_id=worst.owner.consumer_id,
        max_lag_instance_id=worst.owner.instance_id,
        max_lag_client_id=worst.owner.client_id,
        max_lag_topic_name=topic,
        max_lag_partition_id=partition,
        max_lag=worst.lag,
        total_lag=sum(lag.lag for lag in lags),
        max_lag_consumer=links.related(*me, "consumers", worst.owner.consumer_id),
        max_lag_partition=links.related("topics", topic, "partitions", partition),
    )
    return reply(body)


_GROUP: Final = "/v3/clusters/{cluster_id}/consumer-groups/{consumer_group_id:path}"
ENDPOINTS: Final = (
    Endpoint(
        f"{_GROUP}/lags/{{topic_name}}/partitions/{{partition_id:int}}",
        "GET",
        get_lag,
        "Get the lag of a group in one partition",
        "Consumer groups",
        responses={200: schemas.LAG},
        errors=(400, 404),
    ),
    Endpoint(
        f"{_GROUP}/lags",
        "GET",
        list_lags,
        "List the lags of a group",
        "Consumer groups",
        responses={200: schemas.listing(schemas.LAG)},
        errors=(400, 404),
    ),
    Endpoint(
        f"{_GROUP}/lag-summary",
        "GET",
        get_lag_summary,
        "Get the greatest lag of a group and the sum of all",
        "Consumer groups",
        responses={200: schemas.LAG_SUMMARY},
        errors=(400, 404),
    ),
)
