"""How members leave a consumer group: of their own will, or because they were not heard of.

Whoever leaves makes a new epoch; who gets what was theirs is decided by the next heartbeat of any
other member. Where only members of the classic protocol remain, the group becomes a classic one.
"""

from __future__ import annotations

from collections.abc import Collection

from headrace.coordinator.group.consumer.migration import (
    build_downgrade_records,
    may_downgrade_without,
    note_downgrade,
)
from headrace.coordinator.group.consumer.persistence import RECORDS, regex_tombstone
from headrace.coordinator.group.consumer.roster import Roster
from headrace.coordinator.group.consumer.timers import REGEX, cancel, cancel_all
from headrace.coordinator.group.modern.subscriptions import metadata_hash
from headrace.coordinator.group.records import GroupRecord


def remove_members(group: Roster, leaving: Collection[str], now_ms: int) -> list[GroupRecord]:
    """What must be written so that these members are gone."""
    if not leaving:
        return []
    if may_downgrade_without(group, leaving):
        return _downgrade(group, leaving, now_ms)
    records: list[GroupRecord] = []
    for member_id in sorted(leaving):
        records += RECORDS.member_tombstones(group.group_id, member_id)
        cancel_all(group, member_id)
    remaining = [each for each in group.members.values() if each.member_id not in leaving]
    wanted = {each.subscribed_topic_regex for each in remaining}
    for regex in sorted(group.regex_subscribers.keys() - wanted):
        records.append(regex_tombstone(group.group_id, regex))
    hashed = metadata_hash(group.topics_wanted_by(remaining), group.topics)
    records.append(RECORDS.epoch(group.group_id, group.group_epoch + 1, hashed))
    return records


def _downgrade(group: Roster, leaving: Collection[str], now_ms: int) -> list[GroupRecord]:
    for member_id in group.members:
        cancel_all(group, member_id)
    cancel(group, REGEX)
    remaining = {
        member_id: member for member_id, member in group.members.items() if member_id not in leaving
    }
    note_downgrade(group, remaining, "the last member of the consumer protocol left")
    return build_downgrade_records(group, remaining, leaving, now_ms)
