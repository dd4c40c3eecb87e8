"""A coordinator to tell stories with: a shard, its log, and partitions that take markers.

Records go through their bytes, as they do in a broker. A crash is a new shard from the records so
far; whatever was to be sent and was not is lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from headrace.coordinator.effects import Caller, Effects, ProducerIdentity, TransactionMarkers
from headrace.coordinator.transaction.metadata import TransactionMetadata, to_record
from headrace.coordinator.transaction.records import TransactionRecord, decode_record, encode_record
from headrace.coordinator.transaction.settings import TransactionSettings
from headrace.coordinator.transaction.shard import TransactionShard
from headrace.errors import ClientFault, Error
from headrace.types import TopicPartition
from headrace.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from headrace.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from headrace.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.coordinator.tickets import Ticket
from tests.settings import transaction_settings

ID = "orders-etl"
FIRST_PRODUCER_ID = 1000
NOBODY = ProducerIdentity(-1, -1)

A0 = TopicPartition("a", 0)
A1 = TopicPartition("a", 1)
B0 = TopicPartition("b", 0)
OFFSETS = TopicPartition("__consumer_offsets", 7)


class Story:
    """One coordinator over its whole life."""

    def __init__(self, settings: TransactionSettings | None = None) -> None:
        self.settings = settings or transaction_settings()
        self.now_ms = 1_700_000_000_000
        self.log: list[TransactionRecord] = []
        self.sent: list[TransactionMarkers] = []  # not written yet
        self.markers: list[tuple[TopicPartition, TransactionMarkers]] = []  # written
        self.has_producer_ids = True
        self._producer_ids = FIRST_PRODUCER_ID
        self._epoch = -1
        self._tickets = 0
        self.shard = self._new_shard()

    def _new_shard(self) -> TransactionShard:
        self._epoch += 1
        return TransactionShard(self.settings, self._epoch, self.fresh_producer_id)

    def fresh_producer_id(self) -> int:
        if not self.has_producer_ids:
            raise ClientFault(Error.COORDINATOR_LOAD_IN_PROGRESS)
        self._producer_ids += 1
        return self._producer_ids - 1

    # Running the shard.

    def perform(self, effects: Effects[Any, Any]) -> Any:
        """Append, replay, answer, send; returns the only response if there is one."""
        for record in effects.records:
            key, value = encode_record(record)
            decoded = decode_record(key, value)
            assert decoded is not None
            assert decoded == record
            self.shard.replay(decoded, offset=len(self.log), transaction=None)
            self.log.append(decoded)
        self.sent += effects.sends
        assert len(effects.replies) <= 1
        return effects.replies[0].response if effects.replies else None

    def crash(self, *, keep: int | None = None) -> None:
        """A new coordinator takes over; of the log it finds the first `keep` records."""
        if keep is not None:
            del self.log[keep:]
        self.sent.clear()
        self.shard = self.loaded()
        self.perform(self.shard.on_loaded(self.now_ms))

    def loaded(self, records: Iterable[TransactionRecord] | None = None) -> TransactionShard:
        """A shard from these records, or from all that were written."""
        shard = self._new_shard()
        for record in self.log if records is None else records:
            shard.replay(record, offset=0, transaction=None)
        return shard

    def wait(self, milliseconds: int) -> None:
        """Let time pass and everything happen that is due."""
        end_ms = self.now_ms + milliseconds
        while (wake_ms := self.shard.timers.next_wake_ms()) is not None and wake_ms <= end_ms:
            self.now_ms = max(self.now_ms, wake_ms)
            for key in self.shard.timers.due(self.now_ms):
                self.perform(self.shard.on_timer(key, self.now_ms))
        self.now_ms = end_ms

    def write_markers(self, *partitions: TopicPartition) -> None:
        """Let the partitions take the markers that were sent to them; all of them if none named."""
        for markers in self.sent:
            chosen = [each for each in markers.partitions if not partitions or each in partitions]
            self.markers += [(each, markers) for each in chosen]
            self.perform(
                self.shard.on_markers_written(
                    markers.transactional_id, markers.producer, chosen, self.now_ms
                )
            )
        self.sent = [
            rest
            for markers in self.sent
            if partitions
            and (rest := markers._replace(partitions=_without(markers.partitions, partitions)))
            and rest.partitions
        ]

    # What is known.

    @property
    def metadata(self) -> TransactionMetadata:
        return self.shard.transactions[ID]

    @property
    def state(self) -> str:
        return self.metadata.state.label

    @property
    def states_written(self) -> list[int]:
        return [record.value.transaction_status for record in self.log if record.value is not None]

    # Requests.

    def caller(self, version: int) -> Caller[Any]:
        self._tickets += 1
        return Caller(Ticket(self._tickets), "client", "/127.0.0.1", version)

    def init(
        self,
        named: ProducerIdentity = NOBODY,
        *,
        version: int = 5,
        timeout_ms: int = 60_000,
        transactional_id: str | None = ID,
    ) -> InitProducerIdResponse:
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=named.producer_id,
            producer_epoch=named.producer_epoch,
        )
        response = self.perform(
            self.shard.handle_init_producer_id(request, self.caller(version), self.now_ms)
        )
        assert isinstance(response, InitProducerIdResponse)
        return response

    def start(self, transactional_id: str = ID) -> ProducerIdentity:
        """A producer that starts, and comes again until it is let in."""
        for _ in range(3):
            response = self.init(transactional_id=transactional_id)
            if response.error_code == Error.NONE:
                return ProducerIdentity(response.producer_id, response.producer_epoch)
            assert response.error_code == Error.CONCURRENT_TRANSACTIONS
            self.write_markers()
        raise AssertionError("the producer was not let in")

    def add(
        self, producer: ProducerIdentity, *partitions: TopicPartition, transactional_id: str = ID
    ) -> Error:
        """What the first write to a partition does under transactions v2."""
        error, records = self.shard.add_partitions(
            transactional_id, producer, partitions, self.now_ms
        )
        self.perform(Effects(records=records))
        return error

    def add_v1(
        self, producer: ProducerIdentity, *partitions: TopicPartition, version: int = 3
    ) -> Error:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=ID,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=topics(partitions),
        )
        response = self.perform(
            self.shard.handle_add_partitions_to_txn(request, self.caller(version), self.now_ms)
        )
        errors = {
            result.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for result in topic.results_by_partition
        }
        assert len(errors) == 1
        return Error(errors.pop())

    def add_offsets(
        self, producer: ProducerIdentity, *, version: int = 4, transactional_id: str = ID
    ) -> Error:
        request = AddOffsetsToTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            group_id="group",
        )
        response = self.perform(
            self.shard.handle_add_offsets_to_txn(
                request, self.caller(version), OFFSETS, self.now_ms
            )
        )
        return Error(response.error_code)

    def end(
        self,
        producer: ProducerIdentity,
        *,
        commit: bool,
        version: int = 5,
        transactional_id: str = ID,
    ) -> EndTxnResponse:
        request = EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=commit,
        )
        response = self.perform(
            self.shard.handle_end_txn(request, self.caller(version), self.now_ms)
        )
        assert isinstance(response, EndTxnResponse)
        return response

    def commit(self, producer: ProducerIdentity) -> ProducerIdentity:
        """A commit under transactions v2 with everything that follows; who to be next."""
        return self._ended(producer, commit=True)

    def abort(self, producer: ProducerIdentity) -> ProducerIdentity:
        return self._ended(producer, commit=False)

    def _ended(self, producer: ProducerIdentity, *, commit: bool) -> ProducerIdentity:
        response = self.end(producer, commit=commit)
        assert response.error_code == Error.NONE
        self.write_markers()
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    def put(self, **changes: Any) -> None:
        """Let the log say something of the id that would take thousands of steps to reach."""
        self.perform(Effects(records=[to_record(self.metadata._replace(**changes))]))


def topics(partitions: Collection[TopicPartition]) -> list[AddPartitionsToTxnTopic]:
    return [
        AddPartitionsToTxnTopic(name=each.topic, partitions=[each.partition]) for each in partitions
    ]


def _without(
    partitions: tuple[TopicPartition, ...], written: Collection[TopicPartition]
) -> tuple[TopicPartition, ...]:
    return tuple(each for each in partitions if each not in written)
