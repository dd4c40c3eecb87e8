"""The ends of transactions, written to the partitions that took part in them.

A decided end is never dropped: a partition that cannot be written now is tried again until it can
be, or until its topic is deleted. The coordinator hears of a partition when its marker is
committed there, so a crash in between only means that markers are written twice.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from headrace.broker import logs
from headrace.coordinator.effects import TransactionMarkers
from headrace.coordinator.host import HostState
from headrace.errors import ClientFault, Error
from headrace.records.control import EndTxnMarker, build_end_txn_marker

if TYPE_CHECKING:
    from headrace.broker.coordinators import Coordinators
    from headrace.broker.metadata import Metadata
    from headrace.broker.storage import Storage
    from headrace.coordinator.group.shard import GroupShard
    from headrace.coordinator.host import Host
    from headrace.coordinator.transaction.shard import TransactionShard
    from headrace.log.append import Appended
    from headrace.replica.partition import Partition
    from headrace.runtime.clock import Clock
    from headrace.types import TopicPartition

_RETRY_S: Final = 0.05
# The producer has moved on in this partition: what the marker would end is not open there.
_OUTDATED: Final = (Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED)


class Markers:
    """Writes markers to the partitions of this broker."""

    def __init__(self, metadata: Metadata, storage: Storage, clock: Clock) -> None:
        self._metadata = metadata
        self._storage = storage
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self.groups: Coordinators[GroupShard] | None = None
        self.transactions: Coordinators[TransactionShard] | None = None

    def send(self, host: Host[TransactionShard], markers: TransactionMarkers) -> None:
        """Write the markers of one transaction, and tell its coordinator as they are committed."""
        _Sending(self, host, markers).go_on()

    def write(self, partition: Partition, markers: TransactionMarkers) -> Appended:
        """Write the end of a transaction into one partition; raises what its log raises."""
        topic, index = partition.topic_partition
        now_ms = self._clock.now_ms()
        if self.groups is not None and topic == self.groups.topic_name:
            host = self.groups.hosts.get(index)
            if host is None or host.state is not HostState.ACTIVE:
                raise ClientFault(Error.COORDINATOR_LOAD_IN_PROGRESS)
            try:
                return host.end_transaction(markers, now_ms)
            except OSError as fault:
                raise self._storage.on_disk_fault(topic, index, fault) from fault
        batch = build_end_txn_marker(
            EndTxnMarker(markers.commit, markers.coordinator_epoch),
            producer_id=markers.producer.producer_id,
            producer_epoch=markers.producer.producer_epoch,
            timestamp=now_ms,
        )
        try:
            appended = partition.append_internal(
                batch, now_ms=now_ms, transaction_version=markers.transaction_version
            )
        except OSError as fault:
            raise self._storage.on_disk_fault(topic, index, fault) from fault
        if appended.flush_due or appended.rolled:
            self._storage.flush(partition)
        return appended

    def exists(self, partition: TopicPartition) -> bool:
        return self._metadata.image.partition(*partition) is not None

    def find(self, partition: TopicPartition) -> Partition:
        return self._storage.find(*partition)


class _Sending:
    """One transaction on its way to its partitions."""

    def __init__(
        self, markers: Markers, host: Host[TransactionShard], wanted: TransactionMarkers
    ) -> None:
        self._markers = markers
        self._host = host
        self._shard = host.shard
        self._wanted = wanted
        self._left = list(wanted.partitions)

    def go_on(self) -> None:
        """Try every partition that has no marker yet; come back later for those that refuse."""
        if self._host.shard is not self._shard or self._host.state is not HostState.ACTIVE:
            return  # Whoever is responsible now sends the markers again.
        left, self._left = self._left, []
        written = [partition for partition in left if self._write(partition)]
        if self._left:
            asyncio.get_running_loop().call_later(_RETRY_S, self.go_on)
        if written:
            self._tell(written)

    def _write(self, where: TopicPartition) -> bool:
        """Whether the marker is committed in this partition now, or needed no more."""
        try:
            partition = self._markers.find(where)
            self._markers.write(partition, self._wanted)
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
        if partition.offline_reason or partition.high_watermark < required:
            self._left.append(partition.topic_partition)
            asyncio.get_running_loop().call_later(_RETRY_S, self.go_on)
        else:
            self._tell([partition.topic_partition])

    def _tell(self, written: list[TopicPartition]) -> None:
        if self._host.shard is not self._shard or self._host.state is not HostState.ACTIVE:
            return
        transactions = self._markers.transactions
        assert transactions is not None
        now_ms = transactions.now_ms()
        effects = self._shard.on_markers_written(
            self._wanted.transactional_id, self._wanted.producer, written, now_ms
        )
        transactions.perform(self._host, effects, now_ms)
