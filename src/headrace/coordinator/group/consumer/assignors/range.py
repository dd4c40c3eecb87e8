"""The `range` assignor: each topic is cut into ranges, one for each subscriber.

Subscribers stand in the same order for each topic, static ones first and by their instance id. So
topics with as many partitions and the same subscribers are cut alike, and what shall be joined is
at one member. Nothing is kept for its own sake; only the order keeps members where they are.
"""

from __future__ import annotations

from uuid import UUID

from headrace.coordinator.group.consumer.assignors.spec import Candidates, PartitionCounts
from headrace.coordinator.group.modern.member import Target


def assign_range(candidates: Candidates, partition_counts: PartitionCounts) -> dict[str, Target]:
    """Ranges of every topic, the first ones longer by a partition if it does not divide evenly."""
    order = sorted(
        candidates,
        key=lambda each: (
            (0, candidates[each].instance_id or "")
            if candidates[each].instance_id is not None
            else (1, each)
        ),
    )
    targets: dict[str, dict[UUID, frozenset[int]]] = {member_id: {} for member_id in order}
    subscribers: dict[UUID, list[str]] = {}
    for member_id in order:
        for topic_id in candidates[member_id].topics:
            subscribers.setdefault(topic_id, []).append(member_id)
    for topic_id, members in subscribers.items():
        quota, extra = divmod(partition_counts[topic_id], len(members))
        start = 0
        for place, member_id in enumerate(members):
            end = start + quota + (place < extra)
            if start < end:
                targets[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return dict(targets)
