"""GET /topics and what lies below it: settings, partitions, replicas, offsets."""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.admin.client import Admin
from headrace.admin.records import offsets_at
from headrace.admin.settings import topic_settings
from headrace.admin.views import PartitionView, TopicView
from headrace.client.offsets import EARLIEST, LATEST
from headrace.rest import errors
from headrace.rest.call import Call
from headrace.rest.kafka_faults import of_client
from headrace.rest.tables import v2_table
from headrace.types import TopicPartition

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
    return [topic.name for topic in await call.service.calls.ask(Admin.topics, of_client)]


@table.get(_TOPIC, "Get a topic", reply=Topic)
async def get_topic(call: Call) -> Topic:
    """Settings and partitions of a topic."""
    name = call.topic

    def describe(admin: Admin) -> tuple[TopicView, dict[str, str | None]]:
        settings = topic_settings(admin, [name])[name]
        return admin.topic(name), {each.name: each.value for each in settings}

    topic, configs = await call.service.calls.ask(describe, of_client)
    return Topic(name, configs, [_partition(each) for each in topic.partitions])


@table.get(f"{_TOPIC}/partitions", "List partitions", reply=list[Partition])
async def list_partitions(call: Call) -> list[Partition]:
    """The partitions of a topic."""
    name = call.topic
    topic = await call.service.calls.ask(lambda admin: admin.topic(name), of_client)
    return [_partition(each) for each in topic.partitions]


@table.get(_PARTITION, "Get a partition", reply=Partition)
async def get_partition(call: Call) -> Partition:
    """One partition of a topic."""
    number = call.partition
    for partition in await list_partitions(call):
        if partition.partition == number:
            return partition
    raise errors.partition_not_found()


@table.get(f"{_PARTITION}/offsets", "Get offsets", reply=Offsets)
async def get_offsets(call: Call) -> Offsets:
    """The first offset of a partition, and the one that its next record will have."""
    place = TopicPartition(call.topic, (await get_partition(call)).partition)

    def ends(admin: Admin) -> list[int]:
        return [offsets_at(admin, [place], end)[place].offset for end in (EARLIEST, LATEST)]

    return Offsets(*await call.service.calls.ask(ends, of_client))


def _partition(found: PartitionView) -> Partition:
    replicas = [
        Replica(broker, broker == found.leader, broker in found.isr) for broker in found.replicas
    ]
    return Partition(found.number, -1 if found.leader is None else found.leader, replicas)
