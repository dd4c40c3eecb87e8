"""What a leader knows of one follower: how far it has come, and since when it lags.

Kafka's rule for "caught up": a follower that fetches at the log's end is caught up now; one that
fetches at or beyond the end that the leader had at the follower's previous fetch was caught up
then. So a follower that copies as fast as the leader writes stays in sync although it never
reaches the end. Time is an argument.
"""

from __future__ import annotations

from typing import Final

from headrace.replica.leadership import ReplicaFetch
from headrace.types import NO_OFFSET, BrokerId, Offset

NEVER: Final = -(1 << 62)


class FollowerState:
    """One follower, as its fetches of this leader epoch tell it."""

    __slots__ = (
        "broker_epoch",
        "broker_id",
        "last_caught_up_ms",
        "last_fetch_leader_end",
        "last_fetch_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: BrokerId, last_caught_up_ms: int) -> None:
        self.broker_id = broker_id
        self.broker_epoch = -1
        self.log_start_offset: Offset = NO_OFFSET
        self.log_end_offset: Offset = NO_OFFSET  # not known before its first fetch
        self.last_fetch_ms = 0
        self.last_fetch_leader_end: Offset = NO_OFFSET
        self.last_caught_up_ms = last_caught_up_ms

    def on_fetch(self, fetch: ReplicaFetch, leader_end: Offset, now_ms: int) -> bool:
        """Believe what the follower says; True if it was caught up, now or at its last fetch."""
        caught_up = True
        if fetch.offset >= leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif self.last_fetch_leader_end >= 0 and fetch.offset >= self.last_fetch_leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        else:
            caught_up = False
        self.broker_epoch = fetch.broker_epoch
        self.log_start_offset = fetch.log_start_offset
        self.log_end_offset = fetch.offset
        self.last_fetch_leader_end = leader_end
        self.last_fetch_ms = now_ms
        return caught_up

    def is_in_sync(self, leader_end: Offset, now_ms: int, lag_time_max_ms: int) -> bool:
        """Whether it may stay: it has everything, or lacks something only for a short time."""
        return (
            self.log_end_offset == leader_end or now_ms - self.last_caught_up_ms <= lag_time_max_ms
        )
