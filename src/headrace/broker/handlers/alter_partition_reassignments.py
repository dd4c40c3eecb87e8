"""AlterPartitionReassignments, v0-v1 (KIP-455).

Behaviour: each partition gets its own verdict. The move begins at once: new replicas are added and
catch up, then they lead, then the old ones leave; the answer does not wait for that. Asking for the
replicas that a partition has already succeeds and changes nothing; unknown brokers, a broker named
twice and an empty list are INVALID_REPLICA_ASSIGNMENT. Null calls a move off, and is
NO_REASSIGNMENT_IN_PROGRESS where there is none.

Version notes: v1 the request may forbid to change the number of replicas (KIP-860).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.image import Change, ClusterImage
from headrace.cluster.reassignments import alter
from headrace.errors import ClientFault
from headrace.types import TopicPartition
from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignableTopicResponse,
)
from headrace.wire.messages.alter_partition_reassignments import (
    ReassignablePartitionResponse as Outcome,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call


def handle(
    metadata: Metadata, request: AlterPartitionReassignmentsRequest, call: Call
) -> Answer[AlterPartitionReassignmentsResponse]:
    return _alter(metadata, request)


async def _alter(
    metadata: Metadata, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    responses = []
    rounds: list[dict[TopicPartition, tuple[Sequence[int] | None, Outcome]]] = []
    for topic in request.topics:
        outcomes = []
        for asked in topic.partitions:
            where = TopicPartition(topic.name, asked.partition_index)
            outcome = Outcome(partition_index=where.partition, error_code=0, error_message=None)
            outcomes.append(outcome)
            # A partition that is named again is judged after what was asked for it before.
            entries = next((each for each in rounds if where not in each), None)
            if entries is None:
                entries = {}
                rounds.append(entries)
            entries[where] = (asked.replicas, outcome)
        responses.append(ReassignableTopicResponse(name=topic.name, partitions=outcomes))
    for entries in rounds:
        wanted = {where: replicas for where, (replicas, _) in entries.items()}
        faults = await _alter_each(metadata, wanted, request.allow_replication_factor_change)
        for where, fault in faults.items():
            outcome = entries[where][1]
            outcome.error_code, outcome.error_message = fault.error, fault.message
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=0,
        error_message=None,
        responses=responses,
    )


async def _alter_each(
    metadata: Metadata,
    wanted: Mapping[TopicPartition, Sequence[int] | None],
    may_change_factor: bool,
) -> dict[TopicPartition, ClientFault]:
    """Begin the moves; returns why each of the others does not."""
    faults: dict[TopicPartition, ClientFault] = {}

    def decide(image: ClusterImage) -> Sequence[Change]:
        nonlocal faults
        changes, faults = alter(image, wanted, may_change_factor=may_change_factor)
        return changes

    try:
        await metadata.change(decide)
    except ClientFault as fault:
        return {where: faults.get(where, fault) for where in wanted}
    return faults


HANDLER = Handler(request=AlterPartitionReassignmentsRequest, handle=handle)
