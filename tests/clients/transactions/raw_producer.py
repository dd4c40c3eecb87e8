"""A transactional producer over a bare connection, one request at a time.

Requests are of transactions v1 unless a version says otherwise: the producer adds what it writes
to before it writes.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from headrace.errors import Error
from headrace.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from headrace.wire.messages.end_txn import EndTxnRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.clients.raw import Connection, batch_of
from tests.clients.records import Record, numbered_records
from tests.clients.requests import produce_request

T = TypeVar("T")
TRANSACTION_KEY = 1
# What says that it is too early, from a coordinator or in the words of Produce: every client asks
# again.
NOT_YET = (
    Error.NOT_ENOUGH_REPLICAS,
    Error.CONCURRENT_TRANSACTIONS,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
)
PATIENCE_SECONDS = 60
OF_TRANSACTIONS_V1, OF_TRANSACTIONS_V2 = 11, 12  # versions of Produce


def patiently(ask: Callable[[], T], errors_of: Callable[[T], Iterable[int]]) -> T:
    """Ask until no error of the answer says that it is too early; the last answer."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        answer = ask()
        if not any(error in NOT_YET for error in errors_of(answer)):
            return answer
        if time.monotonic() > deadline:
            return answer


def new_id() -> str:
    """A transactional id that nobody has used."""
    return f"x-{uuid.uuid4().hex[:12]}"


def find_coordinator(connection: Connection, transactional_id: str) -> None:
    """As every client does first; the internal topic is made when nobody has asked before."""
    request = FindCoordinatorRequest(key_type=TRANSACTION_KEY, coordinator_keys=[transactional_id])
    answer = patiently(
        lambda: connection.ask(request, 4).coordinators,
        lambda coordinators: [each.error_code for each in coordinators],
    )
    assert [each.error_code for each in answer] == [Error.NONE]


def initialised(
    connection: Connection, transactional_id: str, version: int = 4, **options: Any
) -> Any:
    """InitProducerId until the coordinator can say; its answer."""
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=options.pop("transaction_timeout_ms", 60_000),
        **options,
    )
    return patiently(lambda: connection.ask(request, version), lambda answer: [answer.error_code])


@dataclass
class RawProducer:
    """What a producer knows of itself, and its requests."""

    connection: Connection
    transactional_id: str
    producer_id: int
    producer_epoch: int
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)

    @staticmethod
    def start(connection: Connection, transactional_id: str | None = None) -> RawProducer:
        """A producer with an identity, under a transactional id of its own unless one is given."""
        name = transactional_id or new_id()
        find_coordinator(connection, name)
        answer = initialised(connection, name)
        assert answer.error_code == Error.NONE, Error(answer.error_code).name
        return RawProducer(connection, name, answer.producer_id, answer.producer_epoch)

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
        }

    def add(
        self, topics: dict[str, list[int]], version: int = 3, **identity: Any
    ) -> dict[tuple[str, int], Error]:
        """AddPartitionsToTxn of a client: the error of each partition."""
        wanted = {**self.identity, **identity}
        request = AddPartitionsToTxnRequest(
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=name, partitions=partitions)
                for name, partitions in topics.items()
            ],
            **{f"v3_and_below_{name}": value for name, value in wanted.items()},
        )

        def ask() -> dict[tuple[str, int], Error]:
            return {
                (topic.name, each.partition_index): Error(each.partition_error_code)
                for topic in self.connection.ask(request, version).results_by_topic_v3_and_below
                for each in topic.results_by_partition
            }

        return patiently(ask, lambda errors: errors.values())

    def write(
        self,
        topic: str,
        count: int = 1,
        *,
        partition: int = 0,
        version: int = OF_TRANSACTIONS_V1,
        records: list[Record] | None = None,
    ) -> Error:
        """Produce so many records in the transaction; the partition's error."""
        sequence = self.sequences.get((topic, partition), 0)
        batch = batch_of(
            numbered_records(count) if records is None else records,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=sequence,
            transactional=True,
        )
        request = produce_request(
            topic, batch, partition=partition, transactional_id=self.transactional_id
        )
        topics = patiently(
            lambda: self.connection.ask(request, version).responses,
            lambda topics: [topics[0].partition_responses[0].error_code],
        )
        (result,) = topics[0].partition_responses
        if result.error_code == Error.NONE:
            self.sequences[topic, partition] = sequence + count
        return Error(result.error_code)

    def add_offsets(self, group: str, version: int = 3, **identity: Any) -> Error:
        """AddOffsetsToTxn."""
        request = AddOffsetsToTxnRequest(**{**self.identity, **identity}, group_id=group)
        return patiently(
            lambda: Error(self.connection.ask(request, version).error_code), lambda error: [error]
        )

    def commit_offset(
        self, group: str, topic: str, offset: int, version: int = 3, **options: Any
    ) -> Error:
        """TxnOffsetCommit of one partition; options as the fields of the request."""
        wanted = TxnOffsetCommitRequestPartition(
            partition_index=options.pop("partition", 0),
            committed_offset=offset,
            committed_metadata=options.pop("metadata", ""),
        )
        topics = [TxnOffsetCommitRequestTopic(name=topic, partitions=[wanted])]
        request = TxnOffsetCommitRequest(
            **{**self.identity, **options}, group_id=group, topics=topics
        )
        answer = patiently(
            lambda: self.connection.ask(request, version),
            lambda answer: [answer.topics[0].partitions[0].error_code],
        )
        return Error(answer.topics[0].partitions[0].error_code)

    def end(self, *, commit: bool, version: int = 4, **identity: Any) -> Any:
        """EndTxn; the answer, and from v5 on the producer goes on with the epoch in it."""
        request = EndTxnRequest(**{**self.identity, **identity}, committed=commit)
        answer = patiently(
            lambda: self.connection.ask(request, version), lambda answer: [answer.error_code]
        )
        if version >= 5 and answer.error_code == Error.NONE and not identity:
            if (answer.producer_id, answer.producer_epoch) != (
                self.producer_id,
                self.producer_epoch,
            ):
                self.sequences.clear()
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        return answer

    def transact(self, topic: str, count: int = 1, *, commit: bool = True) -> None:
        """A whole transaction in one partition."""
        assert self.add({topic: [0]}) == {(topic, 0): Error.NONE}
        assert self.write(topic, count) == Error.NONE
        assert self.end(commit=commit).error_code == Error.NONE
