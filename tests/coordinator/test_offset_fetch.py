"""OffsetFetch in all its shapes: one group or many, some topics or all, names or ids."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from headrace.coordinator.group.offset_fetch import asked_groups, assembled, fetched, refused
from headrace.coordinator.group.offsets import CommittedOffsets
from headrace.coordinator.group.records import OffsetCommitKey, OffsetCommitValue
from headrace.errors import Error
from headrace.types import ZERO_UUID
from headrace.wire import decode, encode_bytes
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from tests.coordinator.known_topics import KnownTopics

TOPICS = KnownTopics(orders=2, payments=1)
ORDERS_ID = TOPICS.topic_id("orders") or ZERO_UUID
OLD_ORDERS_ID = UUID(int=77)


def offsets() -> CommittedOffsets:
    """orders-0 at 5, orders-1 at 6 and maybe soon at 9, gone-0 at 7 of a topic without an id."""
    found = CommittedOffsets()
    commits = [
        ("orders", 0, 5, ORDERS_ID, None),
        ("orders", 1, 6, OLD_ORDERS_ID, None),
        ("gone", 0, 7, ZERO_UUID, None),
        ("orders", 1, 9, ORDERS_ID, 4_000),
    ]
    for record_offset, (topic, partition, offset, topic_id, producer_id) in enumerate(commits):
        key = OffsetCommitKey(group="g", topic=topic, partition=partition)
        value = OffsetCommitValue(
            offset=offset, leader_epoch=3, metadata="m", commit_timestamp=0, topic_id=topic_id
        )
        found.replay(key, value, record_offset, producer_id)
    return found


def fetch(
    topics: list[OffsetFetchRequestTopics] | None,
    *,
    group: str = "g",
    version: int = 9,
    require_stable: bool = False,
) -> OffsetFetchResponseGroup:
    request = OffsetFetchRequestGroup(group_id=group, topics=topics)
    return fetched(request, offsets(), TOPICS, version=version, require_stable=require_stable)


def named(name: str, *indexes: int, topic_id: UUID = ZERO_UUID) -> OffsetFetchRequestTopics:
    return OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=list(indexes))


def table(group: Any) -> list[tuple[str, int, int, str]]:
    return [
        (topic.name, each.partition_index, each.committed_offset, Error(each.error_code).name)
        for topic in group.topics
        for each in topic.partitions
    ]


def test_some_partitions() -> None:
    """What is not there is -1 with epoch -1 and empty metadata, and no error."""
    group = fetch([named("orders", 0, 9), named("never", 0)])
    assert table(group) == [
        ("orders", 0, 5, "NONE"),
        ("orders", 9, -1, "NONE"),
        ("never", 0, -1, "NONE"),
    ]
    known, unknown = group.topics[0].partitions
    assert (known.committed_leader_epoch, known.metadata) == (3, "m")
    assert (unknown.committed_leader_epoch, unknown.metadata) == (-1, "")


def test_all_partitions() -> None:
    """Null topics ask for everything that is committed."""
    assert table(fetch(None)) == [
        ("orders", 0, 5, "NONE"),
        ("orders", 1, 6, "NONE"),
        ("gone", 0, 7, "NONE"),
    ]
    assert table(fetch(None, group="unknown")) == []


@pytest.mark.parametrize("topics", [None, [named("orders", 0, 1)]], ids=["all", "some"])
def test_stable_offsets(topics: list[OffsetFetchRequestTopics] | None) -> None:
    """KIP-447: who must not read what a transaction is about to change is told to come again.

    The offset is librdkafka's "to be asked for": it looks at it in spite of the error.
    """
    found = table(fetch(topics, require_stable=True))
    assert found[:2] == [("orders", 0, 5, "NONE"), ("orders", 1, -1000, "UNSTABLE_OFFSET_COMMIT")]


def test_topic_ids() -> None:
    """v10: unknown ids fail, and the offset of a deleted topic is none of its successor."""
    group = fetch(
        [named("", 0, 1, topic_id=ORDERS_ID), named("", 0, topic_id=UUID(int=99))], version=10
    )
    assert [topic.topic_id for topic in group.topics] == [ORDERS_ID, UUID(int=99)]
    known, unknown = group.topics
    assert [each.committed_offset for each in known.partitions] == [5, -1]
    assert [each.error_code for each in unknown.partitions] == [Error.UNKNOWN_TOPIC_ID]


def test_all_partitions_by_id() -> None:
    """v10: topics that have no id cannot be told."""
    group = fetch(None, version=10)
    assert [(topic.topic_id, len(topic.partitions)) for topic in group.topics] == [(ORDERS_ID, 2)]


@pytest.mark.parametrize("version", range(1, 11))
def test_every_version_end_to_end(version: int) -> None:
    """One group up to v7, several from v8 on; the same offset comes back in each."""
    if version < 8:
        topics = [OffsetFetchRequestTopic(name="orders", partition_indexes=[0])]
        request = OffsetFetchRequest(group_id="g", topics=topics)
    else:
        asked = named("orders" if version < 10 else "", 0, topic_id=ORDERS_ID)
        groups = [OffsetFetchRequestGroup(group_id=id_, topics=[asked]) for id_ in ("g", "h")]
        request = OffsetFetchRequest(groups=groups)
    request = decode(OffsetFetchRequest, version, encode_bytes(request, version))
    answers = [
        fetched(group, offsets(), TOPICS, version=version, require_stable=request.require_stable)
        for group in asked_groups(request, version)
    ]
    assert len(answers) == (1 if version < 8 else 2)
    response = decode(
        OffsetFetchResponse, version, encode_bytes(assembled(answers, version), version)
    )
    found: Any = response.topics if version < 8 else response.groups[0].topics
    (partition,) = found[0].partitions
    assert (partition.committed_offset, partition.metadata) == (5, "m")


@pytest.mark.parametrize("version", [1, 2, 7, 8])
def test_where_the_error_of_a_group_stands(version: int) -> None:
    """At its partitions in v1, in the response up to v7, at the group from v8 on."""
    request = OffsetFetchRequestGroup(group_id="g", topics=[named("orders", 0)])
    group = refused(request, Error.NOT_COORDINATOR, version)
    response = assembled([group], version)
    if version == 1:
        assert table(response) == [("orders", 0, -1, "NOT_COORDINATOR")]
    elif version < 8:
        assert (response.error_code, response.topics) == (Error.NOT_COORDINATOR, [])
    else:
        assert (response.groups[0].error_code, response.groups[0].topics) == (
            Error.NOT_COORDINATOR,
            [],
        )


def test_null_topics_before_v8() -> None:
    """v2 to v7 ask for all topics of the only group in the same way."""
    (group,) = asked_groups(OffsetFetchRequest(group_id="g", topics=None), 5)
    assert group.topics is None
