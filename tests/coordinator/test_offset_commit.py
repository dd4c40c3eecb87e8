"""OffsetCommit and TxnOffsetCommit: what is written, and who is told what."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from headrace.coordinator.effects import Caller, Effects, ProducerIdentity
from headrace.coordinator.group.offset_commit import (
    GroupCheck,
    PartitionCheck,
    handle_offset_commit,
    handle_txn_offset_commit,
)
from headrace.errors import ClientFault, Error
from headrace.types import NO_TIMESTAMP, ZERO_UUID
from headrace.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.coordinator.known_topics import KnownTopics
from tests.coordinator.tickets import Ticket, opened

NOW_MS = 1_700_000_000_000
METADATA_MAX_SIZE = 8
TOPICS = KnownTopics(orders=2, payments=1)
ORDERS_ID = TOPICS.topic_id("orders") or ZERO_UUID


def everybody() -> None:
    """A group that lets everybody commit."""


def refusing(error: Error) -> GroupCheck:
    def check() -> PartitionCheck | None:
        raise ClientFault(error)

    return check


def partition(
    index: int, offset: int = 5, *, epoch: int = -1, metadata: str | None = None
) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=index,
        committed_offset=offset,
        committed_leader_epoch=epoch,
        committed_metadata=metadata,
    )


def topic(
    name: str, *partitions: OffsetCommitRequestPartition, topic_id: UUID = ZERO_UUID
) -> OffsetCommitRequestTopic:
    return OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=list(partitions))


def commit(
    *topics: OffsetCommitRequestTopic,
    version: int = 9,
    check: GroupCheck = everybody,
    retention_time_ms: int = -1,
) -> Effects[Any, Any]:
    request = OffsetCommitRequest(
        group_id="g", member_id="", retention_time_ms=retention_time_ms, topics=list(topics)
    )
    return handle_offset_commit(
        request,
        Caller(Ticket(7), "client", "/127.0.0.1", version),
        TOPICS,
        check=check,
        metadata_max_size=METADATA_MAX_SIZE,
        now_ms=NOW_MS,
    )


def outcomes(effects: Effects[Any, Any]) -> list[tuple[str, int, str]]:
    (reply,) = effects.replies
    ticket, response = opened(reply)
    assert ticket == 7
    return [
        (each.name, outcome.partition_index, Error(outcome.error_code).name)
        for each in response.topics
        for outcome in each.partitions
    ]


def test_a_commit() -> None:
    """Each partition becomes a record with its time, epoch, metadata and the id of its topic."""
    effects = commit(topic("orders", partition(0, 7, epoch=3, metadata="m"), partition(1)))
    assert outcomes(effects) == [("orders", 0, "NONE"), ("orders", 1, "NONE")]
    assert effects.transaction is None
    (key, value), (_, other) = effects.records
    assert (key.group, key.topic, key.partition) == ("g", "orders", 0)
    assert value is not None
    assert (value.offset, value.leader_epoch, value.metadata) == (7, 3, "m")
    assert (value.commit_timestamp, value.expire_timestamp) == (NOW_MS, NO_TIMESTAMP)
    assert value.topic_id == ORDERS_ID
    assert other is not None
    assert other.metadata == "", "null is stored as empty"


def test_partitions_that_do_not_exist() -> None:
    """They fail one by one; the others are committed."""
    effects = commit(
        topic("gone", partition(0)), topic("orders", partition(1), partition(2), partition(-1))
    )
    assert outcomes(effects) == [
        ("gone", 0, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("orders", 1, "NONE"),
        ("orders", 2, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("orders", -1, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    assert [record.key.partition for record in effects.records] == [1]


def test_nothing_that_exists() -> None:
    """Then the group is not even asked."""
    effects = commit(topic("gone", partition(0)), check=refusing(Error.UNKNOWN_MEMBER_ID))
    assert outcomes(effects) == [("gone", 0, "UNKNOWN_TOPIC_OR_PARTITION")]


def test_topic_ids() -> None:
    """From v10 on topics have ids only; an unknown one is UNKNOWN_TOPIC_ID (KIP-848)."""
    effects = commit(
        topic("", partition(0), topic_id=ORDERS_ID),
        topic("", partition(0), topic_id=UUID(int=99)),
        version=10,
    )
    _, response = opened(effects.replies[0])
    answers = [(each.topic_id, each.partitions[0].error_code) for each in response.topics]
    assert answers == [(ORDERS_ID, Error.NONE), (UUID(int=99), Error.UNKNOWN_TOPIC_ID)]
    assert [record.key.topic for record in effects.records] == ["orders"]


def test_metadata_that_is_too_long() -> None:
    """offset.metadata.max.bytes counts UTF-16 units, and fails only the partition concerned."""
    effects = commit(
        topic("orders", partition(0, metadata="x" * 9), partition(1, metadata="x" * 8)),
        topic("payments", partition(0, metadata="\N{GRINNING FACE}" * 5)),
    )
    assert outcomes(effects) == [
        ("orders", 0, "OFFSET_METADATA_TOO_LARGE"),
        ("orders", 1, "NONE"),
        ("payments", 0, "OFFSET_METADATA_TOO_LARGE"),
    ]
    assert len(effects.records) == 1


def test_a_retention_time() -> None:
    """Versions 2 to 4 may say how long an offset lives; -1 leaves that to the broker."""
    (record,) = commit(topic("orders", partition(0)), version=2, retention_time_ms=1_000).records
    assert record.value is not None
    assert record.value.expire_timestamp == NOW_MS + 1_000


@pytest.mark.parametrize("error", [Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION])
def test_a_group_that_refuses(error: Error) -> None:
    """Its error stands at every partition that exists, and nothing is written."""
    effects = commit(topic("orders", partition(0), partition(7)), check=refusing(error))
    assert outcomes(effects) == [
        ("orders", 0, error.name),
        ("orders", 7, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    assert effects.records == []


def test_a_partition_that_a_member_no_longer_has() -> None:
    """One partition that may not be committed fails the whole request, as in Kafka (KIP-1251)."""

    def check_partition(name: str, index: int) -> None:
        assert name == "orders"
        if index == 1:
            raise ClientFault(Error.STALE_MEMBER_EPOCH)

    effects = commit(topic("orders", partition(0), partition(1)), check=lambda: check_partition)
    assert {error for _, _, error in outcomes(effects)} == {"STALE_MEMBER_EPOCH"}
    assert effects.records == []


def commit_in_transaction(check: GroupCheck = everybody, *, index: int = 0) -> Effects[Any, Any]:
    request = TxnOffsetCommitRequest(
        transactional_id="t",
        group_id="g",
        producer_id=4_000,
        producer_epoch=2,
        topics=[
            TxnOffsetCommitRequestTopic(
                name="orders",
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=9,
                        committed_leader_epoch=1,
                        committed_metadata=None,
                    )
                ],
            )
        ],
    )
    return handle_txn_offset_commit(
        request,
        Caller(Ticket(7), "client", "/127.0.0.1", 3),
        TOPICS,
        check=check,
        metadata_max_size=METADATA_MAX_SIZE,
        now_ms=NOW_MS,
    )


def test_a_commit_within_a_transaction() -> None:
    """The records belong to the producer's transaction."""
    effects = commit_in_transaction()
    assert outcomes(effects) == [("orders", 0, "NONE")]
    assert effects.transaction == ProducerIdentity(4_000, 2)
    (record,) = effects.records
    assert record.value is not None
    assert (record.value.offset, record.value.leader_epoch) == (9, 1)
    assert record.value.topic_id == ZERO_UUID, "as Kafka leaves it"


def test_a_transaction_that_commits_nothing() -> None:
    """No record, no part in the transaction."""
    for effects in (
        commit_in_transaction(index=2),
        commit_in_transaction(refusing(Error.FENCED_INSTANCE_ID)),
    ):
        assert effects.records == []
        assert effects.transaction is None
    assert outcomes(effects) == [("orders", 0, "FENCED_INSTANCE_ID")]
