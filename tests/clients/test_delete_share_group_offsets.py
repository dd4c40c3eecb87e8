"""DeleteShareGroupOffsets and DeleteGroups: share groups forget topics, and are forgotten."""

from __future__ import annotations

from collections.abc import Callable

from headrace.errors import Error
from headrace.wire.messages.delete_groups import DeleteGroupsRequest
from tests.clients.groups.raw_members import find_coordinator
from tests.clients.groups.raw_share_members import (
    ShareMember,
    alter_share_offsets,
    delete_share_offsets,
    described_share,
    share_offsets,
)
from tests.clients.raw import Connection


def deleted(connection: Connection, group: str) -> Error:
    (result,) = connection.ask(DeleteGroupsRequest(groups_names=[group]), 2).results
    return Error(result.error_code)


def test_one_topic_is_forgotten(
    connection: Connection, new_topic: Callable[..., str], group: str
) -> None:
    """The other stays; what has nothing to forget is UNKNOWN_TOPIC_OR_PARTITION."""
    find_coordinator(connection, group)
    gone, kept = new_topic(), new_topic()
    alter_share_offsets(connection, group, **{gone: {0: 1}, kept: {0: 2}})
    answer = delete_share_offsets(connection, group, gone, f"{gone}-none")
    assert answer.error_code == Error.NONE
    assert {each.topic_name: Error(each.error_code) for each in answer.responses} == {
        gone: Error.NONE,
        f"{gone}-none": Error.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert [each.topic_name for each in share_offsets(connection, group).topics] == [kept]
    (again,) = delete_share_offsets(connection, group, gone).responses
    assert (again.error_code, again.error_message) == (
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        "There is no offset information to delete.",
    )


def test_only_without_members(connection: Connection, topic: str, group: str) -> None:
    """NON_EMPTY_GROUP for topics and for the whole group; GROUP_ID_NOT_FOUND if there is none."""
    find_coordinator(connection, group)
    missing = delete_share_offsets(connection, group, topic)
    assert missing.error_code == Error.GROUP_ID_NOT_FOUND
    member = ShareMember(connection, group, [topic])
    member.join()
    member.await_partitions(1)
    assert delete_share_offsets(connection, group, topic).error_code == Error.NON_EMPTY_GROUP
    assert deleted(connection, group) is Error.NON_EMPTY_GROUP
    member.leave()
    assert deleted(connection, group) is Error.NONE
    assert described_share(connection, group).error_code == Error.GROUP_ID_NOT_FOUND
    assert deleted(connection, group) is Error.GROUP_ID_NOT_FOUND
    (shown,) = share_offsets(connection, group, {topic: [0]}).topics
    assert [each.start_offset for each in shown.partitions] == [-1]
