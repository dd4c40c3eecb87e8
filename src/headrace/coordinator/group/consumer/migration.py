"""Between the two protocols: a classic group becomes a consumer group, and back (KIP-848).

The first consumer of the new protocol takes a classic group along, with its members, if these are
consumers. They stay members of the classic protocol inside the consumer group. When the last one
of the new protocol has left, the others go on as a classic group. A policy may forbid either way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Protocol
from uuid import UUID

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group.consumer.member import Member, Owned
from headrace.coordinator.group.consumer.persistence import (
    RECORDS,
    current_record,
    member_record,
    partition_metadata_tombstone,
    regex_tombstone,
)
from headrace.coordinator.group.consumer.roster import Downgrade, Roster
from headrace.coordinator.group.modern.member import Target
from headrace.coordinator.group.modern.subscriptions import metadata_hash
from headrace.coordinator.group.records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    GroupMetadataKey,
    GroupMetadataValue,
    GroupRecord,
    MemberMetadata,
)
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.topics import Topics
from headrace.errors import ClientFault, Error
from headrace.wire import MalformedMessage
from headrace.wire.consumer_protocol import (
    PROTOCOL_TYPE,
    ConsumerProtocolAssignment,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    version_of,
)

_UPGRADING: Final = frozenset({"bidirectional", "upgrade"})
_DOWNGRADING: Final = frozenset({"bidirectional", "downgrade"})
DISABLED: Final = "disabled"


class ClassicMemberView(Protocol):
    """What must be known of a member of a classic group to take it along."""

    @property
    def member_id(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def rebalance_timeout_ms(self) -> int: ...
    @property
    def session_timeout_ms(self) -> int: ...
    @property
    def protocols(self) -> list[tuple[str, bytes]]: ...
    @property
    def assignment(self) -> bytes: ...


class ClassicGroupView(Protocol):
    """What must be known of a classic group to take it along."""

    @property
    def group_id(self) -> str: ...
    @property
    def generation_id(self) -> int: ...
    @property
    def protocol_type(self) -> str | None: ...
    @property
    def protocol_name(self) -> str | None: ...
    @property
    def members(self) -> Mapping[str, ClassicMemberView]: ...


def check_upgrade(classic: ClassicGroupView, settings: GroupSettings) -> None:
    """Refuse to take along what must not or cannot become a consumer group."""
    if settings.group_consumer_migration_policy not in _UPGRADING:
        why = "group.consumer.migration.policy does not allow it"
    elif classic.protocol_type != PROTOCOL_TYPE:
        why = f"its members are no consumers but of protocol type {classic.protocol_type}"
    elif len(classic.members) > settings.group_consumer_max_size:
        why = "it has more members than group.consumer.max.size"
    else:
        return
    raise _no_upgrade(classic, why)


def build_upgrade_records(classic: ClassicGroupView, topics: Topics) -> list[GroupRecord]:
    """What ends a classic group and begins a consumer group with the same members and partitions.

    The generation becomes the epoch; what members have is their target.
    """
    records: list[GroupRecord] = [StateRecord(GroupMetadataKey(group=classic.group_id), None)]
    if not classic.members:
        return records
    members = [_upgraded(classic, each, topics) for each in classic.members.values()]
    wanted = {name for member in members for name in member.subscribed_topic_names}
    group_id, epoch = classic.group_id, classic.generation_id
    records += [member_record(group_id, member) for member in members]
    records.append(RECORDS.epoch(group_id, epoch, metadata_hash(wanted, topics)))
    for member in members:
        target = {topic_id: frozenset(owned) for topic_id, owned in member.assigned.items()}
        records.append(RECORDS.target(group_id, member.member_id, target))
    records.append(RECORDS.target_epoch(group_id, epoch, 0))
    records += [current_record(group_id, member) for member in members]
    return records


def _upgraded(classic: ClassicGroupView, member: ClassicMemberView, topics: Topics) -> Member:
    protocols = dict(member.protocols)
    try:
        subscription = decode_subscription(
            protocols[classic.protocol_name]
            if classic.protocol_name in protocols
            else member.protocols[0][1]
        )
        assignment = decode_assignment(member.assignment) if member.assignment else None
    except MalformedMessage as reason:
        raise _no_upgrade(
            classic, f"{member.member_id} sent what cannot be read: {reason}"
        ) from None
    if assignment is not None and assignment.user_data:
        raise _no_upgrade(classic, "its assignor sends data of its own, which would be lost")
    assigned: dict[UUID, dict[int, int]] = {}
    for each in assignment.assigned_partitions if assignment is not None else ():
        topic_id = topics.topic_id(each.topic)
        if topic_id is not None:
            assigned[topic_id] = dict.fromkeys(each.partitions, classic.generation_id)
    return Member(
        member_id=member.member_id,
        member_epoch=classic.generation_id,
        previous_member_epoch=classic.generation_id,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        classic=classic_metadata(member.session_timeout_ms, member.protocols),
        assigned=assigned,
    )


def _no_upgrade(classic: ClassicGroupView, why: str) -> ClientFault:
    return ClientFault(
        Error.GROUP_ID_NOT_FOUND,
        f"classic group {classic.group_id} cannot become a consumer group: {why}",
    )


def classic_metadata(
    session_timeout_ms: int, protocols: Collection[tuple[str, bytes]]
) -> ClassicMemberMetadata:
    """What a consumer group remembers of a member of the classic protocol."""
    supported = [ClassicProtocol(name=name, metadata=bytes(data)) for name, data in protocols]
    return ClassicMemberMetadata(
        session_timeout_ms=session_timeout_ms, supported_protocols=supported
    )


def may_downgrade_without(group: Roster, leaving: Collection[str]) -> bool:
    """Whether a classic group would be left when these members are gone."""
    remaining = [each for each in group.members.values() if each.member_id not in leaving]
    return (
        bool(remaining)
        and all(each.uses_classic_protocol for each in remaining)
        and _may_downgrade(group, len(remaining))
    )


def may_downgrade_replacing(group: Roster, replaced: Member | None) -> bool:
    """Whether a classic group would be left when this member is replaced by a classic one."""
    return (
        replaced is not None
        and not replaced.uses_classic_protocol
        and group.classic_member_count == len(group.members) - 1
        and _may_downgrade(group, len(group.members))
    )


def _may_downgrade(group: Roster, size: int) -> bool:
    settings = group.settings
    return (
        settings.group_consumer_migration_policy in _DOWNGRADING and size <= settings.group_max_size
    )


def build_group_tombstones(group: Roster, member_ids: Collection[str]) -> list[GroupRecord]:
    """What ends a consumer group and these members of it."""
    group_id = group.group_id
    by_member = [RECORDS.member_tombstones(group_id, member_id) for member_id in sorted(member_ids)]
    return [
        *(current for current, _, _ in by_member),
        *(target for _, target, _ in by_member),
        RECORDS.target_epoch_tombstone(group_id),
        *(metadata for _, _, metadata in by_member),
        *(regex_tombstone(group_id, regex) for regex in sorted(group.regexes)),
        partition_metadata_tombstone(group_id),
        RECORDS.epoch_tombstone(group_id),
    ]


def build_downgrade_records(
    group: Roster, members: Mapping[str, Member], leaving: Collection[str], now_ms: int
) -> list[GroupRecord]:
    """What ends a consumer group, and begins a classic one of those members that do not leave.

    Its generation is the epoch, and what members have in it is what they shall have here.
    """
    protocol = _chosen_protocol(list(members.values()))
    classic_members = []
    for member in members.values():
        assert member.classic is not None, "only members of the classic protocol remain"
        metadata = dict(member.classic_protocols)[protocol]
        target = group.target_of(member)
        classic_members.append(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.classic.session_timeout_ms,
                subscription=metadata,
                assignment=encode_partitions(target, group.topics, version_of(metadata)),
            )
        )
    value = GroupMetadataValue(
        protocol_type=PROTOCOL_TYPE,
        generation=group.group_epoch,
        protocol=protocol,
        leader=classic_members[0].member_id,
        current_state_timestamp=now_ms,
        members=classic_members,
    )
    ending = build_group_tombstones(group, members.keys() | set(leaving))
    return [*ending, StateRecord(GroupMetadataKey(group=group.group_id), value)]


def note_downgrade(group: Roster, members: Mapping[str, Member], reason: str | None) -> None:
    """Leave word for whoever makes the classic group out of the records."""
    protocols = {each.member_id: each.classic_protocols for each in members.values()}
    group.downgrade = Downgrade(reason, protocols)


def encode_partitions(partitions: Target | Owned, topics: Topics, version: int) -> bytes:
    """An assignment as members of the classic protocol read it; topics that are gone are not in."""
    names = {topics.topic_name(topic_id): topic_id for topic_id in partitions}
    assigned = [
        TopicPartitions(topic=name, partitions=sorted(partitions[names[name]]))
        for name in sorted(name for name in names if name is not None)
    ]
    known = min(max(version, 0), 3)
    return encode_assignment(ConsumerProtocolAssignment(assigned_partitions=assigned), known)


def _chosen_protocol(members: list[Member]) -> str:
    """The protocol that all support and most like best."""
    supported = [[name for name, _ in member.classic_protocols] for member in members]
    shared = [name for name in supported[0] if all(name in names for names in supported)]
    votes = dict.fromkeys(shared, 0)
    for names in supported:
        votes[next(name for name in names if name in votes)] += 1
    return max(shared, key=votes.__getitem__)
