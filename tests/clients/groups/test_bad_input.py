"""Members that vanish, names that nobody would choose, requests that make no sense."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.header import encode_request
from headrace.wire.messages.join_group import JoinGroupRequest
from headrace.wire.messages.list_groups import ListGroupsRequest
from tests.clients.contract import eventually
from tests.clients.groups.raw_members import (
    COMMIT_VERSION,
    JOIN_VERSION,
    SYNC_VERSION,
    await_rebalance,
    commit,
    commit_request,
    committed,
    described,
    find_coordinator,
    heartbeat,
    join_request,
    stable_alone,
    sync_request,
)
from tests.clients.raw import Connection, ConnectionClosed

SHORT: dict[str, Any] = {"session_timeout_ms": 300}  # of those who vanish; the others have time


def joining(connection: Connection, group: str, **options: Any) -> int:
    """A second member asks to join and waits; the number of its request."""
    asked = connection.ask(join_request(group, **options), JOIN_VERSION)
    return connection.send(join_request(group, asked.member_id, **options), JOIN_VERSION)


def rejoined(connection: Connection, group: str, member: Any) -> Any:
    answer = connection.ask(join_request(group, member.member_id), JOIN_VERSION)
    assert answer.error_code == Error.NONE, Error(answer.error_code).name
    return answer


def alone_and_stable(connection: Connection, group: str, joined: Any) -> None:
    """Follow rebalances, as a client would, until this is the only member and has work."""
    joins = [joined]

    def settled() -> bool:
        request = sync_request(group, joins[-1], {joins[-1].member_id: b"all"})
        answer = connection.ask(request, SYNC_VERSION)
        error = Error(answer.error_code) or heartbeat(connection, group, joins[-1])
        if error == Error.NONE:
            found = described(connection, group)
            return found.group_state == "Stable" and len(found.members) == 1
        assert error == Error.REBALANCE_IN_PROGRESS
        joins.append(rejoined(connection, group, joined))
        return False

    eventually(settled, "the survivor to be alone")


def test_a_member_that_vanishes_while_it_waits(
    bootstrap: str, connection: Connection, group: str
) -> None:
    """It joins and its connection ends before the group is complete: nobody waits for it long."""
    member = stable_alone(connection, group)
    with Connection(bootstrap) as other:
        joining(other, group, **SHORT)
        await_rebalance(connection, group, member)
    again = rejoined(connection, group, member)
    assert again.generation_id == member.generation_id + 1
    alone_and_stable(connection, group, again)


def test_a_member_that_does_not_join_again(
    bootstrap: str, connection: Connection, group: str
) -> None:
    """It is left behind when its session is over; the others get their generation."""
    absent = stable_alone(connection, group, **SHORT)
    with Connection(bootstrap) as other:
        waiting = joining(other, group)
        joined = other.answer(waiting, JoinGroupRequest, JOIN_VERSION)
        assert joined.error_code == Error.NONE
        assert joined.leader == joined.member_id
        assert heartbeat(connection, group, absent) == Error.UNKNOWN_MEMBER_ID
        alone_and_stable(other, group, joined)


def test_a_leader_that_vanishes_before_it_assigns(
    bootstrap: str, connection: Connection, group: str
) -> None:
    """Who waits for the assignment is sent to join again, and then leads."""
    leader = stable_alone(connection, group, **SHORT)
    with Connection(bootstrap) as other:
        waiting = joining(other, group)
        await_rebalance(connection, group, leader)
        connection.ask(join_request(group, leader.member_id, **SHORT), JOIN_VERSION)
        follower = other.answer(waiting, JoinGroupRequest, JOIN_VERSION)
        assert follower.leader == leader.member_id
        answer = other.ask(sync_request(group, follower), SYNC_VERSION)
        assert answer.error_code == Error.REBALANCE_IN_PROGRESS
        again = rejoined(other, group, follower)
        assert again.leader == follower.member_id
        alone_and_stable(other, group, again)


NAMES = [
    " ",
    "\x00",
    "a\nb\tc",
    "../../etc/passwd",
    "Grüße-κόσμε-🜁",
    "\u202eright to left",
    "\ufffd",
    "%s%n${jndi:ldap://x}",
    "x" * 30_000,
]


@pytest.mark.parametrize("name", NAMES, ids=[str(number) for number in range(len(NAMES))])
def test_a_group_may_have_any_name(connection: Connection, topic: str, name: str) -> None:
    """Whatever text it is, its offsets come back and it is listed as it is."""
    group = f"{name}{uuid.uuid4().hex[:8]}"
    assert commit(connection, group, topic, 7) == Error.NONE
    assert committed(connection, group, topic).committed_offset == 7
    assert group in {each.group_id for each in connection.ask(ListGroupsRequest(), 5).groups}
    member = stable_alone(connection, f"{group}-members")
    assert heartbeat(connection, f"{group}-members", member) == Error.NONE


@pytest.mark.parametrize("noise", [b"\xff\xfe\xfd", b"\xc3\x28\x41", b"\xed\xa0\x80"])
def test_a_name_that_is_no_text(
    bootstrap: str, connection: Connection, topic: str, group: str, noise: bytes
) -> None:
    """Bytes that are no UTF-8 end the connection or name some group; the broker serves on."""
    assert commit(connection, group, topic, 1) == Error.NONE
    whole = b"".join(encode_request(1, "raw", COMMIT_VERSION, commit_request("@@@", topic, 5)))
    with Connection(bootstrap) as stranger:
        stranger.send_bytes(whole.replace(b"@@@", noise))
        try:
            stranger.receive_frame()
        except ConnectionClosed:
            pass  # which is an answer, too
    assert committed(connection, group, topic).committed_offset == 1


def test_an_old_member_cannot_disturb_the_new_ones(
    bootstrap: str, connection: Connection, topic: str, group: str
) -> None:
    """A zombie of an earlier generation can neither commit, nor sync, nor keep itself alive."""
    zombie = stable_alone(connection, group, **SHORT)
    with Connection(bootstrap) as other:
        waiting = joining(other, group)
        heir = other.answer(waiting, JoinGroupRequest, JOIN_VERSION)
        request = sync_request(group, heir, {heir.member_id: b"work"})
        assert other.ask(request, SYNC_VERSION).error_code == Error.NONE
        who = {
            "member_id": zombie.member_id,
            "generation_id_or_member_epoch": zombie.generation_id,
        }
        assert commit(connection, group, topic, 9, **who) == Error.UNKNOWN_MEMBER_ID
        theft = {**who, "member_id": heir.member_id}
        assert commit(connection, group, topic, 9, **theft) == Error.ILLEGAL_GENERATION
        assert heartbeat(connection, group, zombie) == Error.UNKNOWN_MEMBER_ID
        answer = connection.ask(sync_request(group, zombie), SYNC_VERSION)
        assert answer.error_code == Error.UNKNOWN_MEMBER_ID
        assert heartbeat(other, group, heir) == Error.NONE
    find_coordinator(connection, group)
    assert committed(connection, group, topic).committed_offset == -1
