"""Metadata, v0-v13.

Behaviour:
- v0: an empty list means all topics; from v1 null means all and an empty list none;
- hosts and ports are those advertised for the listener that was asked, and all brokers that are
  registered are named; a partition without a living leader is LEADER_NOT_AVAILABLE, one whose
  leader has no such listener LISTENER_NOT_FOUND;
- an unknown topic is created when both the client and `auto.create.topics.enable` allow it, and
  the answer waits for it; otherwise it is UNKNOWN_TOPIC_OR_PARTITION;
- topics may be asked by id from v12 (KIP-516); one that is asked for twice is described once.

Version notes: v1 rack, controller, internal flag · v2 cluster id · v4 auto-creation flag · v5
offline replicas · v7 leader epoch · v8 authorized operations · v9 flexible · v10 topic ids ·
v13 top-level error (KIP-1102).

Not done: an authorizer; authorized operations are therefore all there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.broker import authorized_operations
from headrace.broker.handlers.create_topics import topic_defaults
from headrace.broker.membership.partition_view import view
from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.broker.watching import logs
from headrace.cluster.image import ClusterImage, TopicCreated
from headrace.cluster.topic_names import INTERNAL_TOPICS, check_name, collision_key
from headrace.cluster.topics import NewTopic, create_topic
from headrace.errors import ClientFault, Error
from headrace.types import ZERO_UUID
from headrace.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from headrace.wire.types import Kept

if TYPE_CHECKING:
    from headrace.broker.machine import Machine
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.net.quotas import Quotas
    from headrace.broker.storage.storage import Storage
    from headrace.cluster.image import BrokerRegistration, PartitionImage, TopicImage

# Smaller topics are described in less time than it takes to remember them.
_REMEMBERED_FROM: Final = 100
_MOST_REMEMBERED: Final = 64


@dataclass(frozen=True, slots=True)
class Parts:
    """What Metadata needs of the broker."""

    metadata: Metadata
    storage: Storage
    quotas: Quotas
    machine: Machine
    described: dict[tuple[str, str], Described] = field(default_factory=dict)
    """Large topics, by name and listener, as they were described last."""


def handle(parts: Parts, request: MetadataRequest, call: Call) -> Answer[MetadataResponse]:
    image = parts.metadata.image
    asked = request.topics
    if asked is None or (call.version == 0 and not asked):
        topics = [describe_topic(parts, topic, request, call) for topic in image.topics.values()]
        return _response(parts, call, request, topics)
    if len(asked) > 1:
        asked = list({(topic.name, topic.topic_id): topic for topic in asked}.values())
    missing = [
        topic.name
        for topic in asked
        if topic.topic_id == ZERO_UUID and topic.name and topic.name not in image.topics
    ]
    may_create = request.allow_auto_topic_creation if call.version >= 4 else True
    if (
        missing
        and may_create
        and parts.metadata.settings.config.get_bool("auto.create.topics.enable")
    ):
        return _create_then_answer(parts, request, asked, missing, call)
    return _answer(parts, request, asked, call)


async def _create_then_answer(
    parts: Parts,
    request: MetadataRequest,
    asked: list[MetadataRequestTopic],
    missing: list[str],
    call: Call,
) -> MetadataResponse:
    mutations = parts.quotas.mutations(call, strict_since=None)

    def decide(image: ClusterImage) -> list[TopicCreated]:
        created: dict[str, TopicCreated] = {}
        for name in missing:
            key = collision_key(name)
            try:
                if name not in image.topics and key not in created:
                    created[key] = create_topic(
                        image,
                        NewTopic(name),
                        topic_defaults(parts.metadata),
                        chance=parts.machine.chance,
                        new_id=parts.machine.new_id,
                    )
                    mutations.charge(name, len(created[key].topic.partitions))
            except ClientFault as fault:
                logs.CONTROLLER.info("Topic %s was not created: %s", ascii(name), fault)
        return list(created.values())

    try:
        await parts.metadata.change(decide)
    except ClientFault as fault:
        # The client is told that the topic is not there, and asks again.
        logs.CONTROLLER.info("Topics were not created: %s", fault)
    return _answer(parts, request, asked, call)


def _answer(
    parts: Parts, request: MetadataRequest, asked: list[MetadataRequestTopic], call: Call
) -> MetadataResponse:
    image = parts.metadata.image
    topics = []
    for wanted in asked:
        name = wanted.name
        if wanted.topic_id != ZERO_UUID:
            name = image.topic_names.get(wanted.topic_id)
            if name is None:
                topics.append(
                    MetadataResponseTopic(
                        error_code=Error.UNKNOWN_TOPIC_ID,
                        name=None if call.version >= 12 else "",
                        topic_id=wanted.topic_id,
                        partitions=[],
                    )
                )
                continue
        topic = image.topics.get(name or "")
        if topic is not None:
            topics.append(describe_topic(parts, topic, request, call))
        else:
            topics.append(
                MetadataResponseTopic(error_code=_absence(name), name=name or "", partitions=[])
            )
    return _response(parts, call, request, topics)


def _absence(name: str | None) -> Error:
    """Why a topic is not there: nobody made it, or nobody can."""
    try:
        check_name(name or "")
    except ClientFault as fault:
        return fault.error
    return Error.UNKNOWN_TOPIC_OR_PARTITION


def describe_topic(
    parts: Parts, topic: TopicImage, request: MetadataRequest, call: Call
) -> MetadataResponseTopic:
    listener = call.connection.listener.name
    if len(topic.partitions) < _REMEMBERED_FROM:
        partitions = _describe_partitions(parts, topic, listener)
    else:
        partitions = _remembered_partitions(parts, topic, listener)
    return MetadataResponseTopic(
        error_code=0,
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=partitions,
        topic_authorized_operations=authorized_operations.ON_TOPIC
        if request.include_topic_authorized_operations
        else authorized_operations.NOT_ASKED,
    )


class Described(NamedTuple):
    """The partitions of a large topic as they were described, and what was true then."""

    images: list[PartitionImage]
    brokers: dict[int, BrokerRegistration]
    partitions: Kept[MetadataResponsePartition]


def _remembered_partitions(
    parts: Parts, topic: TopicImage, listener: str
) -> list[MetadataResponsePartition]:
    """To describe a thousand partitions and to encode that takes milliseconds, to see that nothing
    has changed does not. Nothing is remembered of a topic with a replica that is offline.
    """
    remembered = parts.described
    key = (topic.name, listener)
    found = remembered.get(key)
    brokers = parts.metadata.image.brokers
    all_online = all(directory.online for directory in parts.storage.directories)
    if (
        found is not None
        and all_online
        and found.images == topic.partitions
        and found.brokers == brokers
    ):
        return found.partitions
    partitions = _describe_partitions(parts, topic, listener)
    remembered.pop(key, None)
    if all_online and not any(each.offline_replicas for each in partitions):
        if len(remembered) >= _MOST_REMEMBERED:
            remembered.clear()
        kept = Kept(partitions)
        remembered[key] = Described(list(topic.partitions), dict(brokers), kept)
        return kept
    return partitions


def _describe_partitions(
    parts: Parts, topic: TopicImage, listener: str
) -> list[MetadataResponsePartition]:
    partitions = []
    for index in range(len(topic.partitions)):
        seen = view(parts.metadata, parts.storage, topic, index, listener)
        partitions.append(
            MetadataResponsePartition(
                error_code=seen.error,
                partition_index=index,
                leader_id=seen.leader,
                leader_epoch=seen.leader_epoch,
                replica_nodes=seen.replicas,
                isr_nodes=seen.isr,
                offline_replicas=seen.offline_replicas,
            )
        )
    return partitions


def _response(
    parts: Parts, call: Call, request: MetadataRequest, topics: list[MetadataResponseTopic]
) -> MetadataResponse:
    image = parts.metadata.image
    listener = call.connection.listener.name
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=member.id,
                host=member.endpoints[listener].host,
                port=member.endpoints[listener].port,
                rack=member.rack,
            )
            for member in image.brokers.values()
            if listener in member.endpoints
        ],
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        topics=topics,
        cluster_authorized_operations=authorized_operations.ON_CLUSTER
        if request.include_cluster_authorized_operations
        else authorized_operations.NOT_ASKED,
    )


HANDLER = Handler(
    request=MetadataRequest,
    handle=handle,
    portions=Portions("topics", "topics", is_set=True),
)
