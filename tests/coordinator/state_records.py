"""One record, at least, of each type of the internal topics."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group import records as group
from headrace.coordinator.group import share_records as share
from headrace.coordinator.group.modern import records as modern
from headrace.coordinator.transaction import records as transaction
from headrace.wire import consumer_protocol as protocol

NOW_MS: Final = 1_700_000_000_000
TOPIC_ID: Final = UUID("11223344-5566-4788-99aa-bbccddeeff00")

SUBSCRIPTION: Final = protocol.encode_subscription(
    protocol.ConsumerProtocolSubscription(
        topics=["orders", "payments"],
        owned_partitions=[protocol.TopicPartitions(topic="orders", partitions=[0, 2])],
        generation_id=6,
        rack_id="rack-a",
    ),
    3,
)
ASSIGNMENT: Final = protocol.encode_assignment(
    protocol.ConsumerProtocolAssignment(
        assigned_partitions=[protocol.TopicPartitions(topic="orders", partitions=[0, 1])],
    ),
    3,
)

OFFSET: Final = StateRecord(
    group.OffsetCommitKey(group="g", topic="orders", partition=7),
    group.OffsetCommitValue(
        offset=42, leader_epoch=3, metadata="here", commit_timestamp=NOW_MS, topic_id=TOPIC_ID
    ),
)
EXPIRING_OFFSET: Final = StateRecord(
    group.OffsetCommitKey(group="g", topic="orders", partition=8),
    group.OffsetCommitValue(
        offset=43, metadata="", commit_timestamp=NOW_MS, expire_timestamp=NOW_MS + 1
    ),
)
CLASSIC_GROUP: Final = StateRecord(
    group.GroupMetadataKey(group="g"),
    group.GroupMetadataValue(
        protocol_type="consumer",
        generation=6,
        protocol="range",
        leader="m1",
        current_state_timestamp=NOW_MS,
        members=[
            group.MemberMetadata(
                member_id="m1",
                group_instance_id="i1",
                client_id="c",
                client_host="/127.0.0.1",
                rebalance_timeout=300_000,
                session_timeout=45_000,
                subscription=SUBSCRIPTION,
                assignment=ASSIGNMENT,
            )
        ],
    ),
)
EMPTY_CLASSIC_GROUP: Final = StateRecord(
    group.GroupMetadataKey(group="empty"),
    group.GroupMetadataValue(
        protocol_type="consumer",
        generation=7,
        protocol=None,
        leader=None,
        current_state_timestamp=NOW_MS,
        members=[],
    ),
)
MODERN_MEMBER: Final = StateRecord(
    group.ConsumerGroupMemberMetadataKey(group_id="cg", member_id="m1"),
    group.ConsumerGroupMemberMetadataValue(
        instance_id="i1",
        rack_id=None,
        client_id="c",
        client_host="/127.0.0.1",
        subscribed_topic_names=["orders"],
        subscribed_topic_regex="pay.*",
        rebalance_timeout_ms=300_000,
        server_assignor="uniform",
    ),
)
CLASSIC_MEMBER: Final = StateRecord(
    group.ConsumerGroupMemberMetadataKey(group_id="cg", member_id="m2"),
    group.ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id="rack-a",
        client_id="c",
        client_host="/127.0.0.1",
        subscribed_topic_names=[],
        subscribed_topic_regex=None,
        server_assignor=None,
        classic_member_metadata=group.ClassicMemberMetadata(
            session_timeout_ms=45_000,
            supported_protocols=[group.ClassicProtocol(name="range", metadata=SUBSCRIPTION)],
        ),
    ),
)
CURRENT_ASSIGNMENT: Final = StateRecord(
    group.ConsumerGroupCurrentMemberAssignmentKey(group_id="cg", member_id="m1"),
    group.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=3,
        previous_member_epoch=2,
        state=1,
        assigned_partitions=[
            group.OwnedPartitions(topic_id=TOPIC_ID, partitions=[0, 1], assignment_epochs=[2, 3])
        ],
        partitions_pending_revocation=[
            group.OwnedPartitions(topic_id=TOPIC_ID, partitions=[2], assignment_epochs=None)
        ],
    ),
)

_SHARED: Final = modern.TargetPartitions(topic_id=TOPIC_ID, partitions=[0, 1])
SHARE_RECORDS: Final = (
    StateRecord(
        share.ShareGroupMemberMetadataKey(group_id="sg", member_id="m1"),
        share.ShareGroupMemberMetadataValue(
            rack_id="rack-a",
            client_id="c",
            client_host="/127.0.0.1",
            subscribed_topic_names=["orders"],
        ),
    ),
    StateRecord(
        share.ShareGroupMetadataKey(group_id="sg"),
        share.ShareGroupMetadataValue(epoch=4, metadata_hash=-7),
    ),
    StateRecord(
        share.ShareGroupTargetAssignmentMetadataKey(group_id="sg"),
        modern.TargetAssignmentMetadataValue(assignment_epoch=4, assignment_timestamp=NOW_MS),
    ),
    StateRecord(
        share.ShareGroupTargetAssignmentMemberKey(group_id="sg", member_id="m1"),
        modern.TargetAssignmentMemberValue(topic_partitions=[_SHARED]),
    ),
    StateRecord(
        share.ShareGroupCurrentMemberAssignmentKey(group_id="sg", member_id="m1"),
        share.ShareGroupCurrentMemberAssignmentValue(
            member_epoch=4, previous_member_epoch=3, state=0, assigned_partitions=[_SHARED]
        ),
    ),
    StateRecord(
        share.ShareGroupStatePartitionMetadataKey(group_id="sg"),
        share.ShareGroupStatePartitionMetadataValue(
            initializing_topics=[
                share.TopicPartitionsInfo(topic_id=TOPIC_ID, topic_name="orders", partitions=[2])
            ],
            initialized_topics=[
                share.TopicPartitionsInfo(topic_id=TOPIC_ID, topic_name="orders", partitions=[0, 1])
            ],
            deleting_topics=[share.TopicInfo(topic_id=TOPIC_ID, topic_name="gone")],
        ),
    ),
)
GROUP_RECORDS: Final = (
    OFFSET,
    EXPIRING_OFFSET,
    CLASSIC_GROUP,
    EMPTY_CLASSIC_GROUP,
    StateRecord(
        group.ConsumerGroupMetadataKey(group_id="cg"),
        group.ConsumerGroupMetadataValue(epoch=3, metadata_hash=-77),
    ),
    StateRecord(
        group.ConsumerGroupPartitionMetadataKey(group_id="cg"),
        group.ConsumerGroupPartitionMetadataValue(
            topics=[
                group.TopicMetadata(
                    topic_id=TOPIC_ID,
                    topic_name="orders",
                    num_partitions=3,
                    partition_metadata=[group.PartitionRacks(partition=0, racks=["rack-a"])],
                )
            ]
        ),
    ),
    MODERN_MEMBER,
    CLASSIC_MEMBER,
    StateRecord(
        group.ConsumerGroupTargetAssignmentMetadataKey(group_id="cg"),
        modern.TargetAssignmentMetadataValue(assignment_epoch=3, assignment_timestamp=NOW_MS),
    ),
    StateRecord(
        group.ConsumerGroupTargetAssignmentMemberKey(group_id="cg", member_id="m1"),
        modern.TargetAssignmentMemberValue(
            topic_partitions=[modern.TargetPartitions(topic_id=TOPIC_ID, partitions=[0, 1])]
        ),
    ),
    CURRENT_ASSIGNMENT,
    StateRecord(
        group.ConsumerGroupRegularExpressionKey(group_id="cg", regular_expression="pay.*"),
        group.ConsumerGroupRegularExpressionValue(topics=["payments"], version=9, timestamp=NOW_MS),
    ),
    *SHARE_RECORDS,
)

TRANSACTION_RECORDS: Final = (
    StateRecord(
        transaction.TransactionLogKey(transactional_id="t1"),
        transaction.TransactionLogValue(
            producer_id=4_000,
            previous_producer_id=3_000,
            next_producer_id=5_000,
            producer_epoch=5,
            next_producer_epoch=6,
            transaction_timeout_ms=60_000,
            transaction_status=1,
            transaction_partitions=[
                transaction.TransactionTopic(topic="orders", partition_ids=[0, 2])
            ],
            transaction_last_update_timestamp_ms=NOW_MS,
            transaction_start_timestamp_ms=NOW_MS - 5,
            client_transaction_version=2,
        ),
    ),
    StateRecord(
        transaction.TransactionLogKey(transactional_id="t2"),
        transaction.TransactionLogValue(
            producer_id=4_001,
            producer_epoch=0,
            transaction_timeout_ms=60_000,
            transaction_status=0,
            transaction_partitions=None,
            transaction_last_update_timestamp_ms=NOW_MS,
            transaction_start_timestamp_ms=-1,
        ),
    ),
)
