"""Mistakes in replication that somebody could make, ready to be planted.

Each function takes pytest's `MonkeyPatch` and breaks one rule for as long as the patch lasts. Every
one of them must be found: by the stories here, and by the simulation of whole clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.log import Appended
from headrace.log.leader_epochs import LeaderEpochs
from headrace.replica import following
from headrace.replica.followers import FollowerState
from headrace.replica.following import Truncation
from headrace.replica.isr import InSyncReplicas
from headrace.replica.leadership import EpochEnd, Leadership
from headrace.replica.partition import Partition


def truncate_to_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """A follower of a new leader cuts to its own high watermark, as before KIP-101."""
    follow = Partition.follow

    def cutting(self: Partition, leadership: Leadership) -> None:
        before = self.leader_epoch
        follow(self, leadership)
        if self.leader_epoch != before:
            self.log.truncate_to(self.log.high_watermark)
            self.log.leader_epochs.truncate_from_end(self.log.log_end_offset)
            self.durable_offset = min(self.durable_offset, self.log.log_end_offset)
            self.flush_target = min(self.flush_target, self.log.log_end_offset)

    patch.setattr(Partition, "follow", cutting)


def never_tell_of_divergence(patch: pytest.MonkeyPatch) -> None:
    """A leader claims to have every epoch that it is asked for, up to its log's end."""
    patch.setattr(LeaderEpochs, "end_offset_for", lambda _, epoch, log_end: (epoch, log_end))


def truncate_one_epoch_short(patch: pytest.MonkeyPatch) -> None:
    """A follower takes the leader's end of an epoch that it does not have itself (KIP-279)."""

    def too_far(partition: Partition, leader: EpochEnd) -> Truncation:
        log = partition.log
        cut = Truncation(log.log_end_offset, leader.end_offset, log.high_watermark)
        log.truncate_to(leader.end_offset)
        log.leader_epochs.truncate_from_end(log.log_end_offset)
        if log.leader_epochs.latest_epoch > leader.epoch:
            log.leader_epochs.assign(leader.epoch, max(log.log_end_offset - 1, 0))
        return cut

    patch.setattr(following, "truncate_to_agree", too_far)


def count_committed_members_only(patch: pytest.MonkeyPatch) -> None:
    """The high watermark does not wait for members that are proposed."""

    def recount(self: InSyncReplicas) -> None:
        self.awaited = tuple(
            follower for each, follower in self.followers.items() if each in self._leadership.isr
        )

    patch.setattr(InSyncReplicas, "_recount", recount)


def count_a_shrink_when_it_is_proposed(patch: pytest.MonkeyPatch) -> None:
    """A member that is to leave is not waited for, although it may still be elected."""

    def maximal(self: InSyncReplicas) -> frozenset[int]:
        return frozenset(self.proposed or self._leadership.isr)

    patch.setattr(InSyncReplicas, "maximal", property(maximal))


def acknowledge_before_the_isr_has_it(patch: pytest.MonkeyPatch) -> None:
    """The high watermark follows the leader's own log."""
    patch.setattr(InSyncReplicas, "lowest_end", lambda _, own_end: own_end)


def let_anybody_enter_the_isr(patch: pytest.MonkeyPatch) -> None:
    """A follower that fetches is in sync, whatever it has."""
    patch.setattr(Partition, "_least_end", lambda _: 0)
    patch.setattr(FollowerState, "is_in_sync", lambda *_: True)


def believe_earlier_lives(patch: pytest.MonkeyPatch) -> None:
    """A follower enters with what its broker had before it crashed."""
    wanted = InSyncReplicas.wanted

    def trusting(self: InSyncReplicas, now_ms: int, **rules: Any) -> tuple[int, ...]:
        rules["broker_epochs"] = {
            each: follower.broker_epoch for each, follower in self.followers.items()
        }
        return wanted(self, now_ms, **rules)

    patch.setattr(InSyncReplicas, "wanted", trusting)


def remember_followers_of_the_last_epoch(patch: pytest.MonkeyPatch) -> None:
    """A leader that is elected again believes what followers told it an epoch ago."""

    def begin(self: InSyncReplicas, leadership: Leadership, now_ms: int) -> None:
        self.proposed = None
        self._joining = set()
        self.on_committed(leadership, now_ms)

    patch.setattr(InSyncReplicas, "begin", begin)
    patch.setattr(InSyncReplicas, "end", lambda _: None)


def count_what_is_not_flushed(patch: pytest.MonkeyPatch) -> None:
    """A replica's log counts although its flush policy demands a flush first."""
    append_fetched = following.append_fetched

    def at_once(partition: Partition, records: memoryview, now_ms: int) -> Appended:
        appended = append_fetched(partition, records, now_ms)
        partition.durable_offset = partition.log.log_end_offset
        return appended

    patch.setattr(following, "append_fetched", at_once)


def read_to_the_end_of_the_log(patch: pytest.MonkeyPatch) -> None:
    """Clients see what is not committed."""

    def read(self: Partition, offset: int, max_bytes: int, **how: Any) -> Any:
        end = self.log.log_end_offset
        return self.log.read(offset, max_bytes, up_to=end, at_least_one=how["at_least_one"])

    patch.setattr(Partition, "read", read)


def keep_acknowledging_after_a_resignation(patch: pytest.MonkeyPatch) -> None:
    """A deposed leader answers its producers as if it still led."""
    patch.setattr(Partition, "commit_fault", lambda *_, **__: None)


PLANTED: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    truncate_to_the_high_watermark,
    never_tell_of_divergence,
    truncate_one_epoch_short,
    count_committed_members_only,
    count_a_shrink_when_it_is_proposed,
    acknowledge_before_the_isr_has_it,
    let_anybody_enter_the_isr,
    believe_earlier_lives,
    remember_followers_of_the_last_epoch,
    count_what_is_not_flushed,
    read_to_the_end_of_the_log,
    keep_acknowledging_after_a_resignation,
)
