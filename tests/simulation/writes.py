"""Writes that need more than one shard: Produce, TxnOffsetCommit, and the ends of transactions.

The broker does these with coroutines (`headrace.broker.handlers.produce`, `…txn_offset_commit`,
`…transactions.markers`); the steps here are the same, and the decision about a transactional
write is that of `headrace.broker.transactions.admission` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace.broker.transactions.admission import (
    Unsettled,
    admit,
    as_told_to_committer,
    as_told_to_producer,
)
from headrace.broker.transactions.transactions import TransactionHost
from headrace.coordinator.effects import ProducerIdentity, TransactionMarkers
from headrace.coordinator.group.shard import GroupShard
from headrace.coordinator.host import HostState
from headrace.coordinator.transaction.shard import TransactionShard
from headrace.errors import ClientFault, Error
from headrace.records.batch import read_header
from headrace.records.control import EndTxnMarker, build_end_txn_marker
from headrace.replica.partition import Partition
from headrace.replica.waiters import CommitWaiter
from headrace.types import TopicPartition
from headrace.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tests.simulation.network import Call
from tests.simulation.shards import Shards
from tests.simulation.storage import Later, Storage

_RETRY_MS: Final = 50
_PRODUCE_ADDS_SINCE: Final = 12
_COMMIT_ADDS_SINCE: Final = 5
_OUTDATED: Final = (Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED)


class Writes:
    """See the module."""

    def __init__(
        self,
        storage: Storage,
        groups: Shards[GroupShard],
        later: Later,
        exists: Callable[[TopicPartition], bool],
        now_ms: Callable[[], int],
    ) -> None:
        self.transactions: Shards[TransactionShard]
        self._storage = storage
        self._groups = groups
        self._later = later
        self._exists = exists
        self._now_ms = now_ms

    # Produce.

    def produce(self, call: Call) -> None:
        """Append at once, or when the coordinator knows of it; never overtake a waiting write."""
        writes = call.connection.writes
        if writes:
            writes.append(lambda: self._produce(call))
        else:
            self._produce(call)

    def _produce(self, call: Call, awaited: Unsettled | None = None) -> None:
        """The write whose turn it is."""
        refused: dict[TopicPartition, Error] = {}
        if call.request.transactional_id is not None:
            refused, unsettled = self._ask_coordinator(call, awaited)
            if unsettled is not None:
                writes = call.connection.writes
                if not writes:
                    writes.append(lambda: None)  # holds its place
                unsettled.host.partition.when_committed(
                    unsettled.end, lambda: self._produce(call, unsettled)
                )
                return
        self._append_all(call, refused)
        writes = call.connection.writes
        if writes:
            writes.popleft()
            if writes:
                writes[0]()

    def _ask_coordinator(
        self, call: Call, awaited: Unsettled | None
    ) -> tuple[dict[TopicPartition, Error], Unsettled | None]:
        request: ProduceRequest = call.request
        assert request.transactional_id is not None
        refused: dict[TopicPartition, Error] = {}
        wanted: dict[ProducerIdentity, list[TopicPartition]] = {}
        for topic in request.topic_data:
            for data in topic.partition_data:
                header = read_header(data.records)  # type: ignore[arg-type]
                producer = ProducerIdentity(header.producer_id, header.producer_epoch)
                where = TopicPartition(topic.name, data.index)
                partition = self._storage.partitions.get(where)
                if partition is not None and not partition.log.producers.has_open_transaction(
                    *producer
                ):
                    wanted.setdefault(producer, []).append(where)
        unsettled = None
        transactions: Any = self.transactions
        for producer, partitions in wanted.items():
            errors, later = admit(
                transactions,
                request.transactional_id,
                producer,
                partitions,
                adds=call.version >= _PRODUCE_ADDS_SINCE,
                awaited=awaited,
            )
            unsettled = later or unsettled
            for where, error in errors.items():
                if error:
                    refused[where] = as_told_to_producer(error, knows_abortable=True)
        return refused, unsettled

    def _append_all(self, call: Call, refused: dict[TopicPartition, Error]) -> None:
        waiter = CommitWaiter(lambda: call.answer(response))
        topics = []
        uncommitted: list[tuple[Partition, int]] = []
        for topic in call.request.topic_data:
            answers = []
            for data in topic.partition_data:
                where = TopicPartition(topic.name, data.index)
                error = refused.get(where)
                answers.append(
                    _answer(data.index, error)
                    if error is not None
                    else self._append(where, data.records, uncommitted)
                )
            topics.append(TopicProduceResponse(name=topic.name, partition_responses=answers))
        response = ProduceResponse(responses=topics)
        if not uncommitted:
            call.answer(response)
            return
        for partition, required in uncommitted:
            partition.await_commit(required, waiter)

    def _append(
        self, where: TopicPartition, records: memoryview, uncommitted: list[tuple[Partition, int]]
    ) -> PartitionProduceResponse:
        try:
            partition = self._storage.find(*where)
            appended = partition.append(records, acks=-1, now_ms=self._now_ms())
        except ClientFault as fault:
            return _answer(where.partition, fault.error)
        self._storage.written(partition, appended)
        if appended.last_offset >= partition.log.high_watermark:
            uncommitted.append((partition, appended.last_offset + 1))
        return _answer(where.partition, Error.NONE, appended.base_offset)

    # TxnOffsetCommit.

    def commit_offsets(self, call: Call, awaited: Unsettled | None = None) -> None:
        """Ask the transaction coordinator, wait for what it writes, then let the group decide."""
        request: TxnOffsetCommitRequest = call.request
        offsets = TopicPartition(self._groups.topic_name, self._groups.index_of(request.group_id))
        transactions: Any = self.transactions
        errors, unsettled = admit(
            transactions,
            request.transactional_id,
            ProducerIdentity(request.producer_id, request.producer_epoch),
            [offsets],
            adds=call.version >= _COMMIT_ADDS_SINCE,
            awaited=awaited,
        )
        error = errors[offsets]
        if error:
            told = as_told_to_committer(error, knows_abortable=True)
            call.answer(_refused(request, told))
            return
        if unsettled is not None:
            unsettled.host.partition.when_committed(
                unsettled.end, lambda: self.commit_offsets(call, unsettled)
            )
            return
        self._groups.ask(
            request.group_id,
            call,
            lambda shard, who, now_ms: shard.handle_txn_offset_commit(request, who, now_ms),
            lambda error: _refused(request, error),
        )

    # Markers.

    def send_markers(self, host: TransactionHost, markers: TransactionMarkers) -> None:
        """Write the markers of one transaction, and tell its coordinator as they are committed."""
        _Sending(self, host, markers).go_on()

    def write_marker(self, where: TopicPartition, markers: TransactionMarkers) -> Partition:
        """Write the end of a transaction into one partition; raises what its log raises."""
        partition = self._storage.find(*where)
        now_ms = self._now_ms()
        if where.topic == self._groups.topic_name:
            host = self._groups.hosts[where.partition]
            if host.state is not HostState.ACTIVE:
                raise ClientFault(Error.COORDINATOR_LOAD_IN_PROGRESS)
            try:
                host.end_transaction(markers, now_ms)
            except OSError as fault:
                raise ClientFault(Error.KAFKA_STORAGE_ERROR, str(fault)) from fault
            return partition
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
            raise ClientFault(Error.KAFKA_STORAGE_ERROR, str(fault)) from fault
        self._storage.written(partition, appended)
        return partition

    def exists(self, where: TopicPartition) -> bool:
        return self._exists(where)

    def later(self, delay_ms: int, what: str, call: Callable[[], None]) -> None:
        self._later(delay_ms, what, call)


class _Sending:
    """One transaction on its way to its partitions."""

    def __init__(self, writes: Writes, host: TransactionHost, wanted: TransactionMarkers) -> None:
        self._writes = writes
        self._host = host
        self._shard = host.shard
        self._wanted = wanted
        self._left = list(wanted.partitions)

    def go_on(self) -> None:
        """Try every partition that has no marker yet; come back later for those that refuse."""
        if self._host.shard is not self._shard or self._host.state is not HostState.ACTIVE:
            return
        left, self._left = self._left, []
        written = [where for where in left if self._write(where)]
        if self._left:
            self._again()
        if written:
            self._tell(written)

    def _again(self) -> None:
        what = f"markers of {self._wanted.transactional_id} again"
        self._writes.later(_RETRY_MS, what, self.go_on)

    def _write(self, where: TopicPartition) -> bool:
        """Whether the marker is committed in this partition now, or needed no more."""
        try:
            partition = self._writes.write_marker(where, self._wanted)
        except ClientFault as fault:
            if not self._writes.exists(where) or fault.error in _OUTDATED:
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
            self._again()
        else:
            self._tell([partition.topic_partition])

    def _tell(self, written: list[TopicPartition]) -> None:
        if self._host.shard is not self._shard or self._host.state is not HostState.ACTIVE:
            return
        transactions = self._writes.transactions
        now_ms = transactions.now_ms()
        effects = self._shard.on_markers_written(
            self._wanted.transactional_id, self._wanted.producer, written, now_ms
        )
        transactions.perform(self._host, effects, now_ms)


def _answer(index: int, error: Error, base_offset: int = -1) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=error, base_offset=base_offset)


def _refused(request: TxnOffsetCommitRequest, error: Error) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=error
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
