"""Which replica a client should read from: the closest that has what it wants (KIP-392).

A pure choice. That a follower answers reads at all is `Partition.read`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.replica.followers import FollowerState
from headrace.replica.leadership import Leadership
from headrace.types import BrokerId, Offset

FROM_LEADER: Final = -1


def select_read_replica(
    leadership: Leadership,
    racks: Mapping[BrokerId, str | None],
    client_rack: str,
    followers: Mapping[BrokerId, FollowerState],
    fetch_offset: Offset,
) -> BrokerId:
    """The in-sync follower in the client's rack that is most up to date; -1 for the leader.

    `racks` has the brokers that are alive. The leader is as good as any in its own rack.
    """
    if not client_rack or racks.get(leadership.leader) == client_rack:
        return FROM_LEADER
    near = [
        follower
        for broker_id, follower in followers.items()
        if broker_id in leadership.isr
        and racks.get(broker_id) == client_rack
        and 0 <= follower.log_start_offset <= fetch_offset <= follower.log_end_offset
    ]
    if not near:
        return FROM_LEADER
    best = max(
        near, key=lambda each: (each.log_end_offset, each.last_caught_up_ms, -each.broker_id)
    )
    return best.broker_id
