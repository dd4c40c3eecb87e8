"""The ends of transactions, written to the partitions that took part in them.

A decided end is never dropped: a partition that cannot be written now is tried again until it can
be, until its topic is deleted, or until this broker is no longer the coordinator. A partition led
here is written directly, one that is led elsewhere through `marker_outbox`; who
leads it is looked up before every try. The coordinator hears of a partition when its marker is
committed there, so a crash in between only means that markers are written twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headrace.broker.transactions.marker_outbox import MarkerOutboxes
from headrace.broker.transactions.verification_guards import Guards
from headrace.broker.watching import logs
from headrace.coordinator.effects import TransactionMarkers
from headrace.coordinator.host import HostState
from headrace.errors import ClientFault, Error
from headrace.types import NO_LEADER

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.peers import Peers
    from headrace.broker.storage.storage import Storage
    from headrace.broker.transactions.transactions import TransactionHost, Transactions
    from headrace.log.append import Appended
    from headrace.replica.partition import Partition
    from headrace.runtime.clock import Clock
    from headrace.types import TopicPartition

_FIRST_RETRY_S: Final = 0.05
_LAST_RETRY_S: Final = 0.8
# The producer has moved on in this partition: what the marker would end is not open there.
_OUTDATED: Final = (Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED)


class Markers:
    """Writes markers here, and has others write them; without `peers` everything is led here."""

    def __init__(
        self, metadata: Metadata, storage: Storage, clock: Clock, peers: Peers | None = None
    ) -> None:
        self._metadata = metadata
        self._storage = storage
        self._clock = clock
        self._peers = peers
        self._outboxes = None if peers is None else MarkerOutboxes(peers)
        self.guards = Guards()
        self.groups: Groups | None = None
        self.transactions: Transactions | None = None

    def send(self, host: TransactionHost, markers: TransactionMarkers) -> None:
        """Write the markers of one transaction, and tell its coordinator as they are committed."""
        Sending(self, host, markers).go_on()

    def write(self, partition: Partition, markers: TransactionMarkers) -> Appended:
        """Write the end of a transaction into one partition; raises what its log raises."""
        topic, index = partition.topic_partition
        now_ms = self._clock.now_ms()
        self.guards.on_marker(partition.topic_partition, markers.producer.producer_id)
        if self.groups is not None and topic == self.groups.topic_name:
            host = self.groups.hosts.get(index)
            if host is None or host.state is not HostState.ACTIVE:
                raise ClientFault(Error.COORDINATOR_LOAD_IN_PROGRESS)
            try:
                return host.end_transaction(markers, now_ms)
            except OSError as fault:
                raise self._storage.on_disk_fault(topic, index, fault) from fault
        try:
            appended = partition.append_internal(
                markers.batch(now_ms),
                now_ms=now_ms,
                transaction_version=markers.transaction_version,
            )
        except OSError as fault:
            raise self._storage.on_disk_fault(topic, index, fault) from fault
        if appended.flush_due or appended.rolled:
            self._storage.flush(partition)
        return appended

    # -- for one sending --------------------------------------------------------------------------

    def leader_elsewhere(self, partition: TopicPartition) -> int | None:
        """The other broker that leads a partition, or NO_LEADER; None if it is led here."""
        image = self._metadata.image.partition(*partition)
        if self._peers is None or image is None or image.leader == self._peers.broker_id:
            return None
        return image.leader

    def exists(self, partition: TopicPartition) -> bool:
        return self._metadata.image.partition(*partition) is not None

    def find(self, partition: TopicPartition) -> Partition:
        return self._storage.find_leader(*partition)

    def put(self, leader: int, sending: Sending, partition: TopicPartition) -> None:
        """Let the leader write a marker; `sending` hears of the outcome."""
        assert self._outboxes is not None
        self._outboxes.put(leader, sending, partition)


class Sending:
    """One transaction on its way to its partitions."""

    def __init__(self, markers: Markers, host: TransactionHost, wanted: TransactionMarkers) -> None:
        self.wanted = wanted
        self._markers = markers
        self._host = host
        self._shard = host.shard
        self._left = list(wanted.partitions)
        self._retry: asyncio.TimerHandle | None = None
        self._retry_s = _FIRST_RETRY_S

    @property
    def is_current(self) -> bool:
        """Whether it is still ours: whoever is responsible now sends the markers again."""
        return self._host.shard is self._shard and self._host.state is HostState.ACTIVE

    def go_on(self) -> None:
        """Try every partition that has no marker yet; come back later for those that refuse."""
        self._retry = None
        if not self.is_current:
            return
        left, self._left = self._left, []
        written = []
        for partition in left:
            leader = self._markers.leader_elsewhere(partition)
            if leader is None:
                if self._write(partition):
                    written.append(partition)
            elif leader == NO_LEADER:
                self._left.append(partition)
            else:
                self._markers.put(leader, self, partition)
        self._come_back_if_any_left()
        if written:
            self._tell(written)

    def on_outcome(self, outcome: Mapping[TopicPartition, Error]) -> None:
        """What became of markers that another broker was asked to write."""
        written = []
        for partition, error in outcome.items():
            if error in _OUTDATED:
                logs.COORDINATOR.error("Marker for %s was refused: %s", partition, error.name)
            if not error or error in _OUTDATED or not self._markers.exists(partition):
                written.append(partition)
            else:
                self._left.append(partition)
        self._come_back_if_any_left()
        if written:
            self._tell(written)

    def _write(self, where: TopicPartition) -> bool:
        """Whether the marker is committed in this partition now, or needed no more."""
        try:
            partition = self._markers.find(where)
            self._markers.write(partition, self.wanted)
        except ClientFault as fault:
            if not self._markers.exists(where):
                return True
            if fault.error in _OUTDATED:
                logs.COORDINATOR.error("Marker for %s was refused: %s", where, fault)
                return True
            self._left.append(where)
            return False
        required = partition.log.log_end_offset
        if partition.high_watermark >= required:
            return True
        partition.when_committed(required, lambda: self._on_committed(partition, required))
        return False

    def _on_committed(self, partition: Partition, required: int) -> None:
        if partition.commit_fault(required) is not None:
            self._left.append(partition.topic_partition)
            self._come_back_if_any_left()
        else:
            self._tell([partition.topic_partition])

    def _come_back_if_any_left(self) -> None:
        if self._left and self._retry is None:
            loop = asyncio.get_running_loop()
            self._retry = loop.call_later(self._retry_s, self.go_on)
            self._retry_s = min(self._retry_s * 2, _LAST_RETRY_S)

    def _tell(self, written: list[TopicPartition]) -> None:
        if not self.is_current:
            return
        self._retry_s = _FIRST_RETRY_S
        transactions = self._markers.transactions
        assert transactions is not None
        now_ms = transactions.now_ms()
        effects = self._shard.on_markers_written(
            self.wanted.transactional_id, self.wanted.producer, written, now_ms
        )
        transactions.perform(self._host, effects, now_ms)
