"""DeleteGroups: groups without members go, with their offsets (KIP-229)."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from headrace.wire.messages.delete_groups import DeleteGroupsRequest
from tests.clients.groups.raw_members import (
    NewMember,
    commit,
    committed,
    described,
    find_coordinator,
    heartbeat,
    stable_alone,
)
from tests.clients.raw import Connection


def deleted(connection: Connection, *names: str, version: int = 2) -> dict[str, Error]:
    answer = connection.ask(DeleteGroupsRequest(groups_names=list(names)), version)
    return {each.group_id: Error(each.error_code) for each in answer.results}


@pytest.mark.parametrize("version", range(3))
def test_every_version_deletes(
    connection: Connection, topic: str, group: str, version: int
) -> None:
    """The group and its offsets are gone, and the name is free again."""
    assert commit(connection, group, topic, 5) == Error.NONE
    assert deleted(connection, group, version=version) == {group: Error.NONE}
    assert described(connection, group).group_state == "Dead"
    assert committed(connection, group, topic).committed_offset == -1
    assert deleted(connection, group, version=version) == {group: Error.GROUP_ID_NOT_FOUND}
    assert commit(connection, group, topic, 6) == Error.NONE
    assert committed(connection, group, topic).committed_offset == 6


def test_groups_with_members_stay(connection: Connection, topic: str, group: str) -> None:
    """NON_EMPTY_GROUP in both protocols; every group has an answer of its own."""
    member = stable_alone(connection, f"{group}-classic")
    new = NewMember(connection, f"{group}-consumer", [topic])
    new.join()
    assert commit(connection, f"{group}-simple", topic, 5) == Error.NONE
    find_coordinator(connection, group)
    assert deleted(
        connection, f"{group}-classic", f"{group}-consumer", f"{group}-simple", f"{group}-none"
    ) == {
        f"{group}-classic": Error.NON_EMPTY_GROUP,
        f"{group}-consumer": Error.NON_EMPTY_GROUP,
        f"{group}-simple": Error.NONE,
        f"{group}-none": Error.GROUP_ID_NOT_FOUND,
    }
    assert heartbeat(connection, f"{group}-classic", member) == Error.NONE
    assert new.beat().error_code == Error.NONE
    new.leave()
    assert deleted(connection, f"{group}-consumer") == {f"{group}-consumer": Error.NONE}
