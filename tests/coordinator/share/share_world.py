"""One partition of `__share_group_state` on a disk in memory, and a coordinator on it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from headrace.broker.sharing.coordinators import ShareHost
from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.host import Hooks, Host
from headrace.coordinator.share.records import FORMATS
from headrace.coordinator.share.shard import ShareSettings, ShareShard
from headrace.coordinator.share.state import ShareState
from headrace.errors import Error
from headrace.log import PartitionLog
from headrace.replica.leadership import Leadership
from headrace.replica.partition import Partition
from headrace.testing import MemoryDisk
from headrace.types import SharePartitionKey, TopicPartition
from headrace.wire.messages import delete_share_group_state as delete_api
from headrace.wire.messages import initialize_share_group_state as initialize_api
from headrace.wire.messages import read_share_group_state as read_api
from headrace.wire.messages import read_share_group_state_summary as summary_api
from headrace.wire.messages import write_share_group_state as write_api
from tests.coordinator.known_topics import KnownTopics
from tests.settings import log_config

NOW_MS = 1_700_000_000_000
WHERE = TopicPartition("__share_group_state", 0)
FOLDER = "/data/__share_group_state-0"

Batch = tuple[int, int, int, int]


class Ticket:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: Any = None

    def answer(self, response: Any) -> None:
        self.told = response

    def refuse(self, error: Error) -> None:
        raise AssertionError(f"refused with {error.name}")


class ShareWorld:
    """A coordinator with the topic `orders` of two partitions."""

    def __init__(
        self,
        *,
        updates_per_snapshot: int = 3,
        cold_interval_ms: int = 1000,
        flush_messages: int = 1 << 62,
    ) -> None:
        self.settings = ShareSettings(updates_per_snapshot, cold_interval_ms)
        self.topics = KnownTopics(orders=2)
        topic_id = self.topics.topic_id("orders")
        assert topic_id is not None
        self.key = SharePartitionKey("g", topic_id, 0)
        self.now_ms = NOW_MS
        self.disk = MemoryDisk(folders=["/data"])
        self.config = log_config(cleanup_policy=("delete",), flush_messages=flush_messages)
        self.log = PartitionLog.create(self.disk, FOLDER, WHERE, UUID(int=7), self.config, NOW_MS)
        self.host = self._load()

    def _load(self) -> ShareHost:
        partition = Partition(WHERE, UUID(int=7), self.log, broker_id=1)
        partition.lead(Leadership(1, 0, 0, (1,), (1,)), NOW_MS)
        host: ShareHost = Host(
            FORMATS,
            partition,
            lambda: ShareShard(self.settings, self.topics),
            lambda *_: None,
            Hooks(),
        )
        for _ in host.load(self.now_ms):
            pass
        return host

    def restart(self) -> None:
        self.log.close()
        self.log = PartitionLog.open(
            self.disk, FOLDER, WHERE, self.config, clean=True, now_ms=NOW_MS
        )
        self.host = self._load()

    @property
    def shard(self) -> ShareShard:
        return self.host.shard

    @property
    def state(self) -> ShareState:
        return self.shard.states[self.key]

    def perform(self, effects: Effects[Any, Any]) -> None:
        self.host.perform(effects, self.now_ms)

    def pass_time(self, duration_ms: int) -> None:
        self.now_ms += duration_ms
        self.host.on_time(self.now_ms)

    # -- requests ---------------------------------------------------------------------------------

    def _ask(self, handle: Any, asked: Any, key: SharePartitionKey | None) -> Any:
        ticket = Ticket()
        caller = Caller(ticket, "", "", 0)
        self.perform(handle(key or self.key, asked, caller, self.now_ms))
        return ticket.told

    def initialize(
        self, *, state_epoch: int = 1, start_offset: int = -1, key: SharePartitionKey | None = None
    ) -> int:
        asked = initialize_api.PartitionData(
            partition=0, state_epoch=state_epoch, start_offset=start_offset
        )
        error: int = self._ask(self.shard.handle_initialize, asked, key).error_code
        return error

    def read(self, *, leader_epoch: int = 0) -> read_api.PartitionResult:
        asked = read_api.PartitionData(partition=0, leader_epoch=leader_epoch)
        result: read_api.PartitionResult = self._ask(self.shard.handle_read, asked, None)
        return result

    def write(
        self,
        *batches: Batch,
        start_offset: int = -1,
        leader_epoch: int = 0,
        state_epoch: int = 1,
        complete: int = 0,
        key: SharePartitionKey | None = None,
    ) -> int:
        asked = write_api.PartitionData(
            partition=0,
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=complete,
            state_batches=[
                write_api.StateBatch(
                    first_offset=first, last_offset=last, delivery_state=state, delivery_count=count
                )
                for first, last, state, count in batches
            ],
        )
        error: int = self._ask(self.shard.handle_write, asked, key).error_code
        return error

    def delete(self) -> int:
        asked = delete_api.PartitionData(partition=0)
        error: int = self._ask(self.shard.handle_delete, asked, None).error_code
        return error

    def summary(self, key: SharePartitionKey | None = None) -> summary_api.PartitionResult:
        asked = summary_api.PartitionData(partition=0, leader_epoch=-1)
        result: summary_api.PartitionResult = self._ask(self.shard.handle_summary, asked, key)
        return result
