"""The target assignment: what each member of a group shall have in an epoch.

It is computed by one of the assignors, the one that most members ask for, and at most once in
`group.consumer.assignment.interval.ms` (KIP-1263): what changes in between is covered by the next
one, with the first heartbeat after the interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from headrace.coordinator.group.consumer.assignors import ASSIGNORS, Candidate
from headrace.coordinator.group.consumer.member import Member
from headrace.coordinator.group.consumer.roster import Roster
from headrace.coordinator.group.modern.member import Target


def preferred_assignor(group: Roster, members: Iterable[Member]) -> str:
    """The assignor that most members ask for; the default if none of them asks for any."""
    offered = group.settings.group_consumer_assignors
    votes = dict.fromkeys(offered, 0)
    for member in members:
        if member.server_assignor in votes:
            votes[member.server_assignor] += 1
    return max(offered, key=votes.__getitem__)


def assign(group: Roster, members: Mapping[str, Member]) -> dict[str, Target]:
    """What each of these members shall have, who will be the members of the group."""
    candidates = {
        member_id: Candidate(
            member.instance_id, group.topic_ids_of(member), group.target_of(member)
        )
        for member_id, member in members.items()
    }
    counts: dict[UUID, int] = {}
    for name in group.topics_wanted_by(members.values()):
        topic_id = group.topics.topic_id(name)
        if topic_id is not None:
            counts[topic_id] = group.topics.partition_count(name)
    return ASSIGNORS[preferred_assignor(group, members.values())](candidates, counts)
