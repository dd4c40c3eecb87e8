"""Offsets of groups of all kinds: who may commit, fetch and delete them, and when they expire."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.coordinator.effects import ProducerIdentity
from headrace.coordinator.group.shard import MOST_TOMBSTONES
from headrace.errors import Error
from headrace.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from headrace.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.coordinator.group_requests import (
    SESSION_MS,
    commit,
    commit_request,
    heartbeat_request,
    join_classic,
    join_consumer,
    join_request,
    leave,
    txn_commit_request,
)
from tests.coordinator.known_topics import KnownTopics
from tests.coordinator.offsets_partition import OffsetsPartition

CHECK_MS = 600_000
DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
PRODUCER = ProducerIdentity(4_000, 0)


@pytest.fixture
def partition() -> OffsetsPartition:
    return OffsetsPartition()


def txn_commit(partition: OffsetsPartition, group: str, offset: int, **options: Any) -> Error:
    request = txn_commit_request(group, offset, producer_id=PRODUCER.producer_id, **options)
    response = partition.ask("txn_offset_commit", request, 3)
    return Error(response.topics[0].partitions[0].error_code)


# -- committing -------------------------------------------------------------------------------


@pytest.mark.spec("slides:D13")
def test_anybody_may_store_offsets(partition: OffsetsPartition) -> None:
    """A commit without member makes a group that only stores offsets; a restart finds it."""
    assert commit(partition, "g", 5) is Error.NONE
    assert commit(partition, "g", 6) is Error.NONE
    assert partition.fetch("g", "orders", 0, 1) == [6, -1]
    partition.restart()
    assert partition.fetch("g", "orders", 0, 1) == [6, -1]


@pytest.mark.parametrize(
    ("version", "error"), [(8, Error.ILLEGAL_GENERATION), (9, Error.GROUP_ID_NOT_FOUND)]
)
def test_a_member_of_no_group(partition: OffsetsPartition, version: int, error: Error) -> None:
    """Whoever names a generation must be in one."""
    who = {"member_id": "m", "generation_id_or_member_epoch": 1}
    assert commit(partition, "g", 5, version=version, **who) is error
    assert txn_commit(partition, "g", 5, member_id="m", generation_id=1) is Error.ILLEGAL_GENERATION
    assert partition.log == []


def test_commits_to_a_classic_group(partition: OffsetsPartition) -> None:
    """Only members of the current generation may commit while there are members."""
    member_id, generation_id = join_classic(partition, "g")

    def commit_as(member_id: str, generation_id: int) -> Error:
        who = {"member_id": member_id, "generation_id_or_member_epoch": generation_id}
        return commit(partition, "g", 5, **who)

    assert commit_as("", -1) is Error.UNKNOWN_MEMBER_ID
    assert commit_as("other", generation_id) is Error.UNKNOWN_MEMBER_ID
    assert commit_as(member_id, generation_id + 1) is Error.ILLEGAL_GENERATION
    assert partition.fetch("g") == [-1]
    assert commit_as(member_id, generation_id) is Error.NONE
    assert partition.fetch("g") == [5]


def test_commits_to_a_consumer_group(partition: OffsetsPartition) -> None:
    """The epoch fences; old versions cannot carry it, and producers do not know the word."""
    epoch = join_consumer(partition, "cg")

    def commit_as(member_epoch: int, version: int = 9) -> Error:
        who = {"member_id": "m1", "generation_id_or_member_epoch": member_epoch}
        return commit(partition, "cg", 5, version=version, **who)

    assert commit_as(epoch) is Error.NONE
    assert commit_as(epoch, version=8) is Error.UNSUPPORTED_VERSION
    assert commit_as(epoch + 1) is Error.STALE_MEMBER_EPOCH
    assert commit_as(0) is Error.STALE_MEMBER_EPOCH, "it owns the partition only since epoch 1"
    wrong = {"member_id": "m1", "generation_id": epoch + 1}
    assert txn_commit(partition, "cg", 6, **wrong) is Error.ILLEGAL_GENERATION
    assert txn_commit(partition, "cg", 6) is Error.NONE, "old producers say nothing of themselves"


@pytest.mark.spec("slides:E08")
@pytest.mark.parametrize("commits", [True, False])
def test_offsets_of_a_transaction(partition: OffsetsPartition, commits: bool) -> None:
    """They are pending until the marker, also for a coordinator that has just loaded them."""
    assert commit(partition, "g", 5) is Error.NONE
    assert txn_commit(partition, "g", 9) is Error.NONE
    partition.restart()
    topics = [OffsetFetchRequestTopics(name="orders", partition_indexes=[0])]
    request = OffsetFetchRequestGroup(group_id="g", topics=topics)
    answer = partition.ask("offset_fetch", request, 9, require_stable=True)
    assert answer.topics[0].partitions[0].error_code == Error.UNSTABLE_OFFSET_COMMIT
    assert partition.fetch("g") == [5]
    partition.end_transaction(PRODUCER, commit=commits)
    assert partition.fetch("g") == [9 if commits else 5]
    partition.restart()
    assert partition.fetch("g") == [9 if commits else 5]


def test_a_transaction_needs_a_group(partition: OffsetsPartition) -> None:
    """An empty group id is for old consumers only, not for producers."""
    assert txn_commit(partition, "", 1) is Error.INVALID_GROUP_ID
    assert commit(partition, "", 1) is Error.NONE
    assert partition.fetch("") == [1]


def test_metadata_has_a_limit(partition: OffsetsPartition) -> None:
    """offset.metadata.max.bytes, by default 4096."""
    request = commit_request("g", 1)
    request.topics[0].partitions[0].committed_metadata = "x" * 4_097
    answer = partition.ask("offset_commit", request, 9)
    assert answer.topics[0].partitions[0].error_code == Error.OFFSET_METADATA_TOO_LARGE
    assert partition.log == []


# -- fetching ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member_id", "epoch_change", "error"),
    [
        (None, None, Error.NONE),
        ("m1", 0, Error.NONE),
        ("m1", 1, Error.STALE_MEMBER_EPOCH),
        ("other", 0, Error.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_fetch_from_a_consumer_group(
    partition: OffsetsPartition, member_id: str | None, epoch_change: int | None, error: Error
) -> None:
    """KIP-848: a member must know its epoch, everybody else need not be one."""
    epoch = join_consumer(partition, "cg")
    request = OffsetFetchRequestGroup(
        group_id="cg",
        member_id=member_id,
        member_epoch=-1 if epoch_change is None else epoch + epoch_change,
        topics=None,
    )
    answer = partition.ask("offset_fetch", request, 9, require_stable=False)
    assert answer.error_code == error


# -- deleting ---------------------------------------------------------------------------------


def delete_offsets(partition: OffsetsPartition, group: str, topic: str, *indexes: int) -> Any:
    partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
    topics = [OffsetDeleteRequestTopic(name=topic, partitions=partitions)]
    return partition.ask("offset_delete", OffsetDeleteRequest(group_id=group, topics=topics), 0)


def outcomes(answer: Any) -> list[Error]:
    assert answer.error_code == Error.NONE
    return [Error(each.error_code) for topic in answer.topics for each in topic.partitions]


def test_deleting_offsets(partition: OffsetsPartition) -> None:
    """KIP-496: what is there goes, what is not there is no error, what cannot be there is one."""
    commit(partition, "g", 5)
    commit(partition, "g", 6, index=1)
    found = outcomes(delete_offsets(partition, "g", "orders", 0, 2, 3))
    assert found == [Error.NONE, Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert partition.fetch("g", "orders", 0, 1) == [-1, 6]
    partition.restart()
    assert partition.fetch("g", "orders", 0, 1) == [-1, 6]


def test_deleting_pending_offsets(partition: OffsetsPartition) -> None:
    """What a transaction has not committed yet is deleted as well."""
    txn_commit(partition, "g", 5)
    assert outcomes(delete_offsets(partition, "g", "orders", 0)) == [Error.NONE]
    partition.end_transaction(PRODUCER, commit=True)
    assert partition.fetch("g") == [-1]


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_topics_in_use(partition: OffsetsPartition, kind: str) -> None:
    """GROUP_SUBSCRIBED_TO_TOPIC, for the topics that members read and no others."""
    commit(partition, "g", 5)
    commit(partition, "g", 6, topic="payments")
    if kind == "classic":
        join_classic(partition, "g")
    else:
        join_consumer(partition, "g")
    subscribed = outcomes(delete_offsets(partition, "g", "orders", 0))
    assert subscribed == [Error.GROUP_SUBSCRIBED_TO_TOPIC]
    assert outcomes(delete_offsets(partition, "g", "payments", 0)) == [Error.NONE]
    assert partition.fetch("g") == [5]
    assert partition.fetch("g", "payments") == [-1]


def test_members_that_cannot_be_understood(partition: OffsetsPartition) -> None:
    """Consumers whose subscription makes no sense may read any topic."""
    commit(partition, "g", 5)
    join_classic(partition, "g", metadata=b"?")
    found = outcomes(delete_offsets(partition, "g", "orders", 0))
    assert found == [Error.GROUP_SUBSCRIBED_TO_TOPIC]


def test_groups_whose_offsets_cannot_be_deleted(partition: OffsetsPartition) -> None:
    """Unknown groups, groups without name, and members that are no consumers."""
    join_classic(partition, "connect", protocol_type="connect")
    errors = {
        group: delete_offsets(partition, group, "orders", 0).error_code
        for group in ("unknown", "", "connect")
    }
    assert errors == {
        "unknown": Error.GROUP_ID_NOT_FOUND,
        "": Error.INVALID_GROUP_ID,
        "connect": Error.NON_EMPTY_GROUP,
    }


# -- expiry -----------------------------------------------------------------------------------


def test_simple_groups_expire_by_commit(partition: OffsetsPartition) -> None:
    """Each offset a week after its commit; the group with the last of them."""
    commit(partition, "g", 5)
    partition.pass_time(DAY_MS)
    commit(partition, "g", 6, index=1)
    partition.pass_time(WEEK_MS - DAY_MS)
    assert partition.fetch("g", "orders", 0, 1) == [-1, 6]
    assert "g" in partition.shard.groups
    partition.pass_time(DAY_MS)
    for _ in range(2):
        assert partition.shard.groups == {}
        assert partition.fetch("g", "orders", 0, 1) == [-1, -1]
        partition.compact()


def test_groups_expire_after_their_last_member(partition: OffsetsPartition) -> None:
    """KIP-211: as long as a group has members its offsets stay, however old; then a week begins."""
    member_id, generation_id = join_classic(partition, "g", session_timeout_ms=1_800_000)
    who = {"member_id": member_id, "generation_id_or_member_epoch": generation_id}
    commit(partition, "g", 5, **who)
    for _ in range(10):
        # A day in which the member is alive, without the hundred heartbeats that this takes.
        group: Any = partition.shard.groups["g"]
        partition.shard.timers.set(group.session_timer(member_id), partition.now_ms + 2 * DAY_MS)
        partition.pass_time(DAY_MS)
    assert partition.fetch("g") == [5]
    leave(partition, "g", member_id)
    partition.pass_time(WEEK_MS - CHECK_MS)
    partition.restart()
    assert partition.fetch("g") == [5]
    partition.pass_time(2 * CHECK_MS)
    assert partition.fetch("g") == [-1]
    assert partition.shard.groups == {}


def test_what_consumers_no_longer_read_expires(partition: OffsetsPartition) -> None:
    """In a group with members, offsets of topics that they are not subscribed to."""
    commit(partition, "cg", 5)
    commit(partition, "cg", 6, topic="payments")
    epoch = join_consumer(partition, "cg")
    partition.now_ms += WEEK_MS  # in which the member sent its heartbeats
    partition.ask("consumer_group_heartbeat", heartbeat_request("cg", "m1", epoch), 1)
    partition.perform(partition.shard.expire_offsets(partition.now_ms))
    assert partition.fetch("cg") == [5]
    assert partition.fetch("cg", "payments") == [-1]


def test_members_keep_their_group(partition: OffsetsPartition) -> None:
    """A group without offsets is forgotten only if it has no members either."""
    join_classic(partition, "g", session_timeout_ms=1_800_000)
    join_consumer(partition, "cg")
    partition.perform(partition.shard.expire_offsets(partition.now_ms))
    assert set(partition.shard.groups) == {"g", "cg"}


def test_who_is_asked_back_keeps_the_group(partition: OffsetsPartition) -> None:
    """A member that was given its id a moment ago finds its group when it joins with it."""
    asked = partition.ask("join_group", join_request("g"), 4)
    assert asked.error_code == Error.MEMBER_ID_REQUIRED
    partition.perform(partition.shard.expire_offsets(partition.now_ms))
    assert partition.shard.groups.keys() == {"g"}
    partition.pass_time(SESSION_MS)
    partition.perform(partition.shard.expire_offsets(partition.now_ms))
    assert partition.shard.groups == {}


def test_pending_offsets_keep_their_group(partition: OffsetsPartition) -> None:
    """A group is not forgotten while a transaction may still commit to it."""
    txn_commit(partition, "g", 5)
    partition.pass_time(WEEK_MS + CHECK_MS)
    assert "g" in partition.shard.groups
    partition.end_transaction(PRODUCER, commit=False)
    partition.pass_time(CHECK_MS)
    assert partition.shard.groups == {}


def test_a_retention_of_its_own(partition: OffsetsPartition) -> None:
    """An old client may ask for less time than the broker would give, or for more."""
    commit(partition, "g", 5, version=4, retention_time_ms=DAY_MS)
    partition.pass_time(DAY_MS - CHECK_MS)
    partition.restart()
    assert partition.fetch("g") == [5]
    partition.pass_time(2 * CHECK_MS)
    assert partition.fetch("g") == [-1]


def test_expiry_comes_in_pieces() -> None:
    """One batch holds a limited number of tombstones; the next one follows at once."""
    partition = OffsetsPartition(KnownTopics(orders=2 * MOST_TOMBSTONES))
    for group in ("a", "b"):
        for index in range(MOST_TOMBSTONES):
            commit(partition, group, 1, index=index)
    partition.now_ms += WEEK_MS
    first = partition.shard.expire_offsets(partition.now_ms)
    assert len(first.records) == MOST_TOMBSTONES + 1
    partition.pass_time(1)
    assert partition.shard.groups == {}


# -- topics that are deleted ------------------------------------------------------------------


def test_offsets_go_with_their_topic(partition: OffsetsPartition) -> None:
    """Committed or pending, in whichever group; those of other topics stay."""
    commit(partition, "g", 5)
    commit(partition, "g", 6, topic="payments")
    txn_commit(partition, "h", 7, index=1)
    partition.topics.create("other", 1)
    partition.change_topics()
    assert partition.fetch("g") == [5]
    partition.topics.delete("orders")
    partition.change_topics()
    partition.end_transaction(PRODUCER, commit=True)
    for _ in range(2):
        assert partition.fetch("g") == [-1]
        assert partition.fetch("g", "payments") == [6]
        assert partition.fetch("h", "orders", 1) == [-1]
        partition.restart()


def test_a_new_topic_of_the_same_name(partition: OffsetsPartition) -> None:
    """It begins without offsets, even if its creation is all that was noticed."""
    commit(partition, "g", 5)
    partition.topics.delete("orders")
    partition.topics.create("orders", 3)
    commit(partition, "h", 1)
    partition.change_topics()
    assert partition.fetch("g") == [-1]
    assert partition.fetch("h") == [1]


def test_topics_that_are_not_known_yet(partition: OffsetsPartition) -> None:
    """A broker that has just started must not take what it has not heard of for deleted."""
    commit(partition, "g", 5)
    topics, partition.topics = partition.topics, KnownTopics()
    partition.restart()
    partition.topics.create("first", 1)
    partition.change_topics()
    partition.topics = topics
    partition.restart()
    assert partition.fetch("g") == [5]
