"""The assignor `simple`: every partition is shared by as few members as it takes to busy them all.

Members of a share group may read the same partition. With more members than partitions each
partition is shared by equally many; with fewer, each member has nearly equally many partitions.
What a member had it keeps, as far as that is not more than its part. Where members want different
topics, each topic is shared out among its subscribers on its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import TypeAlias
from uuid import UUID

from headrace.coordinator.group.modern.member import Target

_Partition: TypeAlias = tuple[UUID, int]


def assign_simple(
    subscriptions: Mapping[str, frozenset[UUID]],
    partitions: Mapping[UUID, Collection[int]],
    previous: Mapping[str, Target],
) -> dict[str, Target]:
    """What each member shall have of the partitions of the topics that it wants."""
    pools = [{topic for wanted in subscriptions.values() for topic in wanted}]
    if len(set(subscriptions.values())) > 1:
        pools = [{topic} for topic in sorted(pools[0])]
    given: dict[str, dict[UUID, set[int]]] = {member: {} for member in subscriptions}
    for pool in pools:
        everything = [(topic, each) for topic in sorted(pool) for each in partitions.get(topic, ())]
        members = sorted(each for each, wanted in subscriptions.items() if pool & wanted)
        had = {member: _flat(previous.get(member, {})) for member in members}
        for member, shares in share_out(sorted(everything), members, had).items():
            for topic, number in shares:
                given[member].setdefault(topic, set()).add(number)
    return {
        member: {topic: frozenset(numbers) for topic, numbers in topics.items()}
        for member, topics in given.items()
    }


def share_out(
    partitions: list[_Partition],
    members: list[str],
    previous: Mapping[str, Collection[_Partition]],
) -> dict[str, set[_Partition]]:
    """Give each of these partitions to equally many of these members, who want them all."""
    shares: dict[str, set[_Partition]] = {member: set() for member in members}
    if not partitions or not members:
        return shares
    sharing = -(-len(members) // len(partitions))
    parts = _parts(sharing * len(partitions), len(members))
    rest = dict(zip(members, parts, strict=True))  # how many partitions each member still gets
    holders: dict[_Partition, set[str]] = {each: set() for each in partitions}

    def give(partition: _Partition, member: str) -> None:
        shares[member].add(partition)
        holders[partition].add(member)
        rest[member] -= 1

    for member in members:
        for partition in sorted(previous.get(member, ())):
            if partition in holders and rest[member] and len(holders[partition]) < sharing:
                give(partition, member)
    for partition in partitions:
        free = sharing - len(holders[partition])
        # Whoever lacks most is served first, so that nobody is left with what it has already.
        lacking = sorted((each for each in members if rest[each]), key=lambda each: -rest[each])
        for member in [each for each in lacking if partition not in shares[each]][:free]:
            give(partition, member)
    _swap(shares, holders, rest, sharing)
    return shares


def _swap(
    shares: dict[str, set[_Partition]],
    holders: dict[_Partition, set[str]],
    rest: dict[str, int],
    sharing: int,
) -> None:
    """Places may be left that only members lack who have that partition: let others swap.

    A partition with a free place has fewer holders than one without, so there is always one who
    holds the other and not this.
    """
    for member in rest:
        while rest[member]:
            open_one = next(each for each in holders if len(holders[each]) < sharing)
            other = next(each for each in holders if each not in shares[member])
            if len(holders[other]) >= sharing:
                giver = next(
                    each for each in sorted(holders[other]) if open_one not in shares[each]
                )
                shares[giver].remove(other)
                shares[giver].add(open_one)
                holders[other].remove(giver)
                holders[open_one].add(giver)
            shares[member].add(other)
            holders[other].add(member)
            rest[member] -= 1


def _parts(total: int, count: int) -> list[int]:
    """`total` in `count` parts that differ by one at most."""
    ends = [-(-total * each // count) for each in range(count + 1)]
    return [after - before for before, after in pairwise(ends)]


def _flat(target: Target) -> list[_Partition]:
    return [(topic, number) for topic, numbers in target.items() for number in numbers]
