"""One member of a share group, as a value: a change makes a new one.

Nothing is ever taken from a member before it is given to another, because partitions are shared:
a member has what its last answer said, and there are no states between.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headrace.coordinator.group.modern.member import ModernMember, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareMember(ModernMember):
    """A member, and what it may fetch from."""

    assigned: Target = field(default_factory=dict)

    def moved_to(self, epoch: int, assigned: Target) -> ShareMember:
        """This member with another assignment; its present epoch becomes the previous one."""
        return replace(
            self,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            assigned=assigned,
        )
