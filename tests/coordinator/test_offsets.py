"""The committed offsets of a shard: what records and the ends of transactions make of them."""

from __future__ import annotations

from uuid import UUID

import pytest

from headrace.coordinator.group.offsets import CommittedOffset, CommittedOffsets, tombstone
from headrace.coordinator.group.records import OffsetCommitKey, OffsetCommitValue
from headrace.types import NO_TIMESTAMP, ZERO_UUID, TopicPartition

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
ORDERS_ID = UUID(int=1)
PRODUCER, OTHER_PRODUCER = 4_000, 4_001
DAY_MS = 86_400_000


class History:
    """A log being replayed: each step is one record, at the next offset."""

    def __init__(self) -> None:
        self.offsets = CommittedOffsets()
        self.end = 0

    def commit(
        self,
        offset: int,
        *,
        group: str = "g",
        partition: TopicPartition = P0,
        producer: int | None = None,
        at_ms: int = 0,
        expires_ms: int = NO_TIMESTAMP,
        topic_id: UUID = ORDERS_ID,
    ) -> None:
        value = OffsetCommitValue(
            offset=offset,
            metadata="",
            commit_timestamp=at_ms,
            expire_timestamp=expires_ms,
            topic_id=topic_id,
        )
        key = OffsetCommitKey(group=group, topic=partition.topic, partition=partition.partition)
        self.offsets.replay(key, value, self.end, producer)
        self.end += 1

    def delete(self, partition: TopicPartition = P0, *, group: str = "g") -> None:
        key = tombstone(group, partition).key
        assert isinstance(key, OffsetCommitKey)
        self.offsets.replay(key, None, self.end, None)
        self.end += 1

    def finish(self, producer: int, *, commit: bool) -> None:
        self.offsets.replay_end_transaction(producer, commit)
        self.end += 1

    def committed(self, group: str = "g") -> dict[TopicPartition, int]:
        return {where: each.offset for where, each in self.offsets.of_group(group).items()}


@pytest.fixture
def history() -> History:
    return History()


@pytest.mark.spec("slides:D14", "admin:CO-02")
def test_one_number_per_group_and_partition(history: History) -> None:
    """What was committed last is all that is known; groups do not know of each other."""
    history.commit(5)
    history.commit(9)
    history.commit(3, partition=P1)
    history.commit(7, group="other")
    assert history.committed() == {P0: 9, P1: 3}
    assert history.committed("other") == {P0: 7}
    assert history.committed("unknown") == {}


@pytest.mark.spec("book1:C-21")
def test_commits_may_go_back(history: History) -> None:
    """A smaller offset that arrives later replaces a larger one: then work is repeated."""
    history.commit(10)
    history.commit(5)
    assert history.committed() == {P0: 5}


def test_a_tombstone_removes(history: History) -> None:
    """Nothing is left of the partition, be it known or not."""
    history.commit(5)
    history.delete(P0)
    history.delete(P1)
    assert history.committed() == {}
    assert list(history.offsets.group_ids()) == []
    assert list(history.offsets.used_topics()) == []


@pytest.mark.spec("slides:E08")
@pytest.mark.parametrize(("commit", "expected"), [(True, {P0: 8}), (False, {P0: 5})])
def test_a_transaction_decides_at_its_end(
    history: History, commit: bool, expected: dict[TopicPartition, int]
) -> None:
    """Until its marker the old offset stands and is known to be unstable (KIP-98, KIP-447)."""
    history.commit(5)
    history.commit(8, producer=PRODUCER)
    assert history.committed() == {P0: 5}
    assert history.offsets.is_pending("g", P0)
    assert not history.offsets.is_pending("g", P1)
    history.finish(PRODUCER, commit=commit)
    assert history.committed() == expected
    assert not history.offsets.is_pending("g", P0)
    assert not history.offsets.has_open_transaction("g")


def test_what_was_written_last_wins(history: History) -> None:
    """A commit between a transaction's commit and its marker is newer, and stays."""
    history.commit(8, producer=PRODUCER)
    history.commit(4, producer=PRODUCER, partition=P1)
    history.commit(6)
    history.finish(PRODUCER, commit=True)
    assert history.committed() == {P0: 6, P1: 4}


def test_two_transactions_on_one_partition(history: History) -> None:
    """The offset is unstable until both have ended; the one that wrote later wins."""
    history.commit(1, producer=PRODUCER)
    history.commit(2, producer=OTHER_PRODUCER)
    history.finish(OTHER_PRODUCER, commit=True)
    assert history.offsets.is_pending("g", P0)
    history.finish(PRODUCER, commit=True)
    assert not history.offsets.is_pending("g", P0)
    assert history.committed() == {P0: 2}


def test_a_tombstone_reaches_into_transactions(history: History) -> None:
    """What was deleted does not come back when a transaction commits."""
    history.commit(1, producer=PRODUCER)
    history.commit(2, producer=PRODUCER, partition=P1)
    history.commit(3, producer=OTHER_PRODUCER)
    history.delete(P0)
    assert not history.offsets.is_pending("g", P0)
    history.finish(PRODUCER, commit=True)
    history.finish(OTHER_PRODUCER, commit=True)
    assert history.committed() == {P1: 2}


def test_the_end_of_a_transaction_without_offsets(history: History) -> None:
    """Markers reach every partition of the offsets topic that the coordinator named."""
    history.finish(PRODUCER, commit=True)
    assert list(history.offsets.group_ids()) == []


def test_deleting_a_group(history: History) -> None:
    """One tombstone per partition, committed, pending or both."""
    history.commit(1)
    history.commit(2, producer=PRODUCER)
    history.commit(3, producer=PRODUCER, partition=P1)
    history.commit(4, group="other")
    records = history.offsets.tombstones_of_group("g")
    assert records == [tombstone("g", P0), tombstone("g", P1)]
    assert history.offsets.has_any("g", P1)
    assert not history.offsets.has_any("g", TopicPartition("orders", 2))


def test_deleting_a_topic(history: History) -> None:
    """All groups lose their offsets of this topic; a new topic of the same name keeps its own."""
    new_id = UUID(int=2)
    history.commit(1)
    history.commit(2, group="other", partition=P1, producer=PRODUCER)
    history.commit(3, group="third", topic_id=new_id)
    history.commit(4, group="old", topic_id=ZERO_UUID)
    used = {("orders", ORDERS_ID), ("orders", new_id), ("orders", ZERO_UUID)}
    assert set(history.offsets.used_topics()) == used
    records = history.offsets.tombstones_of_topics({("orders", ORDERS_ID), ("orders", ZERO_UUID)})
    assert records == [tombstone("g", P0), tombstone("old", P0), tombstone("other", P1)]


def test_topics_in_use_are_counted(history: History) -> None:
    """A topic is forgotten with its last offset, also if that moved on to another topic id."""
    history.commit(1, topic_id=ZERO_UUID)
    history.commit(2, topic_id=ORDERS_ID)
    assert set(history.offsets.used_topics()) == {("orders", ORDERS_ID)}
    history.commit(3, producer=PRODUCER)
    history.finish(PRODUCER, commit=True)
    history.delete(P0)
    assert set(history.offsets.used_topics()) == set()


@pytest.mark.parametrize(("age_ms", "is_old"), [(7 * DAY_MS - 1, False), (7 * DAY_MS, True)])
def test_old_offsets(history: History, age_ms: int, is_old: bool) -> None:
    """KIP-211: an offset may go when it has been kept for the time of retention."""
    history.commit(1, at_ms=50)
    found = history.offsets.expired(
        "g",
        age_since_ms=lambda offset: offset.commit_timestamp_ms,
        is_in_use=lambda topic: False,
        retention_ms=7 * DAY_MS,
        now_ms=50 + age_ms,
    )
    assert found == ([P0] if is_old else [])


def test_what_does_not_expire(history: History) -> None:
    """Topics in use, offsets in a transaction, and those that said how long they live."""
    payments = TopicPartition("payments", 0)
    history.commit(1, partition=payments)
    history.commit(2)
    history.commit(3, producer=PRODUCER)
    history.commit(4, partition=P1, expires_ms=9 * DAY_MS)

    def expired(now_ms: int) -> list[TopicPartition]:
        return history.offsets.expired(
            "g",
            age_since_ms=lambda offset: offset.commit_timestamp_ms,
            is_in_use=lambda topic: topic == "payments",
            retention_ms=7 * DAY_MS,
            now_ms=now_ms,
        )

    assert expired(8 * DAY_MS) == []
    assert expired(9 * DAY_MS) == [P1]
    history.finish(PRODUCER, commit=False)
    assert expired(9 * DAY_MS) == [P0, P1]


def test_ids_tell_topics_apart() -> None:
    """An offset of a deleted topic is none of its successor; who names no id is believed."""
    offset = CommittedOffset(1, 0, "", 0, NO_TIMESTAMP, ORDERS_ID, 0)
    assert offset.is_of_topic(ORDERS_ID)
    assert offset.is_of_topic(ZERO_UUID)
    assert not offset.is_of_topic(UUID(int=9))
    assert offset._replace(topic_id=ZERO_UUID).is_of_topic(UUID(int=9))
