"""Members of a classic group that are no consumers: joining, deciding, leaving, being lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping

import pytest

from headrace.client.membership import Assignment, GroupMember, GroupProtocol
from headrace.client.settings import client_settings
from headrace.testing import Broker
from tests.clients.producer.gateway import gateway


class Member:
    """A member whose leader tells everybody the names of all."""

    def __init__(self, bootstrap: str, group: str, name: str, **timing: int) -> None:
        settings, _ = client_settings({"bootstrap.servers": bootstrap, "client.id": name})
        self.heard: list[Assignment] = []
        self.losses = 0
        self._changed = threading.Condition()
        self.member = GroupMember(
            settings,
            GroupProtocol(group, "test", "v0", **{"heartbeat_interval_ms": 100, **timing}),
            metadata=name.encode,
            assign=self._assign,
            on_assigned=self._on_assigned,
            on_lost=self._on_lost,
        )
        self.member.start()

    def _assign(self, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        everybody = b",".join(sorted(members.values()))
        return dict.fromkeys(members, everybody)

    def _on_assigned(self, assignment: Assignment) -> None:
        with self._changed:
            self.heard.append(assignment)
            self._changed.notify_all()

    def _on_lost(self) -> None:
        with self._changed:
            self.losses += 1
            self._changed.notify_all()

    def wait_for(self, is_so: Callable[[], bool], timeout_s: float = 15) -> None:
        with self._changed:
            assert self._changed.wait_for(is_so, timeout_s)

    def wait_to_hear(self, *names: str) -> None:
        expected = ",".join(sorted(names)).encode()
        self.wait_for(lambda: bool(self.heard) and self.heard[-1].data == expected)


@pytest.fixture
def join(fresh_name: str) -> Iterator[Callable[..., Member]]:
    """Makes members of one group, who leave with the test."""
    members: list[Member] = []

    def make(bootstrap: str, name: str, **timing: int) -> Member:
        member = Member(bootstrap, fresh_name, name, **timing)
        members.append(member)
        return member

    yield make
    for member in members:
        member.member.close(timeout_s=1)


@pytest.fixture(scope="module")
def quick_broker() -> Iterator[Broker]:
    """A broker that lets groups form, and members be missed, at once."""
    properties = {
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 500,
    }
    with Broker(properties) as broker:
        yield broker


def test_members_hear_the_same_decision(quick_broker: Broker, join: Callable[..., Member]) -> None:
    """In the same generation; one that comes or leaves makes a new one at once."""
    bootstrap = quick_broker.bootstrap_servers
    first = join(bootstrap, "a", session_timeout_ms=60_000)
    first.wait_to_hear("a")
    second = join(bootstrap, "b")
    first.wait_to_hear("a", "b")
    second.wait_to_hear("a", "b")
    assert first.heard[-1].generation == second.heard[-1].generation
    assert first.heard[-1].member_id != second.heard[-1].member_id
    started = time.monotonic()
    first.member.close()
    second.wait_to_hear("b")
    assert time.monotonic() - started < 10, "who leaves is not waited for"
    assert first.losses == 1
    assert second.losses == 0


def test_a_member_without_a_broker_is_lost(
    quick_broker: Broker, join: Callable[..., Member]
) -> None:
    """Once its session must be over it counts as out; it comes back with the broker."""
    with gateway(quick_broker.bootstrap_servers) as between:
        member = join(between.bootstrap, "a", session_timeout_ms=600)
        member.wait_to_hear("a")
        assert member.member.heard <= time.monotonic()
        before = len(member.heard)
    member.wait_for(lambda: member.losses == 1)
    assert len(member.heard) == before


def test_a_member_that_was_missed_joins_again(
    quick_broker: Broker, join: Callable[..., Member], fresh_name: str
) -> None:
    """When the coordinator does not know it any more: lost, then a member under a new name."""
    from headrace.client.cluster import Cluster
    from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity

    member = join(quick_broker.bootstrap_servers, "a")
    member.wait_to_hear("a")
    was = member.heard[-1].member_id
    settings, _ = client_settings({"bootstrap.servers": quick_broker.bootstrap_servers})
    cluster = Cluster(settings)
    who = MemberIdentity(member_id=was)
    request = LeaveGroupRequest(group_id=fresh_name, members=[who])
    cluster.coordinator(fresh_name).call(request)
    cluster.close()
    member.wait_for(lambda: member.losses == 1 and len(member.heard) == 2)
    assert member.heard[-1].member_id != was


def test_closing_before_a_broker_answers(join: Callable[..., Member]) -> None:
    """It neither hangs nor raises."""
    member = join("127.0.0.1:1", "a")
    started = time.monotonic()
    member.member.close(timeout_s=0.5)
    assert time.monotonic() - started < 10
