"""Any story that members can tell keeps what a group promises.

The clients below do what clients do, and what broken ones do: they join twice, forget their ids,
share an instance id, leave for others, fall silent. The coordinator fails over in between.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headrace.coordinator.effects import AnyReply
from headrace.coordinator.group.classic import ClassicState
from headrace.errors import Error
from headrace.wire.messages.join_group import JoinGroupResponse
from headrace.wire.messages.sync_group import SyncGroupResponse
from tests.coordinator.classic.story import Client, Stage
from tests.coordinator.tickets import opened
from tests.generated import examples
from tests.settings import group_settings

CLIENTS = (
    Client("A"),
    Client("B", session_timeout_ms=30_000, protocols=[("sticky", b"b"), ("range", b"b")]),
    Client("C", version=3, rebalance_timeout_ms=20_000),
    Client("D", version=0),
    Client("S", instance_id="s", protocols=[("range", b"s"), ("sticky", b"s")]),
    Client("T", instance_id="s", version=8),  # the instance id of S
    Client("U", instance_id="u", version=5, session_timeout_ms=60_000),
)
clients = st.sampled_from([client.name for client in CLIENTS])
LONG_MS = 1_000_000


class Watched(Stage):
    """A stage that compares what members of one generation are told."""

    def __init__(self) -> None:
        super().__init__(group_settings(group_max_size=5))
        self.clients = {client.name: replace(client, led=[]) for client in CLIENTS}
        self.newest = 0
        self.told: dict[str, tuple[str | None, str]] = {}

    def identity(self, member_id: str) -> str:
        """Who it is, whatever its incarnation."""
        return member_id[:-37] if member_id.startswith(("s-", "u-")) else member_id

    def answer(self, reply: AnyReply) -> None:
        ticket, response = opened(reply)
        client, _ = self.waiting[ticket]
        if isinstance(response, JoinGroupResponse) and response.error_code == Error.NONE:
            assert response.generation_id >= self.newest, "generations grow"
            if response.generation_id > self.newest:
                self.newest = response.generation_id
                self.told.clear()
            agreed = (response.protocol_name, self.identity(response.leader))
            assert self.told.setdefault("all", agreed) == agreed, "one protocol, one leader"
            if response.members:
                assert response.member_id == response.leader, "only the leader sees the members"
                client.led = [member.member_id for member in response.members]
            else:
                client.led = []
        if isinstance(response, SyncGroupResponse) and response.error_code == Error.NONE:
            work = response.assignment.decode()
            expected = f"{self.group.generation_id}:{self.identity(client.member_id)}"
            assert work in ("", expected), "work of this generation, for this member"
        super().answer(reply)


class AnyStory(RuleBasedStateMachine):
    """Everything that may happen to a group."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Watched()

    @rule(name=clients)
    def join(self, name: str) -> None:
        self.stage.perform(f"{name} > join v{self.stage.clients[name].version}")

    @rule(name=clients)
    def join_after_a_restart_of_the_client(self, name: str) -> None:
        self.stage.perform(f"{name} > join v{self.stage.clients[name].version} as=-")

    @rule(name=clients)
    def sync(self, name: str) -> None:
        stage, client = self.stage, self.stage.clients[name]
        work = [
            f"{stage.shown(member_id)}={client.generation_id}:{stage.identity(member_id)}"
            for member_id in client.led
        ]
        stage.perform(" ".join([f"{name} > sync", *work]))

    @rule(name=clients)
    def heartbeat(self, name: str) -> None:
        self.stage.perform(f"{name} > heartbeat")

    @rule(name=clients)
    def commit(self, name: str) -> None:
        self.stage.perform(f"{name} > commit")

    @rule(name=clients)
    def leave(self, name: str) -> None:
        self.stage.perform(f"{name} > leave")

    @rule(instance_id=st.sampled_from("su"))
    def remove_instance(self, instance_id: str) -> None:
        self.stage.perform(f"A > leave instances={instance_id}")

    @rule(by_ms=st.sampled_from([1, 2_999, 3_000, 9_999, 20_000, 60_000]))
    def pass_time(self, by_ms: int) -> None:
        self.stage.perform(f"+{by_ms}")

    @rule()
    def everybody_does_as_told(self) -> None:
        """One round of what well-behaved members do, so that groups get somewhere."""
        for name in self.stage.clients:
            if not any(client.name == name for client, _ in self.stage.waiting.values()):
                self.join(name)
        self.stage.perform("+3000")
        for name in self.stage.clients:
            self.sync(name)

    @rule()
    def restart(self) -> None:
        self.stage.perform("restart")
        self.stage.newest = self.stage.group.generation_id
        self.stage.told.clear()

    @invariant()
    def members_are_where_they_should_be(self) -> None:
        group = self.stage.group
        members = group.members.values()
        joining = [member for member in members if member.parked_join is not None]
        syncing = [member for member in members if member.parked_sync is not None]
        assert group.awaiting_join == len(joining)
        assert not joining or group.state is ClassicState.PREPARING_REBALANCE
        assert not syncing or group.state is ClassicState.COMPLETING_REBALANCE
        assert group.generation_id >= self.stage.newest
        assert (group.leader_id in group.members) == bool(group.members)
        assert not (group.is_empty and group.members)
        static = {m.group_instance_id: m.member_id for m in members if m.is_static}
        assert group.static_members == static
        assert group.pending_sync <= set(group.members)
        assert group.pending_members.isdisjoint(group.members)

    @invariant()
    def time_will_tell(self) -> None:
        group, timers = self.stage.group, self.stage.timers
        running: set[tuple[str, ...]] = {
            group.pending_timer(member_id) for member_id in group.pending_members
        }
        if group.state is ClassicState.PREPARING_REBALANCE:
            running.add(group.join_timer)
        if group.pending_sync:
            running.add(group.sync_timer)
        for member in group.members.values():
            session_timer = group.session_timer(member.member_id)
            if session_timer in timers or not member.is_surely_alive:
                running.add(session_timer)
        assert all(key in timers for key in running)
        assert len(timers) == len(running)

    def teardown(self) -> None:
        """When all fall silent, everybody has been answered in the end, and the group is empty."""
        self.stage.perform(f"+{LONG_MS}")
        assert not self.stage.waiting
        assert self.stage.group.is_empty
        assert len(self.stage.timers) == 0


TestAnyStory = AnyStory.TestCase
TestAnyStory.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
