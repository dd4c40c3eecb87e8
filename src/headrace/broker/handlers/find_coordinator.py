"""FindCoordinator, v0-v6.

Behaviour: which broker is responsible for a group, a transactional id or a share partition, whose
key is `group:topic id:partition`. The internal topic is created on the first request.
An unknown key type, or a key that names no share partition, is INVALID_REQUEST.

Version notes: v1 transactional ids (KIP-98) · v3 flexible · v4 several keys (KIP-699) · v6 share
partitions (KIP-932).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.coordinator.partitioner import partition_for
from headrace.errors import ClientFault, Error
from headrace.types import uuid_from_text
from headrace.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.sharing.coordinators import Shares
    from headrace.broker.transactions.transactions import Transactions

    AnyCoordinators: TypeAlias = Groups | Transactions | Shares

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_MANY_KEYS_SINCE: Final = 4


def handle(
    metadata: Metadata,
    groups: Groups,
    transactions: Transactions,
    shares: Shares,
    request: FindCoordinatorRequest,
    call: Call,
) -> Answer[FindCoordinatorResponse]:
    keys = request.coordinator_keys if call.version >= _MANY_KEYS_SINCE else [request.key]
    if request.key_type == _GROUP:
        coordinators: AnyCoordinators = groups
    elif request.key_type == _TRANSACTION:
        coordinators = transactions
    elif request.key_type == _SHARE:
        coordinators = shares
        for key in keys:
            if not _is_share_partition(key):
                why = f"{key!a} is not of the form group:topicId:partition"
                return _refused(call, keys, Error.INVALID_REQUEST, why)
    else:
        why = f"unknown key type {request.key_type}"
        return _refused(call, keys, Error.INVALID_REQUEST, why)
    if not coordinators.partition_count:
        return _create_then_find(metadata, coordinators, keys, call)
    return _answer(call, [_find(metadata, coordinators, key, call) for key in keys])


async def _create_then_find(
    metadata: Metadata, coordinators: AnyCoordinators, keys: Sequence[str], call: Call
) -> FindCoordinatorResponse:
    try:
        await coordinators.create_topic()
    except ClientFault as fault:
        return _refused(call, keys, Error.COORDINATOR_NOT_AVAILABLE, str(fault))
    return _answer(call, [_find(metadata, coordinators, key, call) for key in keys])


def _find(metadata: Metadata, coordinators: AnyCoordinators, key: str, call: Call) -> Coordinator:
    image = metadata.image
    index = partition_for(key, coordinators.partition_count)
    partition = image.partition(coordinators.topic_name, index)
    leader = None if partition is None else image.brokers.get(partition.leader)
    listener = call.connection.listener.name
    if leader is None or listener not in leader.endpoints:
        why = f"{coordinators.topic_name}-{index} has no leader"
        return _absent(key, Error.COORDINATOR_NOT_AVAILABLE, why)
    if leader.id == metadata.broker_id and index not in coordinators.hosts:
        why = f"{coordinators.topic_name}-{index} is being created"
        return _absent(key, Error.COORDINATOR_NOT_AVAILABLE, why)
    endpoint = leader.endpoints[listener]
    return Coordinator(
        key=key,
        node_id=leader.id,
        host=endpoint.host,
        port=endpoint.port,
        error_code=0,
        error_message=None,
    )


def _is_share_partition(key: str) -> bool:
    match key.rsplit(":", 2):  # the group's id may contain colons
        case group, topic_id, partition if group.strip() and partition.isdecimal():
            try:
                uuid_from_text(topic_id)
            except ValueError:
                return False
            return True
    return False


def _absent(key: str, error: Error, why: str) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=why)


def _refused(call: Call, keys: Sequence[str], error: Error, why: str) -> FindCoordinatorResponse:
    return _answer(call, [_absent(key, error, why) for key in keys])


def _answer(call: Call, found: list[Coordinator]) -> FindCoordinatorResponse:
    if call.version >= _MANY_KEYS_SINCE:
        return FindCoordinatorResponse(coordinators=found)
    (one,) = found
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


HANDLER = Handler(
    request=FindCoordinatorRequest,
    handle=handle,
    portions=Portions("coordinator_keys", "coordinators"),
)
