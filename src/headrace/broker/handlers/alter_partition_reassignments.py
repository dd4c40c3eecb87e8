"""AlterPartitionReassignments, v0-v1 (KIP-455).

Behaviour: each partition gets its own verdict. Asking for the replicas that a partition has already
succeeds and changes nothing; unknown brokers, a broker named twice and an empty list are
INVALID_REPLICA_ASSIGNMENT; calling off (null) is NO_REASSIGNMENT_IN_PROGRESS.

Version notes: v1 the request may forbid to change the number of replicas (KIP-860).

Not done: moving replicas to other brokers; a cluster of one broker has no place to move them to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.dispatch import Answer, Handler
from headrace.cluster.reassignments import check_reassignment
from headrace.errors import ClientFault
from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.connection import Call


def handle(broker: Broker, request: AlterPartitionReassignmentsRequest, call: Call) -> Answer:
    may_change_factor = request.allow_replication_factor_change
    responses = []
    for topic in request.topics:
        outcomes = []
        for asked in topic.partitions:
            number = asked.partition_index
            outcome = ReassignablePartitionResponse(
                partition_index=number, error_code=0, error_message=None
            )
            outcomes.append(outcome)
            try:
                check_reassignment(
                    broker.metadata.image,
                    topic.name,
                    number,
                    asked.replicas,
                    may_change_factor=may_change_factor,
                )
            except ClientFault as fault:
                outcome.error_code, outcome.error_message = fault.error, fault.message
        responses.append(ReassignableTopicResponse(name=topic.name, partitions=outcomes))
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=may_change_factor,
        error_code=0,
        error_message=None,
        responses=responses,
    )


HANDLER = Handler(
    key=45, versions=(0, 1), request=AlterPartitionReassignmentsRequest, handle=handle
)
