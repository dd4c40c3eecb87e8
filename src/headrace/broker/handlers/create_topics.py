"""CreateTopics, v2-v7.

Behaviour: each topic is judged on its own, and all that are accepted are created in one transaction
of the tree; when the answer leaves they can be written to. A name that occurs twice in a request is
refused once, and so are names that differ only in `.` and `_`. `validate_only` answers as if. A
client above its quota gets THROTTLING_QUOTA_EXCEEDED, before v6 only a throttle time (KIP-599).

Version notes: v4 default partition count and replication factor (KIP-464) · v5 flexible, configs of
the new topic in the answer (KIP-525) · v6 refused by a quota · v7 topic ids.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.configs import describe_topic
from headrace.cluster.image import ClusterImage, TopicCreated
from headrace.cluster.topic_names import collision_key
from headrace.cluster.topics import NewTopic, TopicDefaults, create_topic
from headrace.errors import ClientFault, Error
from headrace.types import ZERO_UUID
from headrace.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.machine import Machine
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.net.quotas import Mutations, Quotas


def handle(
    metadata: Metadata, quotas: Quotas, machine: Machine, request: CreateTopicsRequest, call: Call
) -> Answer[CreateTopicsResponse]:
    return _create(metadata, machine, request, quotas.mutations(call, strict_since=6))


async def _create(
    metadata: Metadata, machine: Machine, request: CreateTopicsRequest, mutations: Mutations
) -> CreateTopicsResponse:
    names = Counter(collision_key(topic.name) for topic in request.topics)
    created: dict[str, TopicCreated] = {}
    faults: dict[str, ClientFault] = {}

    def decide(image: ClusterImage) -> list[TopicCreated]:
        # Asked again because another broker was faster, what was created by us is no fault.
        done = {name for name, change in created.items() if change.topic.id in image.topic_names}
        faults.clear()
        for asked in request.topics:
            if asked.name in done:
                continue
            created.pop(asked.name, None)
            try:
                if names[collision_key(asked.name)] > 1:
                    raise ClientFault(
                        Error.INVALID_REQUEST, f"Topic '{asked.name}' occurs twice in the request."
                    )
                change = create_topic(
                    image,
                    _new_topic(asked),
                    topic_defaults(metadata),
                    chance=machine.chance,
                    new_id=machine.new_id,
                )
                mutations.charge(asked.name, len(change.topic.partitions))
                created[asked.name] = change
            except ClientFault as fault:
                faults[asked.name] = fault
        if request.validate_only:
            return []
        return [change for name, change in created.items() if name not in done]

    try:
        await metadata.change(decide)
    except ClientFault as fault:
        image = metadata.image
        faults.update(
            (name, fault)
            for name, change in created.items()
            if change.topic.id not in image.topic_names
        )
    results = []
    described: dict[tuple[tuple[str, str], ...], list[CreatableTopicConfigs]] = {}
    for name in dict.fromkeys(asked.name for asked in request.topics):
        if name in faults:
            results.append(_refused(name, faults[name]))
        else:
            change = created[name]
            # Most topics of a request have the same settings; their description is long.
            key = tuple(change.configs.items())
            if key not in described:
                described[key] = _describe(metadata, change)
            results.append(_accepted(change, described[key], request.validate_only))
    return CreateTopicsResponse(topics=results)


def _new_topic(asked: CreatableTopic) -> NewTopic:
    return NewTopic(
        asked.name,
        asked.num_partitions,
        asked.replication_factor,
        [(entry.partition_index, entry.broker_ids) for entry in asked.assignments],
        {config.name: config.value for config in asked.configs},
    )


def topic_defaults(metadata: Metadata) -> TopicDefaults:
    return TopicDefaults(
        metadata.settings.config.get_int("num.partitions"),
        metadata.settings.config.get_int("default.replication.factor"),
    )


def _describe(metadata: Metadata, change: TopicCreated) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=entry.source,
            is_sensitive=entry.is_sensitive,
        )
        for entry in describe_topic(change.configs, metadata.settings.config)
    ]


def _accepted(
    change: TopicCreated, configs: list[CreatableTopicConfigs], validate_only: bool
) -> CreatableTopicResult:
    topic = change.topic
    return CreatableTopicResult(
        name=topic.name,
        topic_id=ZERO_UUID if validate_only else topic.id,
        error_code=0,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=len(topic.partitions[0].replicas),
        configs=configs,
    )


def _refused(name: str, fault: ClientFault) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name,
        topic_id=ZERO_UUID,
        error_code=fault.error,
        error_message=fault.message,
        num_partitions=-1,
        replication_factor=-1,
        configs=None,
    )


HANDLER = Handler(request=CreateTopicsRequest, handle=handle)
