"""Transactions as coordinators know them, and producers as the logs remember them: plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from headrace.admin.client import Admin
from headrace.admin.faults import raise_for
from headrace.admin.routing import at_coordinator, at_leader, coordinator_of, patiently
from headrace.types import Offset, TopicPartition

STATES: Final = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort",
    "PrepareEpochFence", "Dead",
)  # fmt: skip


_TIMEOUT_MS: Final = 60_000
_ENDED: Final = ("Empty", "CompleteCommit", "CompleteAbort", "Dead")


class Listed(NamedTuple):
    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


class Described(NamedTuple):
    """One transactional id; `partitions` tells of the open transaction.

    A coordinator remembers when the last transaction began even after it has ended.
    """

    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_time_ms: int | None
    partitions: tuple[tuple[str, int], ...]

    @property
    def open_since_ms(self) -> int | None:
        return None if self.state in _ENDED else self.start_time_ms


class ProducerState(NamedTuple):
    """One producer in one partition; `start_offset` is where its open transaction begins."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int | None
    last_sequence: int | None
    last_timestamp_ms: int | None
    start_offset: Offset | None


def list_transactions(
    admin: Admin,
    *,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    older_than_ms: int | None = None,
) -> list[Listed]:
    """Every coordinator is asked: each knows its own transactional ids only."""
    from headrace.wire.messages.list_transactions import ListTransactionsRequest

    request = ListTransactionsRequest(
        state_filters=list(states),
        producer_id_filters=list(producer_ids),
        duration_filter=-1 if older_than_ms is None else older_than_ms,
    )
    found = []
    for broker_id in sorted(admin.describe_cluster().ids):
        ask = partial(admin.ask_broker, broker_id, request)
        answer = patiently(admin, f"listing the transactions of broker {broker_id}", ask)
        raise_for(answer.error_code, None)
        found += [
            Listed(each.transactional_id, each.producer_id, each.transaction_state, broker_id)
            for each in answer.transaction_states
        ]
    return sorted(found)


def describe_transaction(admin: Admin, transactional_id: str) -> Described:
    """What the coordinator knows; `Refused` if it has never heard of the id."""
    from headrace.wire.messages.describe_transactions import DescribeTransactionsRequest

    state = at_coordinator(
        admin,
        transactional_id,
        DescribeTransactionsRequest(transactional_ids=[transactional_id]),
        lambda answer: answer.transaction_states[0],
        transactional=True,
    )
    raise_for(state.error_code, None)
    return Described(
        transactional_id=transactional_id,
        coordinator=coordinator_of(admin, transactional_id, transactional=True)[0],
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        state=state.transaction_state,
        timeout_ms=state.transaction_timeout_ms,
        start_time_ms=(
            state.transaction_start_time_ms if state.transaction_start_time_ms >= 0 else None
        ),
        partitions=tuple(
            sorted((topic.topic, each) for topic in state.topics for each in topic.partitions)
        ),
    )


def describe_producers(
    admin: Admin, topic: str, partitions: Iterable[int], *, broker_id: int | None = None
) -> list[ProducerState]:
    """The producers that the leaders of these partitions remember, or this broker's replicas."""
    from headrace.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest

    found = []
    for partition in partitions:
        request = DescribeProducersRequest(
            topics=[TopicRequest(name=topic, partition_indexes=[partition])]
        )
        if broker_id is None:
            state = at_leader(admin, TopicPartition(topic, partition), request, _partition)
        else:
            state = _partition(admin.ask_broker(broker_id, request))
        raise_for(state.error_code, state.error_message)
        found += [_producer(topic, partition, each) for each in state.active_producers]
    return found


def _partition(answer: Any) -> Any:
    return answer.topics[0].partitions[0]


def _producer(topic: str, partition: int, state: Any) -> ProducerState:
    def known(number: int) -> int | None:
        return number if number >= 0 else None

    return ProducerState(
        topic=topic,
        partition=partition,
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        coordinator_epoch=known(state.coordinator_epoch),
        last_sequence=known(state.last_sequence),
        last_timestamp_ms=known(state.last_timestamp),
        start_offset=known(state.current_txn_start_offset),
    )


def write_abort(admin: Admin, producer: ProducerState) -> None:
    """Write the marker that ends the producer's transaction in this partition."""
    from headrace.wire.messages.write_txn_markers import (
        WritableTxnMarker,
        WritableTxnMarkerTopic,
        WriteTxnMarkersRequest,
    )

    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[
            WritableTxnMarkerTopic(name=producer.topic, partition_indexes=[producer.partition])
        ],
        # A producer that has never seen a marker has not seen a coordinator's epoch either.
        coordinator_epoch=producer.coordinator_epoch or 0,
    )
    result = at_leader(
        admin,
        TopicPartition(producer.topic, producer.partition),
        WriteTxnMarkersRequest(markers=[marker]),
        lambda answer: answer.markers[0].topics[0].partitions[0],
    )
    raise_for(result.error_code, None)


class Terminated(NamedTuple):
    """The id before, and the producer that took its place."""

    before: Described
    now: Any


def terminate(admin: Admin, transactional_id: str) -> Terminated:
    """Abort the open transaction of an id and fence its producer, as a new producer would."""
    from headrace.wire.messages.init_producer_id import InitProducerIdRequest

    # InitProducerId would create an id that nobody has ever used.
    before = describe_transaction(admin, transactional_id)
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=before.timeout_ms or _TIMEOUT_MS
    )
    answer = at_coordinator(admin, transactional_id, request, transactional=True)
    raise_for(answer.error_code, None)
    return Terminated(before, answer)
