"""What follows from a member that joins or changes, whichever protocol it speaks.

The steps are taken in the order in which they are written: the member itself, the epoch of the
group, the target assignment, what the member has. Each step works on values and appends records;
the group stays as it is until they are replayed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headrace.coordinator.group.consumer.member import LEAVE_STATIC_EPOCH, Member
from headrace.coordinator.group.consumer.persistence import (
    RECORDS,
    current_record,
    member_record,
    partition_metadata_tombstone,
)
from headrace.coordinator.group.consumer.reconcile import Goal, reconcile
from headrace.coordinator.group.consumer.regex import RegexChange, change_regex
from headrace.coordinator.group.consumer.roster import Roster
from headrace.coordinator.group.consumer.target import assign
from headrace.coordinator.group.consumer.timers import cancel_all, set_for_assignment, set_session
from headrace.coordinator.group.modern.member import JOIN_EPOCH, Target
from headrace.coordinator.group.modern.subscriptions import metadata_hash
from headrace.coordinator.group.records import GroupRecord
from headrace.errors import ClientFault, Error


@dataclass(slots=True)
class Change:
    """A member before and after a request, the group that it is in, and what is to be written."""

    group: Roster
    now_ms: int
    before: Member
    after: Member
    group_epoch: int
    replaced_id: str | None = None
    moved: bool = False
    saw_topics: bool = False
    records: list[GroupRecord] = field(default_factory=list)

    def members(self) -> dict[str, Member]:
        """The members of the group once this is written."""
        members = dict(self.group.members)
        if self.replaced_id is not None:
            members.pop(self.replaced_id, None)
        members[self.after.member_id] = self.after
        return members


def begin_dynamic(group: Roster, member_id: str, now_ms: int, *, create: bool) -> Change:
    """The change of a member that is known by its member id alone."""
    if create and member_id not in group.members:
        member = Member(member_id=member_id)
    else:
        member = group.member(member_id)
    return Change(group, now_ms, member, member, group.group_epoch)


def begin_static(
    group: Roster, member_id: str, instance_id: str, now_ms: int, *, create: bool, classic: bool
) -> Change:
    """The change of a member that is known by its instance id; it may replace who had that."""
    existing = group.static_member(instance_id)
    if not create:
        member = check_instance(group, existing, instance_id, member_id)
        return Change(group, now_ms, member, member, group.group_epoch)
    if existing is None:
        return begin_dynamic(group, member_id, now_ms, create=True)
    if (
        not classic
        and not existing.uses_classic_protocol
        and existing.member_epoch != LEAVE_STATIC_EPOCH
    ):
        raise ClientFault(
            Error.UNRELEASED_INSTANCE_ID,
            f"{instance_id} is still in use by member {existing.member_id}; it must leave first",
        )
    member = replace(
        existing, member_id=member_id, member_epoch=JOIN_EPOCH, previous_member_epoch=JOIN_EPOCH
    )
    change = Change(group, now_ms, member, member, group.group_epoch, existing.member_id)
    group_id = group.group_id
    change.records += RECORDS.member_tombstones(group_id, existing.member_id)
    change.records.append(member_record(group_id, member))
    change.records.append(RECORDS.target(group_id, member_id, group.target_of(existing)))
    change.records.append(current_record(group_id, member))
    return change


def check_instance(
    group: Roster, member: Member | None, instance_id: str, member_id: str
) -> Member:
    """The member that an instance is; a ClientFault if it is none, or another one by now."""
    if member is None and group.is_unknown:
        raise ClientFault(Error.GROUP_ID_NOT_FOUND, f"there is no group {group.group_id}")
    if member is None:
        raise ClientFault(
            Error.UNKNOWN_MEMBER_ID, f"{instance_id} is not an instance of group {group.group_id}"
        )
    if member.member_id != member_id:
        raise ClientFault(
            Error.FENCED_INSTANCE_ID,
            f"{instance_id} was taken over from member {member_id} by member {member.member_id}",
        )
    return member


def write_member(change: Change) -> tuple[bool, bool]:
    """Write what the member tells about itself.

    Whether it wants other topics than before, and whether the group needs a new epoch for that: an
    expression whose topics are not known yet is no reason for one.
    """
    group, before, after = change.group, change.before, change.after
    names_changed = False
    if after is not before and after != before:
        change.records.append(member_record(group.group_id, after))
        names_changed = after.subscribed_topic_names != before.subscribed_topic_names
    regex = change_regex(group, before, after, change.now_ms, change.records)
    return (
        names_changed or regex is not RegexChange.NONE,
        names_changed or regex is RegexChange.RESOLVED,
    )


def update_epoch(change: Change, *, bump: bool) -> None:
    """Begin a new epoch if the member asks for it, or if the topics are not what they were."""
    group = change.group
    if not bump and group.topics_were_seen:
        return
    hashed = metadata_hash(group.topics_wanted_by(change.members().values()), group.topics)
    if bump or hashed != group.metadata_hash:
        change.group_epoch += 1
        change.records.append(RECORDS.epoch(group.group_id, change.group_epoch, hashed))
    if group.has_partition_metadata:
        change.records.append(partition_metadata_tombstone(group.group_id))
    change.saw_topics = True


def update_target(change: Change) -> tuple[int, Target]:
    """The epoch of the target assignment and what the member shall have, computed if it is due."""
    group = change.group
    if group.assignment_epoch >= change.group_epoch or change.now_ms < group.next_assignment_ms(
        change.now_ms
    ):
        return group.assignment_epoch, group.target_of(change.after)
    targets = assign(group, change.members())
    change.records += group.target_records(targets, change.group_epoch, change.now_ms)
    return change.group_epoch, targets[change.after.member_id]


def move_member(
    change: Change, epoch: int, target: Target, *, wishes_changed: bool, reported: Target | None
) -> None:
    """Bring the member as close to its target as it can get now."""
    group, member = change.group, change.after
    if not wishes_changed and member.is_reconciled_to(epoch):
        return
    goal = Goal(epoch, target, group.topic_ids_of(member), group.is_owned)
    change.after = reconcile(member, goal, wishes_changed=wishes_changed, reported=reported)
    if change.after != member:
        change.records.append(current_record(group.group_id, change.after))
        change.moved = True


def settle(change: Change) -> None:
    """The request will be answered: note what is not in the log, which no refusal may leave behind.

    The member has shown that it is alive.
    """
    group, member = change.group, change.after
    if change.replaced_id is not None:
        cancel_all(group, change.replaced_id)
    if change.moved:
        set_for_assignment(group, member, change.now_ms)
    if change.saw_topics:
        group.topics_were_seen = True
    set_session(group, member, change.now_ms)
