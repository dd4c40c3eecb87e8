"""OffsetDelete: offsets of single partitions go, unless somebody reads them (KIP-496)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.errors import Error
from headrace.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.clients.consumer.application import Members, shared_out
from tests.clients.groups.raw_members import commit, committed, described, find_coordinator
from tests.clients.raw import Connection


def deleted(
    connection: Connection, group: str, topic: str, partitions: Sequence[int] = (0,)
) -> tuple[Error, dict[int, Error]]:
    """The error of the whole, and that of each partition."""
    wanted = [OffsetDeleteRequestPartition(partition_index=each) for each in partitions]
    topics = [OffsetDeleteRequestTopic(name=topic, partitions=wanted)]
    answer: Any = connection.ask(OffsetDeleteRequest(group_id=group, topics=topics), 0)
    found = {
        each.partition_index: Error(each.error_code)
        for part in answer.topics
        for each in part.partitions
    }
    return Error(answer.error_code), found


def test_single_offsets_go(
    connection: Connection, new_topic: Callable[..., str], group: str
) -> None:
    """One partition loses its offset, the others keep theirs; the last takes the group along."""
    topic = new_topic(partitions=2)
    for partition in range(2):
        assert commit(connection, group, topic, 5, partition=partition) == Error.NONE
    assert deleted(connection, group, topic) == (Error.NONE, {0: Error.NONE})
    assert committed(connection, group, topic).committed_offset == -1
    assert committed(connection, group, topic, 1).committed_offset == 5
    # What is not there can be deleted again.
    assert deleted(connection, group, topic, [0, 1]) == (Error.NONE, {0: Error.NONE, 1: Error.NONE})
    assert committed(connection, group, topic, 1).committed_offset == -1


def test_unknown_partitions_and_groups(connection: Connection, topic: str, group: str) -> None:
    """Each partition has an error of its own; a group that nobody knows is one for all."""
    find_coordinator(connection, group)
    assert deleted(connection, group, topic) == (Error.GROUP_ID_NOT_FOUND, {})
    assert commit(connection, group, topic, 5) == Error.NONE
    nowhere = Error.UNKNOWN_TOPIC_OR_PARTITION
    assert deleted(connection, group, topic, [0, 9]) == (Error.NONE, {0: Error.NONE, 9: nowhere})
    assert commit(connection, group, topic, 5) == Error.NONE
    assert deleted(connection, group, f"{topic}-x") == (Error.NONE, {0: nowhere})
    assert described(connection, group).group_state == "Empty"


def test_topics_that_are_read_keep_their_offsets(
    connection: Connection, members: Members, new_topic: Callable[..., str], group: str
) -> None:
    """GROUP_SUBSCRIBED_TO_TOPIC for what a member reads; anything else of the group may go."""
    read, unread = new_topic(), new_topic()
    for topic in (read, unread):
        assert commit(connection, group, topic, 5) == Error.NONE
    member = members.join(group, read)
    shared_out([member], 1)
    subscribed = Error.GROUP_SUBSCRIBED_TO_TOPIC
    assert deleted(connection, group, read) == (Error.NONE, {0: subscribed})
    assert deleted(connection, group, unread) == (Error.NONE, {0: Error.NONE})
    assert committed(connection, group, read).committed_offset == 5
    assert committed(connection, group, unread).committed_offset == -1
