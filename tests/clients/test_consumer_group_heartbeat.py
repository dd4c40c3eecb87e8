"""ConsumerGroupHeartbeat: join, reconcile, leave and be fenced, all in one API (KIP-848)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import Error
from tests.clients.configs import Op, Resource, changed
from tests.clients.contract import eventually
from tests.clients.groups.raw_members import (
    TIMEOUT_MS,
    NewMember,
    described_consumer,
    find_coordinator,
    reconciled,
)
from tests.clients.raw import Connection
from tests.clients.requests import topic_id_of


@pytest.mark.parametrize("version", [0, 1])
def test_joining(connection: Connection, topic: str, group: str, version: int) -> None:
    """A new group begins for its first member; up to v0 the coordinator makes the member id."""
    find_coordinator(connection, group)
    member_id = "" if version == 0 else str(uuid.uuid4())
    request = NewMember(connection, group, member_id=member_id).request(
        rebalance_timeout_ms=TIMEOUT_MS, topic_partitions=[], subscribed_topic_names=[topic]
    )
    answer = connection.ask(request, version)
    assert answer.error_code == Error.NONE
    assert answer.member_id == (member_id or answer.member_id) != ""
    assert answer.heartbeat_interval_ms == 50
    member = NewMember(connection, group, [topic], answer.member_id, epoch=answer.member_epoch)
    member.owned = {part.topic_id: part.partitions for part in answer.assignment.topic_partitions}
    reconciled(member, partitions=1)
    assert member.epoch > 0
    assert member.owned == {topic_id_of(connection, topic): [0]}
    member.leave()


def test_a_partition_moves_when_its_owner_lets_it_go(
    connection: Connection, new_topic: Callable[..., str], group: str
) -> None:
    """The second member gets its share only after the first has said that it gave it up."""
    topic = new_topic(partitions=2)
    first, second = (NewMember(connection, group, [topic]) for _ in range(2))
    first.join()
    reconciled(first, partitions=2)
    epoch, both = first.epoch, dict(first.owned)
    second.join()
    assert second.partitions == []
    first.beat()
    kept = dict(first.owned)
    assert kept != both, "it is told what to keep"
    for _ in range(3):  # but says that it still owns both, so nothing moves
        first.owned = both
        assert first.beat().member_epoch == epoch
        second.beat()
        assert second.partitions == []
    first.owned = kept
    reconciled(first, second, partitions=2)
    assert first.epoch == second.epoch > epoch
    assert sorted(first.partitions + second.partitions) == [0, 1]
    for member in (first, second):
        member.leave()


def test_who_waits_comes_back_sooner(
    connection: Connection, new_topic: Callable[..., str], group: str
) -> None:
    """A member whose partitions others have yet to release is told a tenth of the interval."""
    topic = new_topic(partitions=2)
    first, second = (NewMember(connection, group, [topic]) for _ in range(2))
    first.join()
    reconciled(first, partitions=2)
    assert second.join().heartbeat_interval_ms == 5
    assert first.beat().heartbeat_interval_ms == 50
    assert second.beat().heartbeat_interval_ms == 5
    reconciled(first, second, partitions=2)
    assert [each.beat().heartbeat_interval_ms for each in (first, second)] == [50, 50]
    for member in (first, second):
        member.leave()


def test_who_waits_hears_at_once(
    bootstrap: str, connection: Connection, new_topic: Callable[..., str], group: str
) -> None:
    """The answer to a member that owns nothing waits, and comes when partitions are free."""
    topic = new_topic(partitions=2)
    first = NewMember(connection, group, [topic])
    first.join()
    reconciled(first, partitions=2)
    with Connection(bootstrap) as waiting:
        second = NewMember(waiting, group, [topic])
        second.join()
        request = second.request(topic_partitions=[])
        number = waiting.send(request, 1)
        first.beat()  # it is told what to give up
        first.beat()  # it has given that up
        answer = waiting.answer(number, type(request), 1)
        (given,) = answer.assignment.topic_partitions
        assert sorted(given.partitions + first.partitions) == [0, 1]
        for member in (first, second):
            member.leave()


def test_epochs_fence(connection: Connection, topic: str, group: str) -> None:
    """Another epoch than the member's own is FENCED_MEMBER_EPOCH; the true one goes on."""
    member = NewMember(connection, group, [topic])
    member.join()
    for epoch in (member.epoch + 1, member.epoch + 100):
        answer = member.beat(member_epoch=epoch)
        assert answer.error_code == Error.FENCED_MEMBER_EPOCH
    stranger = connection.ask(member.request(member_id="nobody", topic_partitions=[]), 1)
    assert stranger.error_code == Error.UNKNOWN_MEMBER_ID
    assert member.beat().error_code == Error.NONE
    other = connection.ask(member.request(group_id=f"{group}-x"), 1)
    assert other.error_code == Error.GROUP_ID_NOT_FOUND
    assert member.leave().error_code == Error.NONE
    assert member.beat().error_code == Error.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"group_id": ""}, Error.INVALID_REQUEST),
        ({"group_id": " "}, Error.INVALID_REQUEST),
        ({"member_id": ""}, Error.INVALID_REQUEST),
        ({"member_epoch": -3}, Error.INVALID_REQUEST),
        ({"instance_id": ""}, Error.INVALID_REQUEST),
        ({"rack_id": ""}, Error.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, Error.INVALID_REQUEST),
        ({"topic_partitions": None}, Error.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, Error.INVALID_REQUEST),
        ({"subscribed_topic_regex": "("}, Error.INVALID_REGULAR_EXPRESSION),
        ({"server_assignor": "unheard-of"}, Error.UNSUPPORTED_ASSIGNOR),
        ({"server_assignor": ""}, Error.UNSUPPORTED_ASSIGNOR),
    ],
)
def test_what_a_join_must_say(
    connection: Connection, topic: str, group: str, options: dict[str, Any], error: Error
) -> None:
    """Each refusal names its cause, and no group comes of it."""
    find_coordinator(connection, group)
    whole: dict[str, Any] = {
        "rebalance_timeout_ms": TIMEOUT_MS,
        "topic_partitions": [],
        "subscribed_topic_names": [topic],
        **options,
    }
    answer = connection.ask(NewMember(connection, group).request(**whole), 1)
    assert Error(answer.error_code) == error
    assert answer.error_message
    assert described_consumer(connection, group).error_code == Error.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_the_assignor_is_the_members_choice(
    connection: Connection, topic: str, group: str, assignor: str
) -> None:
    """Of those that the broker has; the group shows which it is."""
    member = NewMember(connection, group, [topic])
    assert member.join(server_assignor=assignor).error_code == Error.NONE
    assert described_consumer(connection, group).assignor_name == assignor
    member.leave()


def test_subscriptions_change_and_match(
    connection: Connection, new_topic: Callable[..., str], group: str
) -> None:
    """Names and a regular expression add up; what is null stays as it was."""
    topics = [new_topic() for _ in range(3)]
    ids = [topic_id_of(connection, topic) for topic in topics]
    member = NewMember(connection, group, topics[:1])
    member.join()
    reconciled(member, partitions=1)
    assert member.owned.keys() == {ids[0]}
    member.beat(subscribed_topic_names=topics[:2])
    eventually(lambda: bool(member.beat()) and set(member.owned) == set(ids[:2]), "the second")
    member.beat(subscribed_topic_regex=f"{topics[2]}.*")
    eventually(lambda: bool(member.beat()) and set(member.owned) == set(ids), "the third")
    assert described_consumer(connection, group).members[0].subscribed_topic_regex is not None
    member.leave()


def test_a_static_member_leaves_for_a_moment(
    connection: Connection, new_topic: Callable[..., str], group: str
) -> None:
    """Epoch -2 keeps its place: another with the instance has the work, as soon as it is free."""
    topic = new_topic(partitions=2)
    first = NewMember(connection, group, [topic], instance_id="a")
    other = NewMember(connection, group, [topic], instance_id="b")
    first.join()
    other.join()
    reconciled(first, other, partitions=2)
    assert len(first.partitions) == len(other.partitions) == 1
    twin = NewMember(connection, group, [topic], instance_id="a")
    assert twin.join().error_code == Error.UNRELEASED_INSTANCE_ID
    had, epoch = first.partitions, other.epoch
    gone = first.leave(epoch=-2)
    assert (gone.error_code, gone.member_epoch) == (Error.NONE, -2)
    assert other.beat().error_code == Error.NONE
    assert other.epoch == epoch, "nothing moved"
    assert twin.join().error_code == Error.NONE
    assert twin.partitions == had
    assert first.beat().error_code in (Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID)
    for member in (twin, other):
        member.leave()


def test_silence_ends_the_session(connection: Connection, topic: str, group: str) -> None:
    """consumer.session.timeout.ms of the group without a sign of life, and the member is gone."""
    session = ("consumer.session.timeout.ms", Op.SET, "300")
    assert changed(connection, group, session, kind=Resource.GROUP).error_code == Error.NONE
    member = NewMember(connection, group, [topic])
    member.join()
    eventually(
        lambda: described_consumer(connection, group).group_state == "Empty", "the end of it"
    )
    assert member.beat().error_code == Error.UNKNOWN_MEMBER_ID


def test_who_keeps_what_it_must_give_up_is_fenced(
    connection: Connection, new_topic: Callable[..., str], group: str
) -> None:
    """A member that does not revoke within its rebalance timeout loses everything."""
    topic = new_topic(partitions=2)
    stubborn, second = (NewMember(connection, group, [topic]) for _ in range(2))
    stubborn.join()
    reconciled(stubborn, partitions=2)
    stubborn.beat(rebalance_timeout_ms=200)
    second.join()
    connection.ask(stubborn.request(), 1)  # is told what to give up, and does not
    eventually(lambda: bool(second.beat()) and second.partitions == [0, 1], "all of it")
    assert stubborn.beat().error_code == Error.UNKNOWN_MEMBER_ID
    second.leave()
