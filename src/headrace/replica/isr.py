"""The in-sync replicas of a partition as its leader counts them.

Three sets. *Committed* is what the cluster's state says. *Proposed* is what the leader has asked
to be written and does not know the outcome of. *Joining* are followers that have caught up and
wait to be proposed. A record is committed when all of the maximal set have it, committed and
proposed members together: whoever becomes leader next is one of them, whichever of the two the
cluster's state turns out to hold. A member that is to leave therefore counts until that is
committed.

The high watermark also waits for joining followers. Without that, a leader that is alone and busy
would commit past every follower before it could be proposed, and never be joined by one.

The module does not know the log, and it decides nothing about leadership.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.replica.followers import NEVER, FollowerState
from headrace.replica.leadership import UNKNOWN_LEADERSHIP, Leadership, ReplicaFetch
from headrace.types import BrokerId, Offset


class InSyncReplicas:
    """See the module. `awaited` are the followers whose log ends bound the high watermark."""

    __slots__ = ("_joining", "_leadership", "awaited", "broker_id", "followers", "proposed")

    def __init__(self, broker_id: BrokerId) -> None:
        self.broker_id = broker_id
        self.followers: dict[BrokerId, FollowerState] = {}
        self.proposed: tuple[BrokerId, ...] | None = None
        self.awaited: tuple[FollowerState, ...] = ()
        self._joining: set[BrokerId] = set()
        self._leadership: Leadership = UNKNOWN_LEADERSHIP

    @property
    def maximal(self) -> frozenset[BrokerId]:
        return frozenset(self._leadership.isr).union(self.proposed or ())

    def begin(self, leadership: Leadership, now_ms: int) -> None:
        """A new leader epoch: nothing is known of any follower."""
        self.followers = {}
        self.proposed = None
        self._joining = set()
        self.on_committed(leadership, now_ms)

    def end(self) -> None:
        """Somebody else leads, or nobody does."""
        self.begin(UNKNOWN_LEADERSHIP, 0)

    def on_committed(self, leadership: Leadership, now_ms: int) -> None:
        """The cluster's state has other in-sync replicas, or other replicas."""
        self._leadership = leadership
        if self.proposed is not None and set(self.proposed) == set(leadership.isr):
            self.proposed = None
        known = self.followers
        self.followers = {
            each: known.get(each)
            or FollowerState(each, now_ms if each in leadership.isr else NEVER)
            for each in (*leadership.replicas, *leadership.isr)
            if each != self.broker_id
        }
        self._recount()

    def propose(self, isr: tuple[BrokerId, ...]) -> None:
        self.proposed = isr
        self._recount()

    def settle(self) -> None:
        """The proposal is over: only what is committed counts."""
        self.proposed = None
        self._recount()

    def on_fetch(
        self, follower: FollowerState, fetch: ReplicaFetch, leader_end: Offset, now_ms: int
    ) -> None:
        caught_up = follower.on_fetch(fetch, leader_end, now_ms)
        if caught_up and follower not in self.awaited:
            self._joining.add(follower.broker_id)
            self._recount()

    def is_outside(self, broker_id: BrokerId) -> bool:
        """Whether a replica is neither committed nor proposed as in sync."""
        return broker_id not in self._leadership.isr and broker_id not in (self.proposed or ())

    def lowest_end(self, own_end: Offset) -> Offset:
        """Up to where the leader, with `own_end`, and all who are awaited have the log."""
        lowest = own_end
        for follower in self.awaited:
            if follower.log_end_offset < lowest:
                lowest = follower.log_end_offset
        return lowest

    def forget_absent(
        self,
        now_ms: int,
        *,
        leader_end: Offset,
        lag_time_max_ms: int,
        broker_epochs: Mapping[BrokerId, int],
    ) -> None:
        """Wait no longer for those who had caught up and went away again."""
        absent = {
            each
            for each in self._joining
            if not self._may_enter(each, now_ms, leader_end, lag_time_max_ms, broker_epochs)
        }
        if absent:
            self._joining -= absent
            self._recount()

    def wanted(
        self,
        now_ms: int,
        *,
        leader_end: Offset,
        least_end: Offset,
        lag_time_max_ms: int,
        broker_epochs: Mapping[BrokerId, int],
    ) -> tuple[BrokerId, ...]:
        """Who should be in sync now: members that keep up, and others that have `least_end`."""
        committed = self._leadership.isr
        kept = [
            each
            for each in committed
            if each == self.broker_id
            or self.followers[each].is_in_sync(leader_end, now_ms, lag_time_max_ms)
        ]
        entering = [
            each
            for each in self._leadership.replicas
            if each not in committed
            and self._may_enter(each, now_ms, leader_end, lag_time_max_ms, broker_epochs)
            and self.followers[each].log_end_offset >= least_end
        ]
        return (*kept, *entering)

    def _may_enter(
        self,
        broker_id: BrokerId,
        now_ms: int,
        leader_end: Offset,
        lag_time_max_ms: int,
        broker_epochs: Mapping[BrokerId, int],
    ) -> bool:
        follower = self.followers.get(broker_id)
        return (
            follower is not None
            and follower.is_in_sync(leader_end, now_ms, lag_time_max_ms)
            and broker_epochs.get(broker_id) == follower.broker_epoch
        )

    def _recount(self) -> None:
        maximal = self.maximal
        self._joining -= maximal
        self.awaited = tuple(
            follower
            for each, follower in self.followers.items()
            if each in maximal or each in self._joining
        )
