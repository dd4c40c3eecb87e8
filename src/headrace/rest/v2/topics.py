"""GET /topics and what lies below it: settings, partitions, replicas, offsets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from headrace.rest import errors
from headrace.rest.admin import TIMEOUT_S, admin_api
from headrace.rest.answers import acceptable, answer, path_number, path_topic, proxy_of
from headrace.rest.media_types import ANSWERS
from headrace.rest.openapi import Endpoint

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.rest.context import Proxy


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


async def list_topics(request: Request) -> Response:
    """The names of all topics, those of the cluster itself included."""
    acceptable(request)
    found = await proxy_of(request).admin.blocking(
        lambda admin: admin.list_topics(timeout=TIMEOUT_S)
    )
    return answer(request, sorted(found.topics))


async def get_topic(request: Request) -> Response:
    """Settings and partitions of a topic."""
    acceptable(request)
    proxy, name = proxy_of(request), path_topic(request)
    partitions = await partitions_of(proxy, name)
    return answer(request, Topic(name, await _configs_of(proxy, name), partitions))


async def list_partitions(request: Request) -> Response:
    """The partitions of a topic."""
    acceptable(request)
    partitions = await partitions_of(proxy_of(request), path_topic(request))
    return answer(request, partitions)


async def get_partition(request: Request) -> Response:
    """One partition of a topic."""
    acceptable(request)
    return answer(request, await _partition_in(request))


async def get_offsets(request: Request) -> Response:
    """The first offset of a partition, and the one that its next record will have."""
    from confluent_kafka import TopicPartition

    acceptable(request)
    proxy, name = proxy_of(request), path_topic(request)
    number = (await _partition_in(request)).partition
    spec = admin_api().OffsetSpec

    def ask(which: Any) -> Any:
        wanted = {TopicPartition(name, number): which}
        return proxy.admin.call(lambda admin: admin.list_offsets(wanted, request_timeout=TIMEOUT_S))

    found = await asyncio.gather(ask(spec.earliest()), ask(spec.latest()))
    first, last = (next(iter(each.values())).offset for each in found)
    return answer(request, Offsets(first, last))


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


async def _partition_in(request: Request) -> Partition:
    partitions = await partitions_of(proxy_of(request), path_topic(request))
    number = path_number(request, "partition_id")
    for partition in partitions:
        if partition.partition == number:
            return partition
    raise errors.partition_not_found()


_PARTITION: Final = {
    "type": "object",
    "required": ["partition", "leader", "replicas"],
    "properties": {
        "partition": {"type": "integer"},
        "leader": {"type": "integer"},
        "replicas": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["broker", "leader", "in_sync"],
                "properties": {
                    "broker": {"type": "integer"},
                    "leader": {"type": "boolean"},
                    "in_sync": {"type": "boolean"},
                },
            },
        },
    },
}
_PARTITIONS: Final = {"type": "array", "items": _PARTITION}
_TOPIC: Final = {
    "type": "object",
    "required": ["name", "configs", "partitions"],
    "properties": {
        "name": {"type": "string"},
        "configs": {"type": "object"},
        "partitions": _PARTITIONS,
    },
}
_OFFSETS: Final = {
    "type": "object",
    "required": ["beginning_offset", "end_offset"],
    "properties": {
        "beginning_offset": {"type": "integer"},
        "end_offset": {"type": "integer"},
    },
}
_TOPIC_PATH: Final = "/topics/{topic_name}"
_PARTITION_PATH: Final = "/topics/{topic_name}/partitions/{partition_id}"


def _get(path: str, handler: Any, summary: str, body: Any, *errors_: int) -> Endpoint:
    return Endpoint(
        path,
        "GET",
        handler,
        summary,
        "Topics (v2)",
        responses={200: body},
        response_types=ANSWERS,
        errors=(401, 403, *errors_, 406, 429, 500, 503),
    )


ENDPOINTS: Final = (
    _get("/topics", list_topics, "List topics", {"type": "array", "items": {"type": "string"}}),
    _get(_TOPIC_PATH, get_topic, "Get a topic", _TOPIC, 404),
    _get(f"{_TOPIC_PATH}/partitions", list_partitions, "List partitions", _PARTITIONS, 404),
    _get(_PARTITION_PATH, get_partition, "Get a partition", _PARTITION, 404),
    _get(f"{_PARTITION_PATH}/offsets", get_offsets, "Get offsets", _OFFSETS, 404),
)
