"""TxnOffsetCommit: offsets that count when their transaction commits."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.clients.contract import eventually
from tests.clients.groups.raw_members import committed, stable_alone
from tests.clients.groups.raw_members import find_coordinator as find_group
from tests.clients.raw import Connection
from tests.clients.transactions.raw_producer import RawProducer, find_coordinator, new_id


@pytest.fixture
def group(connection: Connection) -> str:
    """A group that has a coordinator and no offsets."""
    name = new_id()
    find_group(connection, name)
    return name


def fetched_stable(connection: Connection, group: str, topic: str) -> tuple[int, Error]:
    """The offset as a reader is told it that waits for transactions (KIP-447)."""
    topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
    wanted = OffsetFetchRequestGroup(group_id=group, topics=topics)
    request = OffsetFetchRequest(groups=[wanted], require_stable=True)
    (answer,) = connection.ask(request, 8).groups
    ((found,),) = [each.partitions for each in answer.topics]
    return found.committed_offset, Error(found.error_code)


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_offsets_count_when_the_transaction_commits(
    connection: Connection, topic: str, group: str, version: int, commit: bool
) -> None:
    """Until then the old one stands, and who wants a stable one is told to wait."""
    producer = RawProducer.start(connection)
    if version < 5:
        assert producer.add_offsets(group) == Error.NONE
    assert producer.commit_offset(group, topic, 42, version) == Error.NONE
    assert committed(connection, group, topic).committed_offset == -1
    assert fetched_stable(connection, group, topic) == (-1000, Error.UNSTABLE_OFFSET_COMMIT)
    assert producer.end(commit=commit, version=5 if version == 5 else 4).error_code == Error.NONE
    expected = (42 if commit else -1, Error.NONE)
    eventually(lambda: fetched_stable(connection, group, topic) == expected, "the end")
    assert committed(connection, group, topic).committed_offset == expected[0]


@pytest.mark.parametrize("version", range(5))
def test_a_group_that_was_not_added_is_refused(
    connection: Connection, topic: str, group: str, version: int
) -> None:
    """KIP-890: nobody would end it. INVALID_TXN_STATE until v3, TRANSACTION_ABORTABLE in v4."""
    producer = RawProducer.start(connection)
    producer.add({topic: [0]})
    expected = Error.TRANSACTION_ABORTABLE if version == 4 else Error.INVALID_TXN_STATE
    assert producer.commit_offset(group, topic, 1, version) == expected
    assert producer.end(commit=False).error_code == Error.NONE
    assert fetched_stable(connection, group, topic) == (-1, Error.NONE)


@pytest.mark.parametrize("version", [3, 5])
def test_a_fenced_producer_is_told_so(
    connection: Connection, topic: str, group: str, version: int
) -> None:
    """An old epoch is INVALID_PRODUCER_EPOCH here, in every version."""
    zombie = RawProducer.start(connection)
    zombie.add_offsets(group)
    RawProducer.start(connection, zombie.transactional_id)
    assert zombie.commit_offset(group, topic, 1, version) == Error.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        ({"transactional_id": "nobody-has-this-id"}, Error.INVALID_PRODUCER_ID_MAPPING),
        ({"producer_id": 987_654_321}, Error.INVALID_PRODUCER_ID_MAPPING),
        ({"producer_epoch": 5}, Error.INVALID_PRODUCER_EPOCH),
    ],
    ids=["unknown id", "another producer", "an epoch to come"],
)
def test_who_a_producer_must_be(
    connection: Connection,
    topic: str,
    group: str,
    version: int,
    identity: dict[str, Any],
    expected: Error,
) -> None:
    """The transaction coordinator is asked before the group's is."""
    if "transactional_id" in identity:
        find_coordinator(connection, identity["transactional_id"])
    producer = RawProducer.start(connection)
    producer.add_offsets(group)
    assert producer.commit_offset(group, topic, 1, version, **identity) == expected
    assert producer.end(commit=False).error_code == Error.NONE


def test_a_member_of_the_past_is_fenced(connection: Connection, topic: str, group: str) -> None:
    """KIP-447, v3: who names a member must be it, in this generation; others need not be one."""
    member = stable_alone(connection, group)
    producer = RawProducer.start(connection)
    producer.add_offsets(group)
    who = {"member_id": member.member_id, "generation_id": member.generation_id}

    def commit(**options: Any) -> Error:
        return producer.commit_offset(group, topic, 1, **{**who, **options})

    assert commit() == Error.NONE
    assert commit(generation_id=member.generation_id + 1) == Error.ILLEGAL_GENERATION
    assert commit(member_id="somebody-else") == Error.UNKNOWN_MEMBER_ID
    assert commit(group_instance_id="unknown") == Error.UNKNOWN_MEMBER_ID
    assert producer.commit_offset(group, topic, 1) == Error.NONE
    assert producer.end(commit=True).error_code == Error.NONE


def test_what_cannot_be_committed(connection: Connection, topic: str, group: str) -> None:
    """A partition that does not exist, and metadata that is too long."""
    producer = RawProducer.start(connection)
    producer.add_offsets(group)
    assert producer.commit_offset(group, topic, 1, partition=9) == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert producer.commit_offset(group, "absent", 1) == Error.UNKNOWN_TOPIC_OR_PARTITION
    long = "m" * 5_000
    assert producer.commit_offset(group, topic, 1, metadata=long) == Error.OFFSET_METADATA_TOO_LARGE
    assert producer.end(commit=True).error_code == Error.NONE
    assert fetched_stable(connection, group, topic) == (-1, Error.NONE)


def test_the_last_offset_of_a_transaction_counts(
    connection: Connection, topic: str, group: str
) -> None:
    """A transaction may commit a partition again; a plain commit during it is overtaken."""
    producer = RawProducer.start(connection)
    for offset in (7, 5, 6):
        assert producer.commit_offset(group, topic, offset, 5) == Error.NONE
    assert producer.end(commit=True, version=5).error_code == Error.NONE
    eventually(lambda: fetched_stable(connection, group, topic) == (6, Error.NONE), "the commit")
