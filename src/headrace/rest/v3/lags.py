"""How far a consumer group is behind: each partition, and the worst of them with the sum.

A partition counts when the group has committed an offset for it. The end of its log is what a
reader of committed records can reach.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.admin.client import Admin
from headrace.admin.groups import GroupView, MemberView
from headrace.admin.records import led_offsets
from headrace.client.group_offsets import committed_offsets
from headrace.client.offsets import LATEST
from headrace.rest.call import Call
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.groups import require_group
from headrace.rest.v3.resources import Links, Listing, Related, Resource, enter
from headrace.types import TopicPartition

_GROUP: Final = "/v3/clusters/{cluster_id}/consumer-groups/{consumer_group_id:path}"
table: Final = v3_table(tag="Consumer groups")


class KafkaConsumerLag(Resource, kw_only=True):
    """How far a group is behind in a partition."""

    consumer_group_id: str
    topic_name: str
    partition_id: int
    consumer_id: str
    instance_id: str | None
    client_id: str
    current_offset: int
    log_end_offset: int
    lag: int


class KafkaConsumerLagList(Listing[KafkaConsumerLag]):
    """How far a group is behind in every partition."""


class KafkaConsumerGroupLagSummary(Resource, kw_only=True):
    """The greatest lag of a group, and the sum of all."""

    consumer_group_id: str
    max_lag_consumer_id: str
    max_lag_instance_id: str | None
    max_lag_client_id: str
    max_lag_topic_name: str
    max_lag_partition_id: int
    max_lag: int
    total_lag: int
    max_lag_consumer: Related
    max_lag_partition: Related


class Lag(NamedTuple):
    """One partition: what was committed, what there is."""

    place: TopicPartition
    current_offset: int
    log_end_offset: int
    owner: MemberView

    @property
    def lag(self) -> int:
        return max(0, self.log_end_offset - self.current_offset)


_NOBODY: Final = MemberView("", None, "", "", (), None, None, None)


def _measure(admin: Admin, group_id: str) -> tuple[GroupView, list[Lag]]:
    group = require_group(admin, group_id)
    committed = committed_offsets(admin.cluster, group_id)
    ends = led_offsets(admin, committed, LATEST, read_committed=True)
    owners = {place: member for member in group.members for place in member.assignment}
    lags = [
        Lag(place, committed[place][0], ends[place], owners.get(place, _NOBODY))
        for place in sorted(ends)
    ]
    return group, lags


async def _lags(call: Call) -> tuple[Links, GroupView, list[Lag]]:
    calls, links = await enter(call)
    group_id = call.path("consumer_group_id")
    group, lags = await calls.ask(lambda admin: _measure(admin, group_id))
    return links, group, lags


@table.get(
    f"{_GROUP}/lags/{{topic_name}}/partitions/{{partition_id:int}}",
    "Get the lag of a group in one partition",
    reply=KafkaConsumerLag,
)
async def get_lag(call: Call) -> KafkaConsumerLag:
    links, group, lags = await _lags(call)
    asked = TopicPartition(call.path("topic_name"), call.path("partition_id"))
    for lag in lags:
        if lag.place == asked:
            return _lag(links, group, lag)
    raise faults.not_found(f"The group {group.group} has no offset for {asked}.")


@table.get(f"{_GROUP}/lags", "List the lags of a group", reply=KafkaConsumerLagList)
async def list_lags(call: Call) -> KafkaConsumerLagList:
    links, group, lags = await _lags(call)
    data = [_lag(links, group, lag) for lag in lags]
    return KafkaConsumerLagList(links.listed("consumer-groups", group.group, "lags"), data)


def _lag(links: Links, group: GroupView, lag: Lag) -> KafkaConsumerLag:
    topic, partition = lag.place
    me = ("consumer-groups", group.group, "lags", topic, "partitions", partition)
    crn = (f"consumer-group={group.group}", f"lag={topic}", f"partition={partition}")
    return KafkaConsumerLag(
        metadata=links.metadata(*me, crn=crn),
        cluster_id=links.cluster_id,
        consumer_group_id=group.group,
        topic_name=topic,
        partition_id=partition,
        consumer_id=lag.owner.id,
        instance_id=lag.owner.instance_id,
        client_id=lag.owner.client_id,
        current_offset=lag.current_offset,
        log_end_offset=lag.log_end_offset,
        lag=lag.lag,
    )


@table.get(
    f"{_GROUP}/lag-summary",
    "Get the greatest lag of a group and the sum of all",
    reply=KafkaConsumerGroupLagSummary,
)
async def get_lag_summary(call: Call) -> KafkaConsumerGroupLagSummary:
    links, group, lags = await _lags(call)
    if not lags:
        raise faults.not_found(f"Consumer group {group.group} has no committed offsets.")
    worst = max(lags, key=lambda lag: lag.lag)
    me = ("consumer-groups", group.group)
    topic, partition = worst.place
    crn = (f"consumer-group={group.group}", "lag-summary")
    return KafkaConsumerGroupLagSummary(
        metadata=links.metadata(*me, "lag-summary", crn=crn),
        cluster_id=links.cluster_id,
        consumer_group_id=group.group,
        max_lag_consumer_id=worst.owner.id,
        max_lag_instance_id=worst.owner.instance_id,
        max_lag_client_id=worst.owner.client_id,
        max_lag_topic_name=topic,
        max_lag_partition_id=partition,
        max_lag=worst.lag,
        total_lag=sum(lag.lag for lag in lags),
        max_lag_consumer=links.related(*me, "consumers", worst.owner.id),
        max_lag_partition=links.related("topics", topic, "partitions", partition),
    )
