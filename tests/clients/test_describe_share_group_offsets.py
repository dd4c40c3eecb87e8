"""DescribeShareGroupOffsets: how far share groups are (KIP-932), and what is left (KIP-1226)."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from headrace.types import ZERO_UUID
from tests.clients.groups.raw_members import find_coordinator
from tests.clients.groups.raw_share_members import (
    ShareMember,
    alter_share_offsets,
    share_offsets,
)
from tests.clients.raw import Connection
from tests.clients.records import Record
from tests.clients.requests import produced, topic_id_of


@pytest.mark.parametrize(("version", "lag"), [(0, -1), (1, 4)])
def test_every_version(
    connection: Connection, topic: str, group: str, version: int, lag: int
) -> None:
    """The lag is told since v1."""
    find_coordinator(connection, group)
    produced(connection, topic, [Record(None, b"v", 0)] * 5)
    alter_share_offsets(connection, group, **{topic: {0: 1}})
    for asked in (None, {topic: [0]}):
        found = share_offsets(connection, group, asked, version=version)
        assert (found.group_id, found.error_code) == (group, Error.NONE)
        (shown,) = found.topics
        assert (shown.topic_name, shown.topic_id) == (topic, topic_id_of(connection, topic))
        (partition,) = shown.partitions
        assert (partition.partition_index, partition.start_offset) == (0, 1)
        assert (partition.lag, partition.error_code) == (lag, Error.NONE)


def test_what_is_not_known_is_no_error(connection: Connection, topic: str, group: str) -> None:
    """-1 for what has not begun, and for topics that do not exist; nothing for unknown groups."""
    find_coordinator(connection, group)
    assert share_offsets(connection, group).topics == []
    nowhere = f"{topic}-none"
    found = share_offsets(connection, group, {topic: [0], nowhere: [0]})
    assert found.error_code == Error.NONE
    shown = {each.topic_name: each for each in found.topics}
    for name in (topic, nowhere):
        (partition,) = shown[name].partitions
        assert (partition.start_offset, partition.lag) == (-1, -1)
        assert (partition.leader_epoch, partition.error_code) == (0, Error.NONE)
    assert shown[nowhere].topic_id == ZERO_UUID


def test_what_was_assigned_has_begun(connection: Connection, topic: str, group: str) -> None:
    """Before anybody has fetched there is a state, but no place yet."""
    member = ShareMember(connection, group, [topic])
    member.join()
    member.await_partitions(1)
    (shown,) = share_offsets(connection, group).topics
    (partition,) = shown.partitions
    assert (shown.topic_name, partition.start_offset, partition.lag) == (topic, -1, -1)
    member.leave()
