"""The target assignment of a share group: what each member shall have in an epoch.

Only partitions whose state is initialized are given to anybody. It is computed at most once in
`share.assignment.interval.ms` (KIP-1263): what changes in between is covered by the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from headrace.coordinator.group.modern.member import Target
from headrace.coordinator.group.share.assignor import assign_simple
from headrace.coordinator.group.share.member import ShareMember
from headrace.coordinator.group.share.roster import ShareRoster

ASSIGNOR: Final = "simple"


def is_stale(group: ShareRoster, members: Mapping[str, ShareMember]) -> bool:
    """Whether there are partitions for these members that nobody has, or too many."""
    given: dict[UUID, set[int]] = {}
    for target in group.targets.values():
        for topic_id, numbers in target.items():
            given.setdefault(topic_id, set()).update(numbers)
    wanted = {topic for member in members.values() for topic in group.topic_ids_of(member)}
    ready = {
        topic_id: set(share.partitions)
        for topic_id, share in group.partitions.initialized.items()
        if topic_id in wanted
    }
    return any(given.get(topic_id, set()) != numbers for topic_id, numbers in ready.items())


def assign(group: ShareRoster, members: Mapping[str, ShareMember]) -> dict[str, Target]:
    """What each of these members shall have, who will be the members of the group."""
    return assign_simple(
        {member_id: group.topic_ids_of(member) for member_id, member in members.items()},
        {topic_id: share.partitions for topic_id, share in group.partitions.initialized.items()},
        group.targets,
    )
