"""The records of `__consumer_offsets`: committed offsets, and the groups that commit them.

    TYPE  KEY                                       VALUE VERSIONS  WRITTEN
    0, 1  OffsetCommitKey                                      0-4  4; 1 with an expire timestamp
       2  GroupMetadataKey                                     0-4  3
       3  ConsumerGroupMetadataKey                               0  0
       4  ConsumerGroupPartitionMetadataKey                      0  0
       5  ConsumerGroupMemberMetadataKey                         0  0
       6  ConsumerGroupTargetAssignmentMetadataKey               0  0
       7  ConsumerGroupTargetAssignmentMemberKey                 0  0
       8  ConsumerGroupCurrentMemberAssignmentKey                0  0
      10  ShareGroupMemberMetadataKey                            0  0
      11  ShareGroupMetadataKey                                  0  0
      12  ShareGroupTargetAssignmentMetadataKey                  0  0
      13  ShareGroupTargetAssignmentMemberKey                    0  0
      14  ShareGroupCurrentMemberAssignmentKey                   0  0
      15  ShareGroupStatePartitionMetadataKey                    0  0
      16  ConsumerGroupRegularExpressionKey                      0  0

The other types of Apache Kafka 4.3, 17 to 23, are those of streams groups; 9 was a share group's in
a preview. The bytes are those of Kafka; docs/formats/consumer-offsets.md describes them.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.formats import RecordFormats, RecordType
from headrace.coordinator.group.modern.records import (
    TargetAssignmentMemberValue,
    TargetAssignmentMetadataValue,
)
from headrace.coordinator.group.share_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
)
from headrace.types import NO_EPOCH, NO_TIMESTAMP, ZERO_UUID
from headrace.wire.schema import data, struct, tagged, v
from headrace.wire.types import Int8, Int32, Int64, Uuid


@data(versions="0")
class OffsetCommitKey:
    group: str
    topic: str
    partition: Int32


@data(versions="0-4", flexible=4)
class OffsetCommitValue:
    offset: Int64
    leader_epoch: Int32 = v(3, default=NO_EPOCH, ignorable=True)
    metadata: str
    commit_timestamp: Int64
    expire_timestamp: Int64 = v(1, 1, default=NO_TIMESTAMP, ignorable=True)
    topic_id: Uuid = tagged(0, since=4, default=ZERO_UUID, ignorable=True)


@data(versions="0")
class GroupMetadataKey:
    group: str


@struct
class MemberMetadata:
    """One member of a classic group, with what it sent and what its leader assigned to it."""

    member_id: str
    group_instance_id: str | None = v(3, default=None, ignorable=True)
    client_id: str
    client_host: str
    rebalance_timeout: Int32 = v(1, default=-1, ignorable=True)
    session_timeout: Int32
    subscription: bytes
    assignment: bytes


@data(versions="0-4", flexible=4)
class GroupMetadataValue:
    protocol_type: str
    generation: Int32
    protocol: str | None
    leader: str | None
    current_state_timestamp: Int64 = v(2, default=NO_TIMESTAMP, ignorable=True)
    members: list[MemberMetadata]


@data(versions="0")
class ConsumerGroupMetadataKey:
    group_id: str


@data(versions="0", flexible=0)
class ConsumerGroupMetadataValue:
    epoch: Int32
    # Of the subscribed topics: another one means that the group must be assigned anew (KIP-1101).
    metadata_hash: Int64 = tagged(0, since=0, default=0)


@data(versions="0")
class ConsumerGroupPartitionMetadataKey:
    group_id: str


@struct
class PartitionRacks:
    partition: Int32
    racks: list[str]


@struct
class TopicMetadata:
    topic_id: Uuid
    topic_name: str
    num_partitions: Int32
    partition_metadata: list[PartitionRacks]


@data(versions="0", flexible=0)
class ConsumerGroupPartitionMetadataValue:
    """What brokers before 4.1 wrote instead of a hash; today there are only tombstones of it."""

    topics: list[TopicMetadata]


@data(versions="0")
class ConsumerGroupMemberMetadataKey:
    group_id: str
    member_id: str


@struct
class ClassicProtocol:
    name: str
    metadata: bytes


@struct
class ClassicMemberMetadata:
    """What a consumer group remembers of a member that still uses the classic protocol."""

    session_timeout_ms: Int32
    supported_protocols: list[ClassicProtocol]


@data(versions="0", flexible=0)
class ConsumerGroupMemberMetadataValue:
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: Int32 = v(default=-1)
    server_assignor: str | None
    classic_member_metadata: ClassicMemberMetadata | None = tagged(
        0, since=0, default=None, nullable=True
    )


@data(versions="0")
class ConsumerGroupTargetAssignmentMetadataKey:
    group_id: str


@data(versions="0")
class ConsumerGroupTargetAssignmentMemberKey:
    group_id: str
    member_id: str


@data(versions="0")
class ConsumerGroupCurrentMemberAssignmentKey:
    group_id: str
    member_id: str


@struct
class OwnedPartitions:
    """The partitions of one topic that a member has, and since which epoch it has each of them."""

    topic_id: Uuid
    partitions: list[Int32]
    # As many as there are partitions; none in records of brokers before 4.3.
    assignment_epochs: list[Int32] | None = tagged(0, since=0, default=[])


@data(versions="0", flexible=0)
class ConsumerGroupCurrentMemberAssignmentValue:
    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: list[OwnedPartitions]
    partitions_pending_revocation: list[OwnedPartitions]


@data(versions="0")
class ConsumerGroupRegularExpressionKey:
    group_id: str
    regular_expression: str


@data(versions="0", flexible=0)
class ConsumerGroupRegularExpressionValue:
    """The topics that an expression stood for, in which version of the cluster, found when."""

    topics: list[str]
    version: Int64
    timestamp: Int64


ConsumerGroupKey: TypeAlias = (
    ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)
GroupKey: TypeAlias = OffsetCommitKey | GroupMetadataKey | ConsumerGroupKey | ShareGroupKey
# The class of the key decides about that of the value: see FORMATS.
GroupRecord: TypeAlias = StateRecord[GroupKey, object]


def _offset_commit_version(value: object) -> int:
    assert isinstance(value, OffsetCommitValue)
    return 4 if value.expire_timestamp == NO_TIMESTAMP else 1


FORMATS: Final[RecordFormats[GroupKey, object]] = RecordFormats(
    "__consumer_offsets",
    {
        0: RecordType(OffsetCommitKey, OffsetCommitValue, _offset_commit_version),
        1: RecordType(OffsetCommitKey, OffsetCommitValue, _offset_commit_version),
        2: RecordType(GroupMetadataKey, GroupMetadataValue, lambda _: 3),
        3: RecordType(ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
        4: RecordType(ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
        5: RecordType(ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
        6: RecordType(ConsumerGroupTargetAssignmentMetadataKey, TargetAssignmentMetadataValue),
        7: RecordType(ConsumerGroupTargetAssignmentMemberKey, TargetAssignmentMemberValue),
        8: RecordType(
            ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue
        ),
        10: RecordType(ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
        11: RecordType(ShareGroupMetadataKey, ShareGroupMetadataValue),
        12: RecordType(ShareGroupTargetAssignmentMetadataKey, TargetAssignmentMetadataValue),
        13: RecordType(ShareGroupTargetAssignmentMemberKey, TargetAssignmentMemberValue),
        14: RecordType(
            ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue
        ),
        15: RecordType(ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
        16: RecordType(ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
    },
)
encode_record: Final = FORMATS.encode
decode_record: Final = FORMATS.decode
