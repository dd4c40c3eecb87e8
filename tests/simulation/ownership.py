"""Who may consume what, and that generations and epochs only grow.

Clients say what they own; that counts as long as the coordinator has them as members. In a classic
group two members of one generation never own the same partition, in a consumer group no two members
do at any time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set
from typing import Any

from headrace.coordinator.group.classic import ClassicGroup
from headrace.coordinator.group.consumer import ConsumerGroup
from headrace.coordinator.group.listing import Group
from headrace.coordinator.group.shard import GroupShard
from headrace.errors import Error
from headrace.testing.simulated_network import SimulatedCall
from headrace.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from headrace.wire.messages.delete_groups import DeleteGroupsRequest
from headrace.wire.messages.sync_group import SyncGroupRequest
from tests.simulation.failure import check, fail
from tests.simulation.members import Member


class Ownership:
    """See the module."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}  # what a group was last seen to be in, in this life
        self._member_epochs: dict[tuple[str, str], int] = {}
        self._seen: dict[str, tuple[bool, Set[str]]] = {}  # whether it is classic, and its members
        self._homes: dict[str, int] = {}  # the shard of each group
        self._deletable: set[str] = set()
        self._told: dict[str, int] = {}  # the highest that a client was told, and must survive

    def on_arrival(self, call: SimulatedCall) -> None:
        if isinstance(call.request, DeleteGroupsRequest):
            self._deletable |= set(call.request.groups_names)

    def on_answer(self, call: SimulatedCall, response: Any) -> None:
        request = call.request
        if isinstance(request, SyncGroupRequest) and response.error_code == Error.NONE:
            self._tell(request.group_id, request.generation_id)
        elif isinstance(request, ConsumerGroupHeartbeatRequest) and not response.error_code:
            self._tell(request.group_id, response.member_epoch)

    def _tell(self, group_id: str, number: int) -> None:
        self._told[group_id] = max(self._told.get(group_id, 0), number)

    def look(self, index: int, shard: GroupShard, members: Iterable[Member]) -> None:
        """Look at all groups of a shard, and at those clients that say they are in them."""
        for group_id in self._deletable - shard.groups.keys():
            if self._homes.get(group_id) == index:
                self._forget(group_id)
        for group_id, group in shard.groups.items():
            self._homes[group_id] = index
            is_classic = isinstance(group, ClassicGroup)
            self._notice_new_group(group_id, is_classic, group.members.keys())
            self._check_number(group_id, _number(group))
            if isinstance(group, ConsumerGroup):
                for member_id, known in group.members.items():
                    self._check_member_epoch(group_id, member_id, known.member_epoch)
            owners: dict[tuple[int, Hashable], str] = {}
            for member in members:
                if member.group_id != group_id or member.member_id not in group.members:
                    continue
                generation = member.number if is_classic else 0
                for where in member.claims:
                    other = owners.setdefault((generation, where), member.member_id)
                    if other != member.member_id:
                        fail("one-owner", f"{where} of {group_id}: {other}, {member.member_id}")

    def _notice_new_group(self, group_id: str, is_classic: bool, members: Set[str]) -> None:
        """An empty group that turns into one of the other kind is forgotten, and counts anew."""
        kind, before = self._seen.get(group_id, (is_classic, frozenset[str]()))
        if kind != is_classic and before.isdisjoint(members):
            self._forget(group_id)
        if kind != is_classic or before != members:
            self._seen[group_id] = (is_classic, frozenset(members))

    def _check_number(self, group_id: str, number: int) -> None:
        before = self._numbers.get(group_id, 0)
        if number < before:
            fail("epochs-grow", f"{group_id} was in {before} and is in {number} now")
        self._numbers[group_id] = number

    def _check_member_epoch(self, group_id: str, member_id: str, epoch: int) -> None:
        key = (group_id, member_id)
        before = self._member_epochs.get(key, 0)
        if epoch <= 0:  # it left to return, or it joins again
            self._member_epochs.pop(key, None)
            return
        if epoch < before:
            fail("epochs-grow", f"{member_id} of {group_id} was in {before}, now in {epoch}")
        self._member_epochs[key] = epoch

    def look_after_load(self, index: int, shard: GroupShard) -> None:
        """A new life may know less than the last one did, but not less than clients were told."""
        for group_id in [each for each, home in self._homes.items() if home == index]:
            if group_id not in shard.groups:
                if group_id in self._told and group_id not in self._deletable:
                    fail("groups-survive", f"{group_id} is gone, although nobody deleted it")
                self._forget(group_id)
        for group_id, group in shard.groups.items():
            number = _number(group)
            told = self._told.get(group_id, 0)
            check(
                number >= told,
                "epochs-grow",
                f"members of {group_id} were told {told}, after the load it is in {number}",
            )
            self._numbers[group_id] = number
            self._forget_members(group_id)

    def _forget(self, group_id: str) -> None:
        self._numbers.pop(group_id, None)
        self._told.pop(group_id, None)
        self._forget_members(group_id)

    def _forget_members(self, group_id: str) -> None:
        for key in [each for each in self._member_epochs if each[0] == group_id]:
            del self._member_epochs[key]


def _number(group: Group) -> int:
    return group.generation_id if isinstance(group, ClassicGroup) else group.group_epoch
