"""JoinGroup: members enter a classic group together, or are told why not."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Error
from tests.clients.groups.raw_members import (
    JOIN_VERSION,
    SYNC_VERSION,
    await_rebalance,
    described,
    find_coordinator,
    heartbeat,
    join_request,
    joined_alone,
    stable_alone,
    sync_request,
)
from tests.clients.raw import Connection

MEMBER_ID_REQUIRED_SINCE = 4


@pytest.mark.parametrize("version", range(10))
def test_every_version_joins(connection: Connection, group: str, version: int) -> None:
    """The first member leads the first generation and is shown itself; v4 asks it back first."""
    find_coordinator(connection, group)
    answer = connection.ask(join_request(group), version)
    if version >= MEMBER_ID_REQUIRED_SINCE:
        assert answer.error_code == Error.MEMBER_ID_REQUIRED
        assert answer.member_id.startswith("raw-")
        answer = connection.ask(join_request(group, answer.member_id), version)
    assert answer.error_code == Error.NONE
    assert answer.generation_id == 1
    assert answer.protocol_name == "range"
    assert answer.protocol_type == ("consumer" if version >= 7 else None)
    assert answer.leader == answer.member_id
    ((member_id, metadata),) = [(each.member_id, each.metadata) for each in answer.members]
    assert (member_id, metadata) == (answer.member_id, b"m")


def test_members_wait_for_each_other(bootstrap: str, connection: Connection, group: str) -> None:
    """A join ends the generation; both get the next one, and only the leader the members."""
    first = stable_alone(connection, group)
    with Connection(bootstrap) as other:
        asked = other.ask(join_request(group, protocols={"range": b"n"}), JOIN_VERSION)
        request = join_request(group, asked.member_id, protocols={"range": b"n"})
        waiting = other.send(request, JOIN_VERSION)
        await_rebalance(connection, group, first)
        again = connection.ask(join_request(group, first.member_id), JOIN_VERSION)
        second = other.answer(waiting, type(request), JOIN_VERSION)
    assert [again.error_code, second.error_code] == [Error.NONE, Error.NONE]
    assert again.generation_id == second.generation_id == first.generation_id + 1
    assert again.leader == second.leader == first.member_id
    assert {each.member_id: each.metadata for each in again.members} == {
        first.member_id: b"m",
        second.member_id: b"n",
    }
    assert second.members == []


def test_the_protocol_that_all_can_speak_is_chosen(
    bootstrap: str, connection: Connection, group: str
) -> None:
    """Each member votes for the first of its protocols that everybody knows."""
    first = stable_alone(connection, group, protocols={"a": b"", "b": b"", "c": b""})
    assert first.protocol_name == "a"
    others = {"c": b"", "b": b""}
    with Connection(bootstrap) as other:
        asked = other.ask(join_request(group, protocols=others), JOIN_VERSION)
        request = join_request(group, asked.member_id, protocols=others)
        waiting = other.send(request, JOIN_VERSION)
        await_rebalance(connection, group, first)
        fewer = join_request(group, first.member_id, protocols={"a": b"", "c": b""})
        again = connection.ask(fewer, JOIN_VERSION)
        second = other.answer(waiting, type(request), JOIN_VERSION)
    assert again.protocol_name == second.protocol_name == "c"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"session_timeout_ms": 99}, Error.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, Error.INVALID_SESSION_TIMEOUT),
        ({"member_id": "nobody"}, Error.UNKNOWN_MEMBER_ID),
        ({"protocols": {}}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, Error.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_what_a_new_group_refuses(
    connection: Connection, group: str, options: dict[str, Any], error: Error
) -> None:
    """Sessions outside of the broker's bounds, strangers' ids, members that speak nothing."""
    find_coordinator(connection, group)
    # Static, so that no member id is asked for first.
    request = join_request(group, group_instance_id="i", **options)
    assert connection.ask(request, JOIN_VERSION).error_code == error
    assert described(connection, group).group_state in ("Dead", "Empty")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"protocol_type": "connect"}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {"other": b""}}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "nobody"}, Error.UNKNOWN_MEMBER_ID),
    ],
)
def test_what_a_stable_group_refuses(
    connection: Connection, group: str, options: dict[str, Any], error: Error
) -> None:
    """Whoever does not fit is refused, and the generation lives on."""
    member = stable_alone(connection, group)
    assert connection.ask(join_request(group, **options), JOIN_VERSION).error_code == error
    assert heartbeat(connection, group, member) == Error.NONE


def test_a_group_needs_a_name(connection: Connection) -> None:
    """The empty group id is only for those who commit by hand."""
    find_coordinator(connection, "")
    assert connection.ask(join_request(""), JOIN_VERSION).error_code == Error.INVALID_GROUP_ID


def test_a_static_member_that_returns_takes_its_place(connection: Connection, group: str) -> None:
    """KIP-345, KIP-814: a new id in the same generation, and the old id is fenced from then on."""
    first = stable_alone(connection, group, group_instance_id="a", assignment=b"work")
    again = connection.ask(join_request(group, group_instance_id="a"), JOIN_VERSION)
    assert again.error_code == Error.NONE
    assert again.generation_id == first.generation_id
    assert again.member_id != first.member_id
    # It leads, but must not assign anew: what it had is still right.
    assert (again.leader, again.skip_assignment) == (again.member_id, True)
    answer = connection.ask(sync_request(group, again), SYNC_VERSION)
    assert (answer.error_code, answer.assignment) == (Error.NONE, b"work")
    fenced = heartbeat(connection, group, first, group_instance_id="a")
    assert fenced == Error.FENCED_INSTANCE_ID
    old = join_request(group, first.member_id, group_instance_id="a")
    assert connection.ask(old, JOIN_VERSION).error_code == Error.FENCED_INSTANCE_ID


def test_who_vanishes_before_joining_is_forgotten(connection: Connection, group: str) -> None:
    """A member id that was given out but never used does not hold up the others (KIP-394)."""
    find_coordinator(connection, group)
    asked = connection.ask(join_request(group, session_timeout_ms=100), JOIN_VERSION)
    assert asked.error_code == Error.MEMBER_ID_REQUIRED
    joined = joined_alone(connection, group)
    assert [each.member_id for each in joined.members] == [joined.member_id]
