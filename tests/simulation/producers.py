"""Transactional producers, as clients: transactions v1 and v2 (KIP-890).

A v1 producer names its partitions before it writes and keeps its epoch; a v2 producer just writes,
and every end of a transaction raises its epoch. Both repeat what was not answered, give up what was
refused, and are over when somebody else has their transactional id.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headrace.errors import Error
from headrace.records.builder import BatchBuilder
from headrace.testing.schedule import Schedule
from headrace.types import NO_EPOCH, NO_PRODUCER_ID, TopicPartition
from headrace.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from headrace.wire.messages.end_txn import EndTxnRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.simulation.members import COORDINATOR, Member
from tests.simulation.processes import Ask, Sleep, Steps

TRANSACTIONS: Final = "transactions"
DATA: Final = "data"
_PAUSE_MS: Final = 80
_MOST_TRIES: Final = 12

_FENCED: Final = (
    Error.PRODUCER_FENCED,
    Error.INVALID_PRODUCER_EPOCH,
    Error.INVALID_PRODUCER_ID_MAPPING,
)
_AGAIN: Final = (
    Error.CONCURRENT_TRANSACTIONS,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
    Error.NOT_ENOUGH_REPLICAS,
    Error.KAFKA_STORAGE_ERROR,
)


@dataclass(eq=False, slots=True)
class Attempt:
    """One transaction as its producer meant it, and what the broker has said about it."""

    number: int
    transactional_id: str
    group_id: str
    records: dict[TopicPartition, list[bytes]] = field(default_factory=dict)
    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    is_commit_sent: bool = False
    is_abort_sent: bool = False
    is_commit_told: bool = False  # the coordinator has said that it is committed
    is_abort_told: bool = False


class Fenced(Exception):
    """Another producer has this transactional id, or the coordinator gave this one up."""


class Refused(Exception):
    """The transaction cannot be committed any more."""

    def __init__(self, error: int) -> None:
        super().__init__(error)
        self.error = error


class TransactionalProducer:
    """One producer with a transactional id."""

    def __init__(
        self, transactional_id: str, version: int, timeout_ms: int, schedule: Schedule
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = NO_PRODUCER_ID
        self.epoch = NO_EPOCH
        self._is_v2 = version == 2
        self._timeout_ms = timeout_ms
        self._schedule = schedule
        self._sequences: dict[TopicPartition, int] = {}

    def init(self) -> Steps:
        """Get an identity, or the next epoch of the one it has."""
        while True:
            request = InitProducerIdRequest(
                transactional_id=self.transactional_id,
                transaction_timeout_ms=self._timeout_ms,
                producer_id=self.producer_id,
                producer_epoch=self.epoch,
            )
            response = yield self._ask(TRANSACTIONS, request, 5 if self._is_v2 else 4)
            if response is not None and not response.error_code:
                self.producer_id, self.epoch = response.producer_id, response.producer_epoch
                self._sequences.clear()
                return
            if response is not None and response.error_code not in _AGAIN:
                raise Fenced
            yield Sleep(_PAUSE_MS)

    def transact(self, attempt: Attempt, member: Member, pause: Steps, *, commit: bool) -> Steps:
        """Write what the attempt says, pause, and end it; whether it was committed."""
        try:
            if not self._is_v2:
                yield from self._add_partitions(attempt)
            yield from self._write(attempt, member)
        except Refused as refused:
            member.on_error(refused.error)
            commit = False
        yield from pause
        yield from self._end(attempt, commit)
        if not commit and not self._is_v2:
            # Nobody knows which sequences were taken; the next epoch begins anew (KIP-360).
            yield from self.init()
        return commit

    def _add_partitions(self, attempt: Attempt) -> Steps:
        by_topic: dict[str, list[int]] = {}
        for topic, index in attempt.records:
            by_topic.setdefault(topic, []).append(index)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=name, partitions=indexes)
                for name, indexes in by_topic.items()
            ],
        )
        yield from self._insist([self._ask(TRANSACTIONS, request, 3)])
        offsets = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=attempt.group_id,
        )
        yield from self._insist([self._ask(TRANSACTIONS, offsets, 3)])

    def _write(self, attempt: Attempt, member: Member) -> Steps:
        """Records and offsets at once, over connections of their own."""
        asks = [
            self._ask(DATA, self._produce(where, values), 12 if self._is_v2 else 11, attempt)
            for where, values in attempt.records.items()
        ]
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for (topic, index), offset in attempt.offsets.items():
            topics.setdefault(topic, []).append(
                TxnOffsetCommitRequestPartition(
                    partition_index=index, committed_offset=offset, committed_metadata=None
                )
            )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=attempt.group_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id=member.number,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            topics=[
                TxnOffsetCommitRequestTopic(name=name, partitions=partitions)
                for name, partitions in topics.items()
            ],
        )
        asks.append(self._ask(f"{COORDINATOR}-txn", request, 5 if self._is_v2 else 4, attempt))
        yield from self._insist(asks)

    def _produce(self, where: TopicPartition, values: list[bytes]) -> ProduceRequest:
        sequence = self._sequences.get(where, 0)
        self._sequences[where] = sequence + len(values)
        builder = BatchBuilder(
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        for value in values:
            builder.append(None, value, self._schedule.now_ms)
        return produce_request(where, builder.build(), self.transactional_id)

    def _insist(self, asks: list[Ask]) -> Steps:
        """Ask until everything is done; Refused or Fenced if it cannot be."""
        for _ in range(_MOST_TRIES):
            answers = yield asks
            errors = [first_error(answer) for answer in answers]
            if any(error in _FENCED for error in errors):
                raise Fenced
            for error in errors:
                if error and error not in _AGAIN:
                    raise Refused(error)
            asks = [ask for ask, error in zip(asks, errors, strict=True) if error != Error.NONE]
            if not asks:
                return
            yield Sleep(_PAUSE_MS)
        raise Refused(Error.REQUEST_TIMED_OUT)

    def _end(self, attempt: Attempt, commit: bool) -> Steps:
        """Ask for the end until it is told how that was."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        while True:
            if commit:
                attempt.is_commit_sent = True
            else:
                attempt.is_abort_sent = True
            response = yield self._ask(TRANSACTIONS, request, 5 if self._is_v2 else 4, attempt)
            if response is not None and response.error_code == Error.NONE:
                break
            if response is not None and response.error_code not in _AGAIN:
                # Also where it is told that there was nothing to abort: begin anew to be sure.
                raise Fenced
            yield Sleep(_PAUSE_MS)
        if self._is_v2:
            self.producer_id, self.epoch = response.producer_id, response.producer_epoch
            self._sequences.clear()

    def _ask(self, link: str, request: object, version: int, attempt: Attempt | None = None) -> Ask:
        return Ask(link, request, version, context=attempt, late=self._is_v2)


def produce_request(
    where: TopicPartition, batch: bytes, transactional_id: str | None = None
) -> ProduceRequest:
    """One batch for one partition."""
    data = PartitionProduceData(index=where.partition, records=memoryview(batch))
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=where.topic, partition_data=[data])],
    )


def first_error(response: object) -> int:
    """The first error anywhere in a response to one of the requests above."""
    if response is None:
        return Error.COORDINATOR_NOT_AVAILABLE
    errors = [getattr(response, "error_code", 0)]
    for topic in getattr(response, "responses", ()):
        errors += [each.error_code for each in topic.partition_responses]
    for topic in getattr(response, "results_by_topic_v3_and_below", ()):
        errors += [each.partition_error_code for each in topic.results_by_partition]
    for topic in getattr(response, "topics", ()):
        errors += [each.error_code for each in topic.partitions]
    return next((error for error in errors if error), Error.NONE)
