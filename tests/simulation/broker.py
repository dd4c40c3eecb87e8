"""The simulated broker in one life: its logs, its coordinators, and the real handlers over them.

What a request does is decided by the handlers of `headrace.broker.handlers`, unchanged; they find
here what they ask of the broker. Those that wait with coroutines are in `writes`. A crash ends this
object; the disk and the catalogue go on, and the next life begins with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple
from uuid import UUID

from headrace.broker.groups.groups import GroupHost
from headrace.broker.handlers import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    consumer_group_heartbeat,
    delete_groups,
    end_txn,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    offset_commit,
    offset_fetch,
    sync_group,
)
from headrace.broker.net.call import LATER
from headrace.broker.net.handler import Bound
from headrace.coordinator.group.effects import ShareStatesChange
from headrace.coordinator.group.records import FORMATS as GROUP_FORMATS
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.group.shard import GroupShard
from headrace.coordinator.transaction.records import FORMATS as TRANSACTION_FORMATS
from headrace.coordinator.transaction.settings import TransactionSettings
from headrace.coordinator.transaction.shard import TransactionShard
from headrace.errors import ClientFault, Error
from headrace.log import LogConfig
from headrace.testing import MemoryDisk
from headrace.testing.schedule import Schedule
from headrace.types import TopicPartition
from headrace.wire.messages.produce import ProduceRequest
from headrace.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.simulation.catalogue import Catalogue
from tests.simulation.failure import fail
from tests.simulation.network import Call
from tests.simulation.reading import VisibleRecord, read_committed
from tests.simulation.shards import Shards
from tests.simulation.storage import Storage
from tests.simulation.writes import Writes


class Read(NamedTuple):
    """Fetch, reduced to what this simulation is about: records of one partition, committed."""

    where: TopicPartition
    offset: int


class ReadReply(NamedTuple):
    error_code: int
    records: list[VisibleRecord]


class Constitution(NamedTuple):
    """What is the same in every life of the broker."""

    catalogue: Catalogue
    group_settings: GroupSettings
    transaction_settings: TransactionSettings
    offsets_partitions: int
    transaction_partitions: int
    config_of: Callable[[str], LogConfig]
    new_uuid: Callable[[], UUID]
    new_producer_id: Callable[[], int]


class ProducerIds:
    """Ids that no producer ever had; the block that a crash loses is never given out."""

    is_ready: Final = True

    def __init__(self, take: Callable[[], int]) -> None:
        self.take = take


class SimulatedBroker:
    """See the module. Handlers find it as their metadata."""

    def __init__(self, constitution: Constitution, disk: MemoryDisk, schedule: Schedule) -> None:
        self.image = constitution.catalogue
        self.metadata = self
        self.is_dead = False
        self.producer_ids = ProducerIds(constitution.new_producer_id)
        self._schedule = schedule
        self.storage = Storage(
            disk,
            constitution.catalogue,
            constitution.config_of,
            constitution.new_uuid,
            self._later,
            schedule.rng,
            schedule.now_ms,
        )
        self.groups: Shards[GroupShard] = Shards(
            GROUP_FORMATS,
            constitution.offsets_partitions,
            self.storage,
            schedule,
            new_shard=lambda: new_group_shard(constitution),
            send=_share_nothing,
            is_dead=lambda: self.is_dead,
        )
        self._writes = Writes(
            self.storage,
            self.groups,
            self._later,
            lambda where: constitution.catalogue.partition(*where) is not None,
            lambda: schedule.now_ms,
        )
        self.transactions: Shards[TransactionShard] = Shards(
            TRANSACTION_FORMATS,
            constitution.transaction_partitions,
            self.storage,
            schedule,
            new_shard=lambda: new_transaction_shard(constitution),
            send=self._writes.send_markers,
            is_dead=lambda: self.is_dead,
        )
        self._writes.transactions = self.transactions
        self._handlers = {each.handler.request: each.handle for each in self._bound()}

    def _bound(self) -> list[Bound]:
        """The real handlers, over what is simulated here."""
        here: Any = self
        groups, transactions = here.groups, here.transactions
        return [
            *(
                module.HANDLER.bind(groups)
                for module in (
                    delete_groups,
                    heartbeat,
                    join_group,
                    leave_group,
                    offset_commit,
                    offset_fetch,
                    sync_group,
                )
            ),
            add_offsets_to_txn.HANDLER.bind(groups, transactions),
            add_partitions_to_txn.HANDLER.bind(here.metadata, transactions),
            consumer_group_heartbeat.HANDLER.bind(here.metadata, groups),
            end_txn.HANDLER.bind(transactions),
            init_producer_id.HANDLER.bind(transactions, here.producer_ids),
        ]

    def start(self) -> None:
        """Take responsibility for the internal topics."""
        self.groups.lead()
        self.transactions.lead()

    def stop(self) -> None:
        """End in order: everybody who waits is answered, and everything is on disk."""
        for group_host in self.groups.hosts.values():
            group_host.resign()
        for host in self.transactions.hosts.values():
            host.resign()
        self.is_dead = True
        self.storage.directory.close()

    def serve(self, call: Call) -> None:
        """Answer a request, now or later."""
        request = call.request
        if isinstance(request, ProduceRequest):
            self._writes.produce(call)
        elif isinstance(request, TxnOffsetCommitRequest):
            self._writes.commit_offsets(call)
        elif isinstance(request, Read):
            call.answer(self._read(request))
        else:
            answered: Any = call
            answer = self._handlers[type(request)](request, answered)
            if answer is not LATER:
                call.answer(answer)

    def _read(self, request: Read) -> ReadReply:
        try:
            partition = self.storage.find(*request.where)
            return ReadReply(Error.NONE, read_committed(partition.log, request.offset))
        except ClientFault as fault:
            return ReadReply(fault.error, [])

    def on_topics_changed(self) -> None:
        """As the group coordinator of a broker is told."""
        now_ms = self._schedule.now_ms
        for host in self.groups.active():
            self.groups.perform(host, host.shard.on_topics_changed(now_ms), now_ms)

    def _later(self, delay_ms: int, what: str, call: Callable[[], None]) -> object:
        def unless_dead() -> None:
            if not self.is_dead:
                call()

        return self._schedule.after(delay_ms, what, unless_dead)


def new_group_shard(constitution: Constitution) -> GroupShard:
    return GroupShard(constitution.group_settings, constitution.catalogue, constitution.new_uuid)


def new_transaction_shard(constitution: Constitution) -> TransactionShard:
    return TransactionShard(constitution.transaction_settings, 0, constitution.new_producer_id)


def _share_nothing(_host: GroupHost, change: ShareStatesChange) -> None:
    fail("share-groups", f"a group shard sends {change}")
