"""AlterShareGroupOffsets: an empty share group goes on elsewhere (KIP-932)."""

from __future__ import annotations

from headrace.errors import Error
from headrace.types import ZERO_UUID
from tests.clients.groups.raw_members import find_coordinator
from tests.clients.groups.raw_share_members import (
    ShareMember,
    alter_share_offsets,
    described_share,
    share_offsets,
)
from tests.clients.raw import Connection
from tests.clients.records import Record
from tests.clients.requests import produced, topic_id_of


def test_a_new_group_begins_where_it_is_told(
    connection: Connection, topic: str, group: str
) -> None:
    """The group exists from then on, empty, and its lag is what lies behind."""
    find_coordinator(connection, group)
    produced(connection, topic, [Record(None, b"v", 0)] * 5)
    answer = alter_share_offsets(connection, group, **{topic: {0: 2}})
    assert answer.error_code == Error.NONE
    (altered,) = answer.responses
    assert (altered.topic_name, altered.topic_id) == (topic, topic_id_of(connection, topic))
    assert [each.error_code for each in altered.partitions] == [Error.NONE]
    assert described_share(connection, group).group_state == "Empty"
    (shown,) = share_offsets(connection, group).topics
    (partition,) = shown.partitions
    assert (partition.start_offset, partition.lag) == (2, 3)


def test_a_group_with_members_is_refused(connection: Connection, topic: str, group: str) -> None:
    """NON_EMPTY_GROUP; when they have left it may begin again anywhere."""
    member = ShareMember(connection, group, [topic])
    member.join()
    member.await_partitions(1)
    refused = alter_share_offsets(connection, group, **{topic: {0: 0}})
    assert refused.error_code == Error.NON_EMPTY_GROUP
    member.leave()
    for start in (7, 3):
        altered = alter_share_offsets(connection, group, **{topic: {0: start}})
        assert altered.error_code == Error.NONE
        (shown,) = share_offsets(connection, group).topics
        assert [each.start_offset for each in shown.partitions] == [start]


def test_what_does_not_exist(connection: Connection, topic: str, group: str) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION, one by one; the rest is altered."""
    find_coordinator(connection, group)
    answer = alter_share_offsets(
        connection, group, **{topic: {0: 1, 9: 1}, f"{topic}-none": {0: 1}}
    )
    assert answer.error_code == Error.NONE
    found = {each.topic_name: each for each in answer.responses}
    assert [each.error_code for each in found[topic].partitions] == [
        Error.NONE,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    missing = found[f"{topic}-none"]
    assert missing.topic_id == ZERO_UUID
    assert [each.error_code for each in missing.partitions] == [Error.UNKNOWN_TOPIC_OR_PARTITION]
