"""Which brokers get the replicas of a partition.

The two algorithms are those of Kafka's AdminUtils. Leaders go round the brokers; followers of a
partition stand at a distance that grows by one after every full round, so that the partitions of a
failed leader do not all fall on the same follower. With racks, the brokers are first put in an
order that alternates between racks, and a rack gets a second replica only when every rack has one.

Where a round begins is chance; the caller passes it in as `start_index` and `shift`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from headrace.errors import ClientFault, Error


class Chance(Protocol):
    """What is needed of `random.Random`."""

    def randrange(self, stop: int, /) -> int: ...


def assign_replicas(
    racks: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    *,
    start_index: int,
    shift: int,
    first_partition: int = 0,
    cycle_shift: int = 1,
) -> list[list[int]]:
    """The replicas of `partitions` new partitions, the preferred leader first.

    `racks` gives every broker that may be chosen, with its rack or None; racks count only if all
    brokers have one. `first_partition` is the number of partitions that exist already.
    `cycle_shift` is how far followers move on after a full round; Kafka's is 1.
    """
    count = len(racks)
    if replication_factor < 1:
        raise ClientFault(
            Error.INVALID_REPLICATION_FACTOR,
            f"Replication factor {replication_factor} is invalid: it must be at least 1.",
        )
    if replication_factor > count:
        raise ClientFault(
            Error.INVALID_REPLICATION_FACTOR,
            f"Replication factor {replication_factor} is larger than the number of available "
            f"brokers: {count}."
            + (
                " All brokers are currently fenced, or have all their log directories cordoned."
                if count == 0
                else ""
            ),
        )
    known = {broker: rack for broker, rack in racks.items() if rack is not None}
    rack_aware = len(known) == count
    brokers = alternate_racks(known) if rack_aware else sorted(racks)
    assignment = []
    for partition in range(first_partition, first_partition + partitions):
        cycle = partition // count - max(first_partition - 1, 0) // count
        leader = (partition + start_index) % count
        distance = shift + cycle * cycle_shift
        if rack_aware:
            replicas = _spread_over_racks(brokers, known, leader, distance, replication_factor)
        else:
            replicas = [brokers[leader]] + [
                brokers[_follower(leader, distance, index, count)]
                for index in range(replication_factor - 1)
            ]
        assignment.append(replicas)
    return assignment


def alternate_racks(racks: Mapping[int, str]) -> list[int]:
    """Brokers ordered so that neighbours are in different racks as long as racks last."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    columns = [by_rack[rack] for rack in sorted(by_rack)]
    depth = max((len(column) for column in columns), default=0)
    return [column[row] for row in range(depth) for column in columns if row < len(column)]


def _follower(leader: int, distance: int, index: int, count: int) -> int:
    """Position of a follower: never the leader's own, and each index another one."""
    return (leader + 1 + (distance + index) % (count - 1)) % count


def _spread_over_racks(
    brokers: Sequence[int],
    racks: Mapping[int, str],
    leader: int,
    distance: int,
    replication_factor: int,
) -> list[int]:
    count = len(brokers)
    rack_count = len(set(racks.values()))
    replicas = [brokers[leader]]
    used_racks = {racks[brokers[leader]]}
    index = 0
    while len(replicas) < replication_factor:
        broker = brokers[_follower(leader, distance * rack_count, index, count)]
        index += 1
        rack_is_free = racks[broker] not in used_racks or len(used_racks) == rack_count
        if rack_is_free and broker not in replicas:
            replicas.append(broker)
            used_racks.add(racks[broker])
    return replicas
