"""GET /topics and what lies below it: settings, partitions, replicas, offsets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from headrace.rest import errors
from headrace.rest.admin import TIMEOUT_S, admin_api
from headrace.rest.call import Call
from headrace.rest.tables import v2_table

if TYPE_CHECKING:
    from headrace.rest.context import Proxy

_TOPIC: Final = "/topics/{topic_name}"
_PARTITION: Final = "/topics/{topic_name}/partitions/{partition_id}"
table: Final = v2_table(tag="Topics (v2)")


class Replica(msgspec.Struct):
    broker: int
    leader: bool
    in_sync: bool


class Partition(msgspec.Struct):
    partition: int
    leader: int
    replicas: list[Replica]


class Topic(msgspec.Struct):
    name: str
    configs: dict[str, str | None]
    partitions: list[Partition]


class Offsets(msgspec.Struct):
    beginning_offset: int
    end_offset: int


@table.get("/topics", "List topics", reply=list[str])
async def list_topics(call: Call) -> list[str]:
    """The names of all topics, those of the cluster itself included."""
    found = await call.proxy.admin.blocking(lambda admin: admin.list_topics(timeout=TIMEOUT_S))
    return sorted(found.topics)


@table.get(_TOPIC, "Get a topic", reply=Topic)
async def get_topic(call: Call) -> Topic:
    """Settings and partitions of a topic."""
    partitions = await partitions_of(call.proxy, call.topic)
    return Topic(call.topic, await _configs_of(call.proxy, call.topic), partitions)


@table.get(f"{_TOPIC}/partitions", "List partitions", reply=list[Partition])
async def list_partitions(call: Call) -> list[Partition]:
    """The partitions of a topic."""
    return await partitions_of(call.proxy, call.topic)


@table.get(_PARTITION, "Get a partition", reply=Partition)
async def get_partition(call: Call) -> Partition:
    """One partition of a topic."""
    number = call.partition
    for partition in await partitions_of(call.proxy, call.topic):
        if partition.partition == number:
            return partition
    raise errors.partition_not_found()


@table.get(f"{_PARTITION}/offsets", "Get offsets", reply=Offsets)
async def get_offsets(call: Call) -> Offsets:
    """The first offset of a partition, and the one that its next record will have."""
    from confluent_kafka import TopicPartition

    proxy, name = call.proxy, call.topic
    number = (await get_partition(call)).partition
    spec = admin_api().OffsetSpec

    def ask(which: Any) -> Any:
        wanted = {TopicPartition(name, number): which}
        return proxy.admin.call(lambda admin: admin.list_offsets(wanted, request_timeout=TIMEOUT_S))

    found = await asyncio.gather(ask(spec.earliest()), ask(spec.latest()))
    first, last = (next(iter(each.values())).offset for each in found)
    return Offsets(first, last)


async def partitions_of(proxy: Proxy, name: str) -> list[Partition]:
    """The partitions of a topic as the cluster describes them; 40401 if there is none."""
    from confluent_kafka import TopicCollection

    described = await proxy.admin.call(
        lambda admin: admin.describe_topics(TopicCollection([name]), request_timeout=TIMEOUT_S)
    )
    return [
        Partition(
            each.id,
            -1 if each.leader is None else each.leader.id,
            [
                Replica(
                    node.id,
                    each.leader is not None and node.id == each.leader.id,
                    any(node.id == synced.id for synced in each.isr),
                )
                for node in each.replicas
            ],
        )
        for each in sorted(described[name].partitions, key=lambda each: int(each.id))
    ]


async def _configs_of(proxy: Proxy, name: str) -> dict[str, str | None]:
    api = admin_api()
    resource = api.ConfigResource(api.ResourceType.TOPIC, name)
    described = await proxy.admin.call(
        lambda admin: admin.describe_configs([resource], request_timeout=TIMEOUT_S)
    )
    entries = next(iter(described.values()))
    return {key: entries[key].value for key in sorted(entries)}
