"""Requests of members and administrators, with what most tests do not care about filled in."""

from __future__ import annotations

from typing import Any

from headrace.errors import Error
from headrace.wire.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from headrace.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.coordinator.offsets_partition import OffsetsPartition

SESSION_MS = 10_000
JOIN_WITHOUT_ID = 3  # the last version in which a member need not know its id before it joins


def commit_request(
    group: str, offset: int, *, topic: str = "orders", index: int = 0, **who: Any
) -> OffsetCommitRequest:
    wanted = OffsetCommitRequestPartition(
        partition_index=index, committed_offset=offset, committed_metadata=None
    )
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[wanted])]
    return OffsetCommitRequest(group_id=group, topics=topics, **{"member_id": "", **who})


def txn_commit_request(
    group: str, offset: int, *, producer_id: int, index: int = 0, **who: Any
) -> TxnOffsetCommitRequest:
    wanted = TxnOffsetCommitRequestPartition(
        partition_index=index, committed_offset=offset, committed_metadata=None
    )
    return TxnOffsetCommitRequest(
        transactional_id="t",
        group_id=group,
        producer_id=producer_id,
        producer_epoch=0,
        topics=[TxnOffsetCommitRequestTopic(name="orders", partitions=[wanted])],
        **who,
    )


def commit(partition: OffsetsPartition, group: str, offset: int, **options: Any) -> Error:
    """Commit one offset, from outside of the group unless options say otherwise."""
    version = options.pop("version", 9)
    response = partition.ask("offset_commit", commit_request(group, offset, **options), version)
    return Error(response.topics[0].partitions[0].error_code)


def join_request(
    group: str,
    member_id: str = "",
    *,
    topics: tuple[str, ...] = ("orders",),
    protocol_type: str = "consumer",
    protocols: tuple[str, ...] = ("range",),
    metadata: bytes | None = None,
    session_timeout_ms: int = SESSION_MS,
    rebalance_timeout_ms: int = SESSION_MS,
) -> JoinGroupRequest:
    if metadata is None:
        metadata = encode_subscription(ConsumerProtocolSubscription(topics=list(topics)), 1)
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        member_id=member_id,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name in protocols],
    )


def join_classic(partition: OffsetsPartition, group: str, **options: Any) -> tuple[str, int]:
    """Let the only member of a classic group join and sync: its id and generation."""
    ticket = partition.begin("join_group", join_request(group, **options), JOIN_WITHOUT_ID)
    partition.pass_time(0)
    joined = partition.answers[ticket]
    assert joined.error_code == Error.NONE, Error(joined.error_code).name
    assignments = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"")]
    request = SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        assignments=assignments,
    )
    synced = partition.ask("sync_group", request, 3)
    assert synced.error_code == Error.NONE, Error(synced.error_code).name
    return joined.member_id, joined.generation_id


def leave(partition: OffsetsPartition, group: str, member_id: str) -> Any:
    members = [MemberIdentity(member_id=member_id)]
    return partition.ask("leave_group", LeaveGroupRequest(group_id=group, members=members), 3)


def heartbeat_request(
    group: str, member_id: str = "m1", epoch: int = 0, **changes: Any
) -> ConsumerGroupHeartbeatRequest:
    """A heartbeat of the consumer protocol; epoch 0 joins with everything that this takes."""
    if epoch == 0:
        joining = {"rebalance_timeout_ms": SESSION_MS, "topic_partitions": []}
        changes = {**joining, "subscribed_topic_names": ["orders"], **changes}
    return ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=member_id, member_epoch=epoch, **changes
    )


def join_consumer(partition: OffsetsPartition, group: str, **options: Any) -> int:
    """Let a member of the consumer protocol join: its epoch."""
    request = heartbeat_request(group, **options)
    response = partition.ask("consumer_group_heartbeat", request, 1)
    assert response.error_code == Error.NONE, response.error_message
    return int(response.member_epoch)
