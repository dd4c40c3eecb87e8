"""ConsumerGroupDescribe: groups of KIP-848 with epochs, members and both assignments."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.errors import Error
from headrace.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tests.clients.consumer.application import Members, settled
from tests.clients.groups.raw_members import (
    NewMember,
    commit,
    described_consumer,
    find_coordinator,
    reconciled,
    stable_alone,
)
from tests.clients.raw import Connection
from tests.clients.requests import topic_id_of

NOT_ASKED = -(1 << 31)
UNKNOWN, CLASSIC, CONSUMER = -1, 0, 1


@pytest.mark.parametrize("version", [0, 1])
def test_every_version_shows_a_member(
    connection: Connection, topic: str, group: str, version: int
) -> None:
    """What it has, what it shall have, and, since v1, which protocol it speaks (KIP-1099)."""
    member = NewMember(connection, group, [topic], instance_id="i")
    member.join(rack_id="r")
    reconciled(member, partitions=1)
    (found,) = connection.ask(ConsumerGroupDescribeRequest(group_ids=[group]), version).groups
    assert (found.error_code, found.group_id) == (Error.NONE, group)
    assert (found.group_state, found.assignor_name) == ("Stable", "uniform")
    assert found.group_epoch == found.assignment_epoch == member.epoch
    assert found.authorized_operations == NOT_ASKED
    (shown,) = found.members
    assert (shown.member_id, shown.member_epoch) == (member.member_id, member.epoch)
    assert (shown.instance_id, shown.rack_id) == ("i", "r")
    assert (shown.client_id, shown.client_host) == ("raw", "/127.0.0.1")
    assert shown.subscribed_topic_names == [topic]
    assert shown.member_type == (CONSUMER if version >= 1 else UNKNOWN)
    for assignment in (shown.assignment, shown.target_assignment):
        (part,) = assignment.topic_partitions
        assert (part.topic_name, part.partitions) == (topic, [0])
        assert part.topic_id == topic_id_of(connection, topic)
    member.leave()


def test_states(connection: Connection, new_topic: Callable[..., str], group: str) -> None:
    """Reconciling while somebody must still let go, Stable after it, Empty without members."""
    topic = new_topic(partitions=2)
    first, second = (NewMember(connection, group, [topic]) for _ in range(2))
    first.join()
    reconciled(first, partitions=2)
    second.join()
    shown = described_consumer(connection, group)
    assert shown.group_state == "Reconciling"
    assert shown.group_epoch == first.epoch + 1
    reconciled(first, second, partitions=2)
    assert described_consumer(connection, group).group_state == "Stable"
    for member in (first, second):
        member.leave()
    found = described_consumer(connection, group)
    assert (found.error_code, found.group_state, found.members) == (Error.NONE, "Empty", [])


def test_other_groups_are_not_found(connection: Connection, topic: str, group: str) -> None:
    """Classic ones, those that only store offsets, and those that nobody knows."""
    names = [f"{group}-{kind}" for kind in ("classic", "simple", "none")]
    stable_alone(connection, names[0])
    assert commit(connection, names[1], topic, 1) == Error.NONE
    find_coordinator(connection, names[2])
    found = connection.ask(ConsumerGroupDescribeRequest(group_ids=names), 1).groups
    assert {each.group_id for each in found} == set(names)
    assert {Error(each.error_code) for each in found} == {Error.GROUP_ID_NOT_FOUND}
    assert all(each.error_message for each in found)


def test_authorized_operations_are_told_on_request(
    connection: Connection, topic: str, group: str
) -> None:
    """Without an authorizer everything is allowed that can be done to a group (KIP-430)."""
    member = NewMember(connection, group, [topic])
    member.join()
    request = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=True)
    (found,) = connection.ask(request, 1).groups
    read, delete, describe = 3, 6, 8
    assert all(found.authorized_operations & (1 << each) for each in (read, delete, describe))
    member.leave()


def test_members_of_both_protocols_in_one_group(
    connection: Connection, members: Members, topic: str, group: str
) -> None:
    """While a group migrates it shows which of its members still speak the old protocol."""
    old = members.join(group, topic)
    settled([old], lambda: len(old.partitions) == 1, "its assignment")
    new = NewMember(connection, group, [topic])
    assert new.join().error_code == Error.NONE

    def kinds() -> list[int]:
        new.beat()
        return sorted(each.member_type for each in described_consumer(connection, group).members)

    settled([old], lambda: kinds() == [CLASSIC, CONSUMER], "both of them")
    new.leave()
