"""The `uniform` assignor: all members get as many partitions, and keep what they have.

If all members subscribe to the same topics, their loads differ by one at most, and no partition
moves that need not. Otherwise loads cannot always be equal; then no single move would make them
more so.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from uuid import UUID

from headrace.coordinator.group.consumer.assignors.spec import Candidates, PartitionCounts
from headrace.coordinator.group.modern.member import Target

Partition = tuple[UUID, int]


def assign_uniform(candidates: Candidates, partition_counts: PartitionCounts) -> dict[str, Target]:
    """Equal shares, with as few moves as that takes."""
    kept = _keep(candidates, partition_counts)
    wishes = {candidate.topics for candidate in candidates.values()}
    if len(wishes) == 1:
        _share_evenly(kept, _partitions(wishes.pop(), partition_counts))
    elif wishes:
        _share_as_wished(kept, candidates, partition_counts)
    return {member_id: _target(partitions) for member_id, partitions in kept.items()}


def _keep(candidates: Candidates, partition_counts: PartitionCounts) -> dict[str, list[Partition]]:
    """What each member may keep of its last target, the members and partitions in order."""
    taken: set[Partition] = set()
    kept: dict[str, list[Partition]] = {}
    for member_id in sorted(candidates):
        candidate = candidates[member_id]
        mine = [
            (topic_id, partition)
            for topic_id in sorted(candidate.target.keys() & candidate.topics)
            for partition in sorted(candidate.target[topic_id])
            if partition < partition_counts[topic_id] and (topic_id, partition) not in taken
        ]
        taken.update(mine)
        kept[member_id] = mine
    return kept


def _partitions(topics: frozenset[UUID], partition_counts: PartitionCounts) -> list[Partition]:
    return [(each, number) for each in sorted(topics) for number in range(partition_counts[each])]


def _share_evenly(kept: dict[str, list[Partition]], partitions: list[Partition]) -> None:
    """Where all want the same: the share is the same, or one more for those who have more."""
    share, extra = divmod(len(partitions), len(kept))
    limits = dict.fromkeys(kept, share)
    # Whoever has more than the share already is the cheapest place for one more.
    for member_id in sorted(kept, key=lambda each: (len(kept[each]) <= share, each))[:extra]:
        limits[member_id] += 1
    for member_id, limit in limits.items():
        del kept[member_id][limit:]
    held = {each for mine in kept.values() for each in mine}
    free = iter([each for each in partitions if each not in held])
    for member_id, limit in limits.items():
        mine = kept[member_id]
        mine += [next(free) for _ in range(limit - len(mine))]


def _share_as_wished(
    kept: dict[str, list[Partition]], candidates: Candidates, partition_counts: PartitionCounts
) -> None:
    """Where wishes differ: give what is free to who has least, then move what helps."""
    subscribers: dict[UUID, list[str]] = {}
    for member_id in sorted(candidates):
        for topic_id in candidates[member_id].topics:
            subscribers.setdefault(topic_id, []).append(member_id)
    held = {each for mine in kept.values() for each in mine}
    # Topics that few can take come first: the others can still make up for them.
    order = sorted(subscribers, key=lambda each: (len(subscribers[each]), each))
    for topic_id in order:
        heap = [(len(kept[each]), each) for each in subscribers[topic_id]]
        heapify(heap)
        for number in range(partition_counts[topic_id]):
            if (topic_id, number) not in held:
                load, member_id = heappop(heap)
                kept[member_id].append((topic_id, number))
                heappush(heap, (load + 1, member_id))
    contested = [each for each in order if len(subscribers[each]) > 1]
    # Each move makes the sum of the squares of the loads smaller, so there is an end of it.
    moved = True
    while moved:
        moved = False
        for topic_id in contested:
            moved |= _level(kept, topic_id, subscribers[topic_id])


def _level(kept: dict[str, list[Partition]], topic_id: UUID, members: list[str]) -> bool:
    """Move partitions of one topic from who has most to who has least; False if none helped."""
    held: dict[str, list[Partition]] = {}
    for member_id in members:
        held[member_id] = [each for each in kept[member_id] if each[0] == topic_id]
    poorest = [(len(kept[each]), each) for each in members]
    richest = [(-len(kept[each]), each) for each in members if held[each]]
    heapify(poorest)
    heapify(richest)
    moved = False
    while richest:
        load, rich = heappop(richest)
        if -load != len(kept[rich]):
            heappush(richest, (-len(kept[rich]), rich))
            continue
        while poorest[0][0] != len(kept[poorest[0][1]]):
            _, stale = heappop(poorest)
            heappush(poorest, (len(kept[stale]), stale))
        poor = poorest[0][1]
        if len(kept[rich]) <= len(kept[poor]) + 1:
            return moved
        partition = held[rich].pop()
        kept[rich].remove(partition)
        kept[poor].append(partition)
        moved = True
        if held[rich]:
            heappush(richest, (-len(kept[rich]), rich))
    return moved


def _target(partitions: list[Partition]) -> Target:
    topics: dict[UUID, set[int]] = {}
    for topic_id, partition in partitions:
        topics.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(topics[topic_id]) for topic_id in sorted(topics)}
