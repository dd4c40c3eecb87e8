"""OffsetCommit and TxnOffsetCommit: from a request to records, and to an answer per partition.

versions   OffsetCommit 2-10: v2 to v4 a retention time of their own · v6 leader epoch · v10 topic
           ids. TxnOffsetCommit 0-5.
behaviour  Topics and partitions that do not exist are refused one by one, before the group is even
           looked at. What the group refuses, it refuses for all others at once. Metadata that is
           too long fails alone.
elsewhere  Which group it is, and whether the committer belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeAlias
from uuid import UUID

from headrace.coordinator.effects import Caller, Effects, ProducerIdentity, StateRecord
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.records import GroupRecord, OffsetCommitKey, OffsetCommitValue
from headrace.coordinator.topics import Topics
from headrace.errors import ClientFault, Error
from headrace.types import NO_TIMESTAMP, ZERO_UUID
from headrace.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

TOPIC_IDS_SINCE: Final = 10
BROKER_RETENTION: Final = -1

PartitionCheck: TypeAlias = Callable[[str, int], None]
GroupCheck: TypeAlias = Callable[[], PartitionCheck | None]
"""Raises ClientFault if the committer may not commit; may return a check of each partition."""


class _Wanted(Protocol):
    """One partition of either request."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None


class _Outcome(Protocol):
    """One partition of either response."""

    error_code: int


class _Commit(NamedTuple):
    topic: str
    topic_id: UUID
    wanted: _Wanted
    answer: _Outcome


def handle_offset_commit(
    request: OffsetCommitRequest,
    caller: Caller[OffsetCommitResponse],
    topics: Topics,
    *,
    check: GroupCheck,
    metadata_max_size: int,
    now_ms: int,
) -> GroupEffects:
    """Commit what can be committed."""
    commits: list[_Commit] = []
    answers = []
    for topic in request.topics:
        name, topic_id = topic.name, topic.topic_id
        error = Error.UNKNOWN_TOPIC_OR_PARTITION
        if caller.version >= TOPIC_IDS_SINCE:
            name, error = topics.topic_name(topic_id) or "", Error.UNKNOWN_TOPIC_ID
        answer = OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=[])
        answers.append(answer)
        for wanted in topic.partitions:
            outcome = OffsetCommitResponsePartition(
                partition_index=wanted.partition_index, error_code=Error.NONE
            )
            answer.partitions.append(outcome)
            commits += _located(topics, name, wanted, outcome, error)
    expire_timestamp = NO_TIMESTAMP
    if request.retention_time_ms != BROKER_RETENTION:
        expire_timestamp = now_ms + request.retention_time_ms
    records = _records(
        request.group_id, commits, check, metadata_max_size, now_ms, expire_timestamp
    )
    return Effects(records=records, replies=[caller.reply(OffsetCommitResponse(topics=answers))])


def handle_txn_offset_commit(
    request: TxnOffsetCommitRequest,
    caller: Caller[TxnOffsetCommitResponse],
    topics: Topics,
    *,
    check: GroupCheck,
    metadata_max_size: int,
    now_ms: int,
) -> GroupEffects:
    """Commit within a transaction: the offsets count when, and if, its marker says so."""
    commits: list[_Commit] = []
    answers = []
    for topic in request.topics:
        answer = TxnOffsetCommitResponseTopic(name=topic.name, partitions=[])
        answers.append(answer)
        for wanted in topic.partitions:
            outcome = TxnOffsetCommitResponsePartition(
                partition_index=wanted.partition_index, error_code=Error.NONE
            )
            answer.partitions.append(outcome)
            located = _located(
                topics, topic.name, wanted, outcome, Error.UNKNOWN_TOPIC_OR_PARTITION
            )
            # These requests do not know ids, and Kafka does not add any for them.
            commits += [commit._replace(topic_id=ZERO_UUID) for commit in located]
    records = _records(request.group_id, commits, check, metadata_max_size, now_ms, NO_TIMESTAMP)
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    return Effects(
        records=records,
        replies=[caller.reply(TxnOffsetCommitResponse(topics=answers))],
        transaction=producer if records else None,
    )


def _located(
    topics: Topics, name: str, wanted: _Wanted, answer: _Outcome, unknown_topic: Error
) -> list[_Commit]:
    """The commit if its partition exists; otherwise the answer says why there is none."""
    topic_id = topics.topic_id(name)
    if topic_id is None:
        answer.error_code = unknown_topic
    elif not 0 <= wanted.partition_index < topics.partition_count(name):
        answer.error_code = Error.UNKNOWN_TOPIC_OR_PARTITION
    else:
        return [_Commit(name, topic_id, wanted, answer)]
    return []


def _records(
    group_id: str,
    commits: list[_Commit],
    check: GroupCheck,
    metadata_max_size: int,
    now_ms: int,
    expire_timestamp: int,
) -> list[GroupRecord]:
    if not commits:
        return []
    records: list[GroupRecord] = []
    try:
        check_partition = check()
        for topic, topic_id, wanted, answer in commits:
            metadata = wanted.committed_metadata or ""
            if utf16_length(metadata) > metadata_max_size:
                answer.error_code = Error.OFFSET_METADATA_TOO_LARGE
                continue
            if check_partition is not None:
                check_partition(topic, wanted.partition_index)
            key = OffsetCommitKey(group=group_id, topic=topic, partition=wanted.partition_index)
            value = OffsetCommitValue(
                offset=wanted.committed_offset,
                leader_epoch=wanted.committed_leader_epoch,
                metadata=metadata,
                commit_timestamp=now_ms,
                expire_timestamp=expire_timestamp,
                topic_id=topic_id,
            )
            records.append(StateRecord(key, value))
    except ClientFault as fault:
        for commit in commits:
            commit.answer.error_code = fault.error
        return []
    return records


def utf16_length(text: str) -> int:
    """The length as Kafka measures metadata, although its setting speaks of bytes."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
