"""One member of a consumer group, as a value: a change makes a new one.

A member is two things in the log: what it told about itself, and what it owns. Both are here, so
that a handler can work out the member as it shall be before any of it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias
from uuid import UUID

from headrace.coordinator.group.modern.member import ModernMember, Target
from headrace.coordinator.group.modern.state import MEMBER_TRANSITIONS, MemberState
from headrace.coordinator.group.records import ClassicMemberMetadata
from headrace.wire.messages.consumer_group_heartbeat import TopicPartitions

LEAVE_STATIC_EPOCH: Final = -2
UNSET_TIMEOUT_MS: Final = -1

Owned: TypeAlias = Mapping[UUID, Mapping[int, int]]
"""The partitions that a member has, each with the epoch in which it got it (KIP-1251)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(ModernMember):
    """A member. `classic` is what only a member of the classic protocol has."""

    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rebalance_timeout_ms: int = UNSET_TIMEOUT_MS
    subscribed_topic_regex: str = ""
    server_assignor: str | None = None
    classic: ClassicMemberMetadata | None = None
    assigned: Owned = field(default_factory=dict)
    revoking: Owned = field(default_factory=dict)

    @property
    def uses_classic_protocol(self) -> bool:
        return self.classic is not None

    @property
    def classic_protocols(self) -> list[tuple[str, bytes]]:
        """The (name, metadata) pairs of a member of the classic protocol, most wanted first."""
        assert self.classic is not None, "asked only of members of the classic protocol"
        return [(each.name, each.metadata) for each in self.classic.supported_protocols]

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Whether it has all that the target assignment of this epoch gives it."""
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch

    def moved_to(self, state: MemberState, epoch: int, assigned: Owned, revoking: Owned) -> Member:
        """This member one step further; its present epoch becomes the previous one."""
        assert state in MEMBER_TRANSITIONS[self.state], f"{self.state.name} -> {state.name}"
        return replace(
            self,
            state=state,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            assigned=assigned,
            revoking=revoking,
        )

    def away(self) -> Member:
        """This static member after it left with the intent to return.

        It keeps what it has, and gives up what it was asked to. What the instance that returns
        commits must not be refused, whatever epoch it starts with, so all is owned since epoch 0.
        """
        assigned = {topic: dict.fromkeys(owned, 0) for topic, owned in self.assigned.items()}
        return replace(self, member_epoch=LEAVE_STATIC_EPOCH, assigned=assigned, revoking={})


def owned_from(topics: Iterable[TopicPartitions] | None) -> Target | None:
    """What a member says that it owns; None if it says nothing."""
    if topics is None:
        return None
    return {topic.topic_id: frozenset(topic.partitions) for topic in topics}
