"""ElectLeaders, v0-v2 (KIP-183).

Behaviour: gives leadership back to the preferred replica, the first of a partition's list, or, with
election type 1, to any living replica of a partition without leader, which may lose records. A
partition that is led as it should be is ELECTION_NOT_NEEDED; a request for all partitions (null
topics) leaves such partitions out of its answer, and keeps their topics.

Version notes: v0 preferred replicas only · v1 election type, an error for the whole (KIP-460) · v2
flexible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.image import ClusterImage, PartitionChanged
from headrace.cluster.partitions import elect_preferred, elect_unclean
from headrace.errors import ClientFault, Error
from headrace.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call

_Election = Callable[[ClusterImage, str, int], PartitionChanged]

# By their number in the protocol.
_ELECTIONS: dict[int, _Election] = {0: elect_preferred, 1: elect_unclean}


def handle(
    metadata: Metadata, request: ElectLeadersRequest, call: Call
) -> Answer[ElectLeadersResponse]:
    return _elect(metadata, request)


async def _elect(metadata: Metadata, request: ElectLeadersRequest) -> ElectLeadersResponse:
    election = _ELECTIONS.get(request.election_type)
    if election is None:
        why = f"There is no election type {request.election_type}."
        return _refusal(request, ClientFault(Error.INVALID_REQUEST, why))
    results: list[ReplicaElectionResult] = []

    def decide(image: ClusterImage) -> list[PartitionChanged]:
        asked = request.topic_partitions
        changes: dict[tuple[str, int], PartitionChanged] = {}
        results.clear()
        for topic in _all_partitions(image) if asked is None else asked:
            outcomes = []
            for number in topic.partitions:
                outcome = PartitionResult(partition_id=number, error_code=0, error_message=None)
                try:
                    changes[topic.topic, number] = election(image, topic.topic, number)
                except ClientFault as fault:
                    outcome.error_code, outcome.error_message = fault.error, fault.message
                if asked is not None or outcome.error_code != Error.ELECTION_NOT_NEEDED:
                    outcomes.append(outcome)
            results.append(ReplicaElectionResult(topic=topic.topic, partition_result=outcomes))
        return list(changes.values())

    try:
        await metadata.change(decide)
    except ClientFault as fault:
        return _refusal(request, fault)
    return ElectLeadersResponse(replica_election_results=results)


def _all_partitions(image: ClusterImage) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic=name, partitions=list(range(len(topic.partitions))))
        for name, topic in image.topics.items()
    ]


def _refusal(request: ElectLeadersRequest, fault: ClientFault) -> ElectLeadersResponse:
    """An error for the whole is repeated for each partition, where v0 would look for it."""
    return ElectLeadersResponse(
        error_code=fault.error,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(
                        partition_id=number, error_code=fault.error, error_message=fault.message
                    )
                    for number in topic.partitions
                ],
            )
            for topic in request.topic_partitions or []
        ],
    )


HANDLER = Handler(request=ElectLeadersRequest, handle=handle)
