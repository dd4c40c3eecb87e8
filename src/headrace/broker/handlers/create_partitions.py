"""CreatePartitions, v0-v3.

Behaviour: adds partitions to topics, with replicas placed by the cluster or given by hand; every
topic of the request is echoed with its own error. The count can only grow. Keys map to other
partitions afterwards, which is why keyed topics are better made large enough at once.

A client above its quota gets THROTTLING_QUOTA_EXCEEDED, before v3 only a throttle time
(KIP-599).

Version notes: v2 flexible · v3 refused by a quota.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.image import ClusterImage, PartitionsAdded
from headrace.cluster.topics import create_partitions
from headrace.errors import ClientFault, Error
from headrace.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.net.quotas import Mutations, Quotas


def handle(
    metadata: Metadata, quotas: Quotas, request: CreatePartitionsRequest, call: Call
) -> Answer[CreatePartitionsResponse]:
    return _create(metadata, request, quotas.mutations(call, strict_since=3))


async def _create(
    metadata: Metadata, request: CreatePartitionsRequest, mutations: Mutations
) -> CreatePartitionsResponse:
    names = Counter(topic.name for topic in request.topics)
    results: list[CreatePartitionsTopicResult] = []

    def decide(image: ClusterImage) -> list[PartitionsAdded]:
        accepted: list[PartitionsAdded] = []
        results.clear()
        for asked in request.topics:
            result = CreatePartitionsTopicResult(name=asked.name, error_code=0, error_message=None)
            results.append(result)
            try:
                if names[asked.name] > 1:
                    raise ClientFault(Error.INVALID_REQUEST, "The topic occurs twice.")
                assignments = asked.assignments
                change = create_partitions(
                    image,
                    asked.name,
                    asked.count,
                    None if assignments is None else [entry.broker_ids for entry in assignments],
                )
                mutations.charge(asked.name, len(change.topic.partitions) - change.existing)
                accepted.append(change)
            except ClientFault as fault:
                result.error_code, result.error_message = fault.error, fault.message
        return [] if request.validate_only else accepted

    try:
        await metadata.change(decide)
    except ClientFault as fault:
        for result in results:
            if not result.error_code:
                result.error_code, result.error_message = fault.error, fault.message
    return CreatePartitionsResponse(results=results)


HANDLER = Handler(request=CreatePartitionsRequest, handle=handle)
