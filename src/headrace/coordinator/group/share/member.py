"""One member of a share group, as a value: a change makes a new one.

Nothing is ever taken from a member before it is given to another, because partitions are shared:
a member has what its last answer said, and there are no states between.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headrace.coordinator.group.consumer.member import JOIN_EPOCH, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareMember:
    """A member, what it told about itself, and what it may fetch from."""

    member_id: str
    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    assigned: Target = field(default_factory=dict)

    def moved_to(self, epoch: int, assigned: Target) -> ShareMember:
        """This member with another assignment; its present epoch becomes the previous one."""
        return replace(
            self,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            assigned=assigned,
        )
