"""DeleteTopics, v1-v6.

Behaviour: topics are gone when the answer leaves; their files are unlinked after
`file.delete.delay.ms`. From v6 on a topic may be named by its id (KIP-516). With
`delete.topic.enable=false` the answer is TOPIC_DELETION_DISABLED. Who has deleted more partitions
than its quota gets THROTTLING_QUOTA_EXCEEDED, before v5 only to wait (KIP-599).

Version notes: v4 flexible · v5 error messages, refused by a quota · v6 topic ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.image import ClusterImage, TopicDeleted
from headrace.cluster.topics import delete_topic
from headrace.errors import ClientFault, Error
from headrace.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.net.quotas import Mutations, Quotas


def handle(
    metadata: Metadata, quotas: Quotas, request: DeleteTopicsRequest, call: Call
) -> Answer[DeleteTopicsResponse]:
    asked = list(request.topics)
    asked += [DeleteTopicState(name=name) for name in request.topic_names]
    return _delete(metadata, asked, quotas.mutations(call, strict_since=5))


async def _delete(
    metadata: Metadata, asked: list[DeleteTopicState], mutations: Mutations
) -> DeleteTopicsResponse:
    results: list[DeletableTopicResult] = []
    done: set[str] = set()

    def decide(image: ClusterImage) -> list[TopicDeleted]:
        accepted: dict[str, TopicDeleted] = {}
        results.clear()
        for wanted in asked:
            result = DeletableTopicResult(
                name=wanted.name, topic_id=wanted.topic_id, error_code=0, error_message=None
            )
            results.append(result)
            if wanted.name in done and wanted.name not in image.topics:
                continue  # By us, in an attempt of which another part failed.
            try:
                change = delete_topic(
                    image,
                    name=wanted.name,
                    topic_id=wanted.topic_id,
                    deletion_enabled=metadata.settings.config.get_bool("delete.topic.enable"),
                )
                if change.topic.name in accepted:
                    raise ClientFault(Error.INVALID_REQUEST, "The topic occurs twice.")
                mutations.charge(change.topic.name, len(change.topic.partitions))
                accepted[change.topic.name] = change
                result.name, result.topic_id = change.topic.name, change.topic.id
            except ClientFault as fault:
                result.error_code, result.error_message = fault.error, fault.message
        done.update(accepted)
        return list(accepted.values())

    try:
        await metadata.change(decide)
    except ClientFault as fault:
        for result in results:
            if not result.error_code and result.name in metadata.image.topics:
                result.error_code, result.error_message = fault.error, fault.message
    return DeleteTopicsResponse(responses=results)


HANDLER = Handler(request=DeleteTopicsRequest, handle=handle)
