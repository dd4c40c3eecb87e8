"""The share coordinator for one partition of `__share_group_state`.

Handlers decide on the states as they are and return effects; `replay` is the only one that changes
them. A request about many share partitions is divided before it comes here: each handler is asked
about one, with its part of the request, and replies with its part of the answer.

Two epochs fence. The leader epoch is that of the partition: once a new leader has read a state, the
old one can write it no more. The state epoch is given by the group coordinator whenever it begins a
state anew: a leader that still has the one before must read again.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Never, TypeAlias
from uuid import UUID

from headrace.coordinator.effects import AnyReply, Caller, Effects, ProducerIdentity
from headrace.coordinator.share.records import (
    ShareRecord,
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)
from headrace.coordinator.share.redundancy import Redundancy
from headrace.coordinator.share.state import (
    NO_START,
    ShareState,
    combine,
    from_snapshot,
    snapshot_record,
    taken,
    tombstone,
    update_record,
    updated,
)
from headrace.coordinator.timers import Timers
from headrace.coordinator.topics import Topics
from headrace.errors import CorruptData, Error
from headrace.types import SharePartitionKey
from headrace.wire.messages import delete_share_group_state as delete_api
from headrace.wire.messages import initialize_share_group_state as initialize_api
from headrace.wire.messages import read_share_group_state as read_api
from headrace.wire.messages import read_share_group_state_summary as summary_api
from headrace.wire.messages import write_share_group_state as write_api

_NO_EPOCH: Final = -1
_NEW: Final = ShareState(-1, 0, _NO_EPOCH, NO_START, -1, 0, 0)
_COLD: Final = "cold"  # the timer that looks for states that nobody writes


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """Kafka's keys, as far as the share coordinator needs them."""

    # share.coordinator.snapshot.update.records.per.snapshot
    updates_per_snapshot: int = 500
    # share.coordinator.cold.partition.snapshot.interval.ms, which Kafka keeps to itself
    cold_interval_ms: int = 300_000


ShareEffects: TypeAlias = Effects[ShareRecord, Never]


class ShareShard:
    """The share partitions of one partition of the internal topic."""

    def __init__(self, settings: ShareSettings, topics: Topics) -> None:
        self.settings = settings
        self.timers = Timers()
        self.redundancy = Redundancy()
        self._topics = topics
        self._states: dict[SharePartitionKey, ShareState] = {}
        self._updates: dict[SharePartitionKey, int] = {}  # since the last snapshot

    @property
    def states(self) -> Mapping[SharePartitionKey, ShareState]:
        return MappingProxyType(self._states)

    # -- replaying --------------------------------------------------------------------------------

    def replay(
        self, record: ShareRecord, *, offset: int, transaction: ProducerIdentity | None
    ) -> None:
        """Let the shard know what a record says; CorruptData if it can say nothing."""
        recorded = record.key
        key = SharePartitionKey(recorded.group_id, recorded.topic_id, recorded.partition)
        self.redundancy.on_record(offset)
        known = self._states.get(key)
        match record:
            case (ShareSnapshotKey(), None):
                self._states.pop(key, None)
                self._updates.pop(key, None)
                self.redundancy.on_deleted(key)
            case (ShareSnapshotKey(), ShareSnapshotValue() as value):
                self._states[key] = from_snapshot(value)
                self._updates[key] = 0
                self.redundancy.on_snapshot(key, offset)
            case (ShareUpdateKey(), ShareUpdateValue() as update) if known is not None:
                self._states[key] = updated(known, update)
                self._updates[key] += 1
            case _:
                raise CorruptData(f"__share_group_state: an update of {key}, which has no snapshot")

    def replay_end_transaction(self, producer: ProducerIdentity, commit: bool) -> None:
        """Nobody writes to this topic in a transaction; a marker that is here means nothing."""

    def on_loaded(self, now_ms: int) -> ShareEffects:
        self.timers.set(_COLD, now_ms + self.settings.cold_interval_ms)
        gone = {key.topic_id for key in self._states if not self._topics.topic_name(key.topic_id)}
        return self.on_topics_deleted(gone)

    def on_topics_deleted(self, topic_ids: Collection[UUID]) -> ShareEffects:
        """Nobody will read these states again."""
        return Effects(
            records=[tombstone(key) for key in self._states if key.topic_id in topic_ids]
        )

    def on_timer(self, key: Hashable, now_ms: int) -> ShareEffects:
        """Write anew what nobody wrote for long, so that what lies before it can be deleted."""
        assert key == _COLD
        self.timers.set(_COLD, now_ms + self.settings.cold_interval_ms)
        cold_since_ms = now_ms - self.settings.cold_interval_ms
        if self.redundancy.needed_records <= len(self._states):
            return Effects()  # one snapshot of each and nothing else: there is nothing to gain
        cold = [key for key, state in self._states.items() if state.write_ms <= cold_since_ms]
        return Effects(records=[self._snapshot(key, self._states[key], now_ms) for key in cold])

    def abandon(self, _error: Error) -> list[AnyReply]:
        """Nobody is parked here: every request is answered with the effects of its handler."""
        return []

    # -- requests ---------------------------------------------------------------------------------

    def handle_initialize(
        self,
        key: SharePartitionKey,
        asked: initialize_api.PartitionData,
        caller: Caller[initialize_api.PartitionResult],
        now_ms: int,
    ) -> ShareEffects:
        """Begin a state anew, without batches."""
        known = self._states.get(key)
        error, message = self._fault(key)
        if not error and known is not None and known.state_epoch > asked.state_epoch:
            error, message = Error.FENCED_STATE_EPOCH, _fenced("state", known.state_epoch)
        result = initialize_api.PartitionResult(
            partition=key.partition, error_code=error, error_message=message
        )
        effects: ShareEffects = Effects(replies=[caller.reply(result)])
        if not error:
            before = known or _NEW
            state = ShareState(
                snapshot_epoch=before.snapshot_epoch,
                state_epoch=asked.state_epoch,
                leader_epoch=0 if known is None else known.leader_epoch,
                start_offset=asked.start_offset,
                delivery_complete_count=-1 if asked.start_offset == NO_START else 0,
                create_ms=now_ms,
                write_ms=now_ms,
            )
            effects.records.append(self._snapshot(key, state, now_ms))
        return effects

    def handle_read(
        self,
        key: SharePartitionKey,
        asked: read_api.PartitionData,
        caller: Caller[read_api.PartitionResult],
        now_ms: int,
    ) -> ShareEffects:
        """The state for a leader; leaders before it are fenced from now on."""
        known = self._states.get(key)
        error, message = self._unreadable(key)
        if not error and known is not None and known.leader_epoch > asked.leader_epoch:
            error, message = Error.FENCED_LEADER_EPOCH, _fenced("leader", known.leader_epoch)
        if error or known is None:
            result = read_api.PartitionResult(
                partition=key.partition, error_code=error, error_message=message, state_batches=[]
            )
            return Effects(replies=[caller.reply(result)])
        result = read_api.PartitionResult(
            partition=key.partition,
            error_code=0,
            state_epoch=known.state_epoch,
            start_offset=known.start_offset,
            state_batches=[
                read_api.StateBatch(
                    first_offset=each.first_offset,
                    last_offset=each.last_offset,
                    delivery_state=each.delivery_state,
                    delivery_count=each.delivery_count,
                )
                for each in known.batches
            ],
        )
        effects: ShareEffects = Effects(replies=[caller.reply(result)])
        if known.leader_epoch < asked.leader_epoch:
            change = known._replace(
                leader_epoch=asked.leader_epoch, start_offset=NO_START, batches=()
            )
            effects.records.append(self._changed(key, known, change, now_ms))
        return effects

    def handle_write(
        self,
        key: SharePartitionKey,
        asked: write_api.PartitionData,
        caller: Caller[write_api.PartitionResult],
        now_ms: int,
    ) -> ShareEffects:
        """What a leader says of its share partition."""
        known = self._states.get(key)
        error, message = self._unreadable(key)
        if not error and known is not None:
            if known.leader_epoch > asked.leader_epoch:
                error, message = Error.FENCED_LEADER_EPOCH, _fenced("leader", known.leader_epoch)
            elif known.state_epoch > asked.state_epoch:
                error, message = Error.FENCED_STATE_EPOCH, _fenced("state", known.state_epoch)
        result = write_api.PartitionResult(
            partition=key.partition, error_code=error, error_message=message
        )
        effects: ShareEffects = Effects(replies=[caller.reply(result)])
        if not error and known is not None:
            change = known._replace(
                leader_epoch=asked.leader_epoch,
                start_offset=asked.start_offset,
                delivery_complete_count=asked.delivery_complete_count,
                batches=taken(asked.state_batches),
            )
            effects.records.append(self._changed(key, known, change, now_ms))
        return effects

    def handle_delete(
        self,
        key: SharePartitionKey,
        _asked: delete_api.PartitionData,
        caller: Caller[delete_api.PartitionResult],
        _now_ms: int,
    ) -> ShareEffects:
        """Forget a state; what is not known is as good as forgotten."""
        result = delete_api.PartitionResult(partition=key.partition, error_code=0)
        records = [tombstone(key)] if key in self._states else []
        return Effects(records=records, replies=[caller.reply(result)])

    def handle_summary(
        self,
        key: SharePartitionKey,
        _asked: summary_api.PartitionData,
        caller: Caller[summary_api.PartitionResult],
        _now_ms: int,
    ) -> ShareEffects:
        """Epochs and start offset; those of a new state for one that is not initialized."""
        error, message = self._fault(key)
        known = _NEW if error else self._states.get(key, _NEW)
        result = summary_api.PartitionResult(
            partition=key.partition,
            error_code=error,
            error_message=message,
            state_epoch=known.state_epoch,
            leader_epoch=max(known.leader_epoch, 0),
            start_offset=known.start_offset,
            delivery_complete_count=known.delivery_complete_count,
        )
        return Effects(replies=[caller.reply(result)])

    # -- deciding ---------------------------------------------------------------------------------

    def _fault(self, key: SharePartitionKey) -> tuple[Error, str | None]:
        """Why there can be no state of this name."""
        if key.partition < 0:
            return Error.INVALID_REQUEST, "a partition has no negative number"
        name = self._topics.topic_name(key.topic_id)
        if name is None or key.partition >= self._topics.partition_count(name):
            return Error.UNKNOWN_TOPIC_OR_PARTITION, "the topic has no such partition"
        return Error.NONE, None

    def _unreadable(self, key: SharePartitionKey) -> tuple[Error, str | None]:
        """Why a state can be neither read nor written."""
        if key not in self._states:
            return Error.INVALID_REQUEST, "the share partition is not initialized"
        return self._fault(key)

    def _changed(
        self, key: SharePartitionKey, known: ShareState, change: ShareState, now_ms: int
    ) -> ShareRecord:
        """An update, or a snapshot where there were enough updates."""
        if self._updates[key] < self.settings.updates_per_snapshot:
            return update_record(key, change)
        start = known.start_offset if change.start_offset == NO_START else change.start_offset
        state = change._replace(
            start_offset=start, batches=combine(known.batches, change.batches, start)
        )
        return self._snapshot(key, state, now_ms)

    def _snapshot(self, key: SharePartitionKey, state: ShareState, now_ms: int) -> ShareRecord:
        state = state._replace(snapshot_epoch=state.snapshot_epoch + 1, write_ms=now_ms)
        return snapshot_record(key, state)


def _fenced(what: str, epoch: int) -> str:
    return f"the {what} epoch is {epoch} by now"
