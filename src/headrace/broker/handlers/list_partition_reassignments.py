"""ListPartitionReassignments, v0 (KIP-455).

Behaviour: the partitions whose replicas are on the move, and nothing of all others: unknown topics
and partitions are left out as well. Replicas do not move yet, so the list is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.dispatch import Answer, Handler
from headrace.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.connection import Call


def handle(broker: Broker, request: ListPartitionReassignmentsRequest, call: Call) -> Answer:
    return ListPartitionReassignmentsResponse(error_code=0, error_message=None, topics=[])


HANDLER = Handler(key=46, versions=(0, 0), request=ListPartitionReassignmentsRequest, handle=handle)
