"""When the offsets of a group may go, and when the group itself may (KIP-211).

A group that is in use keeps the offsets of all topics that it is subscribed to. The time of
retention begins when the group becomes empty; for what it is not subscribed to, and for groups that
only store offsets, with the commit. An empty group without offsets is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group.classic import ClassicGroup, ClassicState
from headrace.coordinator.group.consumer import ConsumerGroup
from headrace.coordinator.group.listing import Group
from headrace.coordinator.group.offsets import CommittedOffset, CommittedOffsets, tombstone
from headrace.coordinator.group.records import GroupMetadataKey, GroupRecord
from headrace.types import NO_TIMESTAMP
from headrace.wire.consumer_protocol import PROTOCOL_TYPE


def expired_records(
    group: ClassicGroup | ConsumerGroup,
    offsets: CommittedOffsets,
    *,
    retention_ms: int,
    now_ms: int,
) -> list[GroupRecord]:
    """Tombstones for what nobody has needed for so long, and for the group if nothing is left."""
    age_since_ms = _age_of_offsets(group)
    expired = []
    if age_since_ms is not None:
        expired = offsets.expired(
            group.group_id,
            age_since_ms=age_since_ms,
            is_in_use=lambda topic: is_subscribed(group, topic),
            retention_ms=retention_ms,
            now_ms=now_ms,
        )
    records = [tombstone(group.group_id, partition) for partition in expired]
    is_nothing_left = len(expired) == len(offsets.of_group(group.group_id))
    if is_nothing_left and group.is_empty and not _is_awaited(group, offsets):
        records += group_tombstones(group)
    return records


def _is_awaited(group: ClassicGroup | ConsumerGroup, offsets: CommittedOffsets) -> bool:
    """Whether an empty group is about to get a member or an offset."""
    # Apache Kafka does not look at members that were only given their id yet: there the next join
    # of such a member meets UNKNOWN_MEMBER_ID if the group expires in between.
    is_joining = isinstance(group, ClassicGroup) and bool(group.pending_members)
    return is_joining or offsets.has_open_transaction(group.group_id)


def group_tombstones(group: Group) -> list[GroupRecord]:
    """What makes the log forget a group, but not its offsets."""
    if isinstance(group, ClassicGroup):
        return [StateRecord(GroupMetadataKey(group=group.group_id), None)]
    return group.build_tombstones()


def is_subscribed(group: Group, topic: str) -> bool:
    """Whether members read this topic; consumers that cannot be understood may read any."""
    topics = group.subscribed_topics()
    if topics is None:
        return isinstance(group, ClassicGroup) and group.protocol_type == PROTOCOL_TYPE
    return topic in topics


def _age_of_offsets(group: ClassicGroup | ConsumerGroup) -> Callable[[CommittedOffset], int] | None:
    """Since when an offset is not needed any more; None if all of them may be needed."""
    if not isinstance(group, ClassicGroup) or group.protocol_type is None:
        return _since_commit
    if group.state is ClassicState.EMPTY:
        empty_since_ms = group.state_since_ms
        if empty_since_ms == NO_TIMESTAMP:
            return _since_commit
        return lambda _: empty_since_ms
    is_readable = group.subscribed_topics() is not None
    if group.protocol_type == PROTOCOL_TYPE and is_readable and group.state is ClassicState.STABLE:
        return _since_commit
    return None


def _since_commit(offset: CommittedOffset) -> int:
    return offset.commit_timestamp_ms
