"""A partition of `__consumer_offsets` in memory: a shard, its log, its clock, and its clients.

Whatever a handler wants to happen happens at once; records and transactions go through their bytes
and are kept, so that `restart` can load a new shard from nothing but the log.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

from headrace.coordinator.effects import Caller, Effects, ProducerIdentity
from headrace.coordinator.group.offset_fetch import asked_groups, assembled
from headrace.coordinator.group.records import decode_record, encode_record
from headrace.coordinator.group.settings import GroupSettings, Overrides
from headrace.coordinator.group.shard import GroupShard
from headrace.errors import Error
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.coordinator.known_topics import KnownTopics
from tests.coordinator.tickets import Ticket, opened
from tests.settings import group_settings

NOW_MS = 1_700_000_000_000
LATEST = 99


class Written(NamedTuple):
    """One entry of the log: a record, or the marker that ends a transaction."""

    key: bytes
    value: bytes | None
    producer: ProducerIdentity | None
    ends_with_commit: bool | None = None


class OffsetsPartition:
    """What a broker does with one partition, without the broker."""

    def __init__(
        self,
        topics: KnownTopics | None = None,
        settings: GroupSettings | None = None,
        overrides: Overrides = lambda _: {},
    ) -> None:
        self.topics = topics or KnownTopics(orders=3, payments=1)
        self.settings = settings or group_settings(group_initial_rebalance_delay_ms=0)
        self.overrides = overrides
        self.now_ms = NOW_MS
        self.log: list[Written] = []
        self.answers: dict[int, Any] = {}
        self._tickets = 0
        self._uuids = 0
        self.shard = self._loaded()

    def _loaded(self) -> GroupShard:
        self.shard = GroupShard(self.settings, self.topics, self._new_uuid, self.overrides)
        for offset in range(len(self.log)):
            self._replay(offset)
        self.perform(self.shard.on_loaded(self.now_ms))
        return self.shard

    def _new_uuid(self) -> UUID:
        self._uuids += 1
        return UUID(int=self._uuids)

    def _replay(self, offset: int) -> None:
        entry = self.log[offset]
        if entry.ends_with_commit is not None:
            assert entry.producer is not None
            self.shard.replay_end_transaction(entry.producer, entry.ends_with_commit)
            return
        record = decode_record(entry.key, entry.value)
        assert record is not None
        self.shard.replay(record, offset=offset, transaction=entry.producer)

    def restart(self) -> None:
        """Another broker loads the partition; who still waits here is told so."""
        for reply in self.shard.abandon(Error.NOT_COORDINATOR):
            ticket, response = opened(reply)
            self.answers[ticket] = response
        self._loaded()

    def compact(self) -> None:
        """Keep what compaction keeps at least, the last value of each key; and load that."""
        last = {entry.key: offset for offset, entry in enumerate(self.log)}
        kept = [
            entry
            for offset, entry in enumerate(self.log)
            if entry.ends_with_commit is not None
            or (last[entry.key] == offset and entry.value is not None)
        ]
        self.log = kept
        self.restart()

    def perform(self, effects: Effects[Any, Any]) -> None:
        """Let happen what the shard asked for."""
        for record in effects.records:
            key, value = encode_record(record)
            self.log.append(Written(key, value, effects.transaction))
            self._replay(len(self.log) - 1)
        for reply in effects.replies:
            ticket, response = opened(reply)
            assert ticket not in self.answers, "answered twice"
            self.answers[ticket] = response

    def end_transaction(self, producer: ProducerIdentity, *, commit: bool) -> None:
        self.log.append(Written(b"", None, producer, commit))
        self._replay(len(self.log) - 1)

    def pass_time(self, duration_ms: int) -> None:
        """Let time pass, and every timer that comes due expire."""
        end_ms = self.now_ms + duration_ms
        while (wake_ms := self.shard.timers.next_wake_ms()) is not None and wake_ms <= end_ms:
            self.now_ms = max(self.now_ms, wake_ms)
            for key in self.shard.timers.due(self.now_ms):
                self.perform(self.shard.on_timer(key, self.now_ms))
        self.now_ms = end_ms

    def change_topics(self) -> None:
        """Tell the shard that `topics` is not what it was."""
        self.perform(self.shard.on_topics_changed(self.now_ms))

    def begin(self, handler: str, request: Any, version: int = LATEST, **options: Any) -> int:
        """Send something; the ticket may be answered later."""
        self._tickets += 1
        caller: Caller[Any] = Caller(Ticket(self._tickets), "client", "/127.0.0.1", version)
        handle = getattr(self.shard, f"handle_{handler}")
        self.perform(handle(request, caller, self.now_ms, **options))
        return self._tickets

    def ask(self, handler: str, request: Any, version: int = LATEST, **options: Any) -> Any:
        """Send something that is answered at once."""
        return self.answers[self.begin(handler, request, version, **options)]

    def fetch(self, group: str, topic: str = "orders", *partitions: int) -> list[int]:
        """The committed offsets of some partitions."""
        asked = OffsetFetchRequestTopics(name=topic, partition_indexes=list(partitions) or [0])
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=group, topics=[asked])]
        )
        answers = [
            self.ask("offset_fetch", each, 9, require_stable=False)
            for each in asked_groups(request, 9)
        ]
        (found,) = assembled(answers, 9).groups
        assert found.error_code == Error.NONE
        return [each.committed_offset for each in found.topics[0].partitions]
