"""The nouns of replication: who leads a partition, what a follower asks, what its leader tells.

Plain values that the leader, the follower and the shell around them share. Nothing here decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from headrace.errors import Error
from headrace.log import LogSlice
from headrace.types import NO_EPOCH, NO_LEADER, BrokerId, LeaderEpoch, Offset


@dataclass(frozen=True, slots=True)
class Leadership:
    """A partition's state as the cluster has committed it; a newer one has a larger partition
    epoch, and every election a larger leader epoch.
    """

    leader: BrokerId
    leader_epoch: LeaderEpoch
    partition_epoch: int
    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]


UNKNOWN_LEADERSHIP: Final = Leadership(NO_LEADER, NO_EPOCH, -1, (), ())


class EpochEnd(NamedTuple):
    """The largest epoch not above the one that was asked for, and the offset where it ended."""

    epoch: LeaderEpoch
    end_offset: Offset


class ReplicaFetch(NamedTuple):
    """What a follower says of itself by fetching: it has everything below `offset`."""

    broker_id: BrokerId
    broker_epoch: int
    """Which life of the follower's broker asks; -1 if it does not say."""
    offset: Offset
    last_fetched_epoch: LeaderEpoch
    """Of the record before `offset`; -1 if the follower has none, and nothing to compare."""
    log_start_offset: Offset


@dataclass(slots=True)
class ReplicaRead:
    """The leader's answer to a follower.

    Either there are records (perhaps none), or the follower must cut its log by `diverging`, or
    `error` says that its offset is not in the leader's log. The offsets are always those of the
    leader, and its high watermark is the one from before this fetch was counted.
    """

    records: LogSlice | None
    diverging: EpochEnd | None
    high_watermark: Offset
    last_stable_offset: Offset
    log_start_offset: Offset
    error: Error = Error.NONE
    can_join: bool = False
    """The follower is not in sync but could be: the time to ask for `Partition.wanted_isr`."""
