"""The target assignment of a share group: what each member shall have in an epoch.

Only partitions whose state is initialized are given to anybody. It is computed at most once in
`share.assignment.interval.ms` (KIP-1263): what changes in between is covered by the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from headrace.coordinator.group.consumer.member import Target
from headrace.coordinator.group.records import GroupRecord
from headrace.coordinator.group.share.assignor import assign_simple
from headrace.coordinator.group.share.member import ShareMember
from headrace.coordinator.group.share.persistence import target_epoch_record, target_record
from headrace.coordinator.group.share.roster import ShareRoster

ASSIGNOR: Final = "simple"


def next_assignment_ms(group: ShareRoster, now_ms: int) -> int:
    """When the last assignment is old enough for another one; now, or earlier, if it is."""
    last_ms = group.assignment_timestamp_ms
    # One from the future was written by a coordinator whose clock is ahead of ours.
    if last_ms == 0 or last_ms > now_ms:
        return now_ms
    return last_ms + group.settings.group_share_assignment_interval_ms


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


def target_records(
    group: ShareRoster, targets: Mapping[str, Target], epoch: int, now_ms: int
) -> list[GroupRecord]:
    """What must be written so that these targets are those of the group in this epoch."""
    changed = [
        target_record(group.group_id, member_id, targets[member_id])
        for member_id in sorted(targets)
        if group.targets.get(member_id) != targets[member_id]
    ]
    # Giving nothing to anybody took no time: what becomes ready need not wait for the interval.
    assigned_at_ms = now_ms if any(targets.values()) else 0
    return [*changed, target_epoch_record(group.group_id, epoch, assigned_at_ms)]
