"""Records as coordinators write them, always the same: for the tools that show them in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from confluent_kafka import Producer

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group import records as groups
from headrace.coordinator.group import share_records as share_groups
from headrace.coordinator.share import records as share_state
from headrace.coordinator.transaction import records as transactions
from headrace.records.builder import build_batch
from headrace.records.record import Record
from headrace.wire.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
    encode_assignment,
    encode_subscription,
)
from tests.parity.case import Step
from tests.parity.stage import Stage

_TOPIC_ID = UUID(int=0x0123456789ABCDEF0123456789ABCDEF)
_NOW_MS = 1_700_000_000_000


def _group_states() -> list[StateRecord[Any, Any]]:
    subscription = ConsumerProtocolSubscription(topics=["orders"], user_data=None)
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[TopicPartitions(topic="orders", partitions=[0, 1])]
    )
    member = groups.MemberMetadata(
        member_id="m-1",
        group_instance_id=None,
        client_id="client",
        client_host="/127.0.0.1",
        rebalance_timeout=300_000,
        session_timeout=45_000,
        subscription=encode_subscription(subscription, 1),
        assignment=encode_assignment(assignment, 1),
    )
    metadata = groups.GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader="m-1",
        current_state_timestamp=_NOW_MS,
        members=[member],
    )
    offset = groups.OffsetCommitValue(
        offset=42, leader_epoch=7, metadata="seen", commit_timestamp=_NOW_MS, topic_id=_TOPIC_ID
    )
    place = groups.OffsetCommitKey(group="g", topic="orders", partition=0)
    return [
        StateRecord(groups.GroupMetadataKey(group="g"), metadata),
        StateRecord(place, offset),
        StateRecord(place, None),
        StateRecord(
            groups.ConsumerGroupMetadataKey(group_id="new"),
            groups.ConsumerGroupMetadataValue(epoch=5, metadata_hash=123),
        ),
        StateRecord(
            groups.ConsumerGroupMemberMetadataKey(group_id="new", member_id="m-2"),
            groups.ConsumerGroupMemberMetadataValue(
                instance_id=None,
                rack_id="east",
                client_id="client",
                client_host="/127.0.0.1",
                subscribed_topic_names=["orders"],
                subscribed_topic_regex=None,
                server_assignor="uniform",
            ),
        ),
        StateRecord(
            share_groups.ShareGroupMetadataKey(group_id="queue"),
            share_groups.ShareGroupMetadataValue(epoch=2, metadata_hash=9),
        ),
        StateRecord(groups.GroupMetadataKey(group="g"), None),
    ]


def _transaction_states() -> list[StateRecord[Any, Any]]:
    topic = transactions.TransactionTopic(topic="orders", partition_ids=[0, 2])
    value = transactions.TransactionLogValue(
        producer_id=1000,
        producer_epoch=4,
        transaction_timeout_ms=60_000,
        transaction_status=1,
        transaction_partitions=[topic],
        transaction_last_update_timestamp_ms=_NOW_MS,
        transaction_start_timestamp_ms=_NOW_MS,
        client_transaction_version=2,
    )
    empty = transactions.TransactionLogValue(
        producer_id=1000,
        producer_epoch=0,
        transaction_timeout_ms=60_000,
        transaction_status=0,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=_NOW_MS,
        transaction_start_timestamp_ms=-1,
    )
    key = transactions.TransactionLogKey(transactional_id="t")
    return [StateRecord(key, empty), StateRecord(key, value), StateRecord(key, None)]


def _share_states() -> list[StateRecord[Any, Any]]:
    batch = share_state.RecordedBatch(
        first_offset=10, last_offset=19, delivery_state=2, delivery_count=1
    )
    snapshot = share_state.ShareSnapshotValue(
        snapshot_epoch=1,
        state_epoch=0,
        leader_epoch=3,
        start_offset=10,
        delivery_complete_count=4,
        create_timestamp=_NOW_MS,
        write_timestamp=_NOW_MS,
        state_batches=[batch],
    )
    update = share_state.ShareUpdateValue(
        snapshot_epoch=1, leader_epoch=3, start_offset=-1, state_batches=[]
    )
    place = share_state.ShareSnapshotKey(group_id="queue", topic_id=_TOPIC_ID, partition=0)
    change = share_state.ShareUpdateKey(group_id="queue", topic_id=_TOPIC_ID, partition=0)
    return [StateRecord(place, snapshot), StateRecord(change, update), StateRecord(place, None)]


OF_GROUPS = [groups.encode_record(each) for each in _group_states()]
OF_TRANSACTIONS = [transactions.encode_record(each) for each in _transaction_states()]
OF_SHARES = [share_state.encode_record(each) for each in _share_states()]


def segment(name: str, states: Sequence[tuple[bytes, bytes | None]]) -> Step:
    """A log of these in the folder of the case, one batch each."""

    def step(stage: Stage) -> None:
        batches = [
            build_batch([Record(number, _NOW_MS, key, value)], base_offset=number)
            for number, (key, value) in enumerate(states)
        ]
        (stage.folder / name).write_bytes(b"".join(batches))

    return step


def written(topic: str, states: Sequence[tuple[bytes, bytes | None]]) -> Step:
    """The same in a topic that anybody may read."""

    def step(stage: Stage) -> None:
        producer = Producer({"bootstrap.servers": stage.bootstrap})
        for key, value in states:
            producer.produce(topic, value, key)
        assert producer.flush(20) == 0

    return step
