"""Produce, v3-v13 (v0-v2 are advertised but refused, as Apache Kafka does).

Behaviour:
- each partition is appended on its own; one failing does not touch the others;
- acks=0 gets no answer; acks=1 and acks=all are answered once the records are committed, which with
  one replica is at once, or after the flush where `flush.messages` demands it;
- what is not committed within `timeout_ms` is REQUEST_TIMED_OUT; it may still be committed later;
- an idempotent producer's repeated batch is answered with the offset it already has;
- the first transactional batch of a partition asks the transaction coordinator, see
  `headrace.broker.transactional_writes`; what arrives after the end of its transaction is refused.

Version notes: v3 transactional id (KIP-98) · v5 log start offset · v7 zstd (KIP-110) · v8 record
errors (KIP-467) · v9 flexible · v10 leader discovery (KIP-951) · v12 transactions v2 (KIP-890) ·
v13 topic ids (KIP-516).
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final
from uuid import UUID

from headrace.broker.dispatch import LATER, Answer, Handler, reply
from headrace.broker.transactional_writes import admit, as_told_to_producer, must_ask, settled
from headrace.cluster.topic_names import INTERNAL_TOPICS
from headrace.coordinator.effects import ProducerIdentity
from headrace.errors import ClientFault, Error, InvalidRecords
from headrace.records.batch import HEADER_SIZE
from headrace.replica.waiters import CommitWaiter
from headrace.types import ZERO_UUID, TopicPartition
from headrace.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.connection import Call
    from headrace.coordinator.host import Host
    from headrace.coordinator.transaction.shard import TransactionShard
    from headrace.replica.partition import Partition

_ACKS: Final = (0, 1, -1)
_TRANSACTIONAL_BIT: Final = 0x10
_ATTRIBUTES_AT: Final = 22  # their low byte
_PRODUCER_AT: Final = 43
_PRODUCER: Final = Struct(">qh")
_ABORTABLE_SINCE: Final = 11
_ADDS_SINCE: Final = 12

Refused = dict[TopicPartition, ClientFault]
_NONE_REFUSED: Final[Refused] = {}

Written = list[tuple["Partition", int, PartitionProduceResponse]]


def handle(broker: Broker, request: ProduceRequest, call: Call) -> Answer:
    if request.transactional_id is None and call.connection.write_turn is None:
        return _append_all(broker, request, call, _NONE_REFUSED)
    if call.connection.write_turn is not None:
        return _in_turn(broker, request, call, None)
    refused, unsettled = _ask_coordinator(broker, request, call)
    if unsettled is not None:
        return _in_turn(broker, request, call, unsettled)
    return _append_all(broker, request, call, refused)


def _append_all(broker: Broker, request: ProduceRequest, call: Call, refused: Refused) -> Answer:
    acks = request.acks
    uncommitted: Written = []
    topics = []
    for topic in request.topic_data:
        name, fault = _topic_name(broker, topic.name, topic.topic_id)
        answers = []
        for data in topic.partition_data:
            failed = fault
            if refused and failed is None:
                failed = refused.get(TopicPartition(name, data.index))
            if failed is None:
                answers.append(
                    _append(broker, name, data, acks, uncommitted, request.transactional_id)
                )
            else:
                answers.append(_refused(broker, data.index, failed))
        topics.append(
            TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=answers
            )
        )
    if acks == 0:
        if any(answer.error_code for topic in topics for answer in topic.partition_responses):
            # With acks=0 there is no answer to carry the error; closing tells the client to look.
            call.connection.close()
        return None
    response = ProduceResponse(responses=topics)
    if not uncommitted:
        return response
    _ParkedProduce(broker, uncommitted, call, response, request.timeout_ms)
    return LATER


def _topic_name(broker: Broker, name: str, topic_id: UUID) -> tuple[str, ClientFault | None]:
    if topic_id == ZERO_UUID:
        return name, None
    known = broker.metadata.image.topic_names.get(topic_id)
    if known is None:
        return "", ClientFault(Error.UNKNOWN_TOPIC_ID, f"no topic has the id {topic_id}")
    return known, None


def _ask_coordinator(
    broker: Broker, request: ProduceRequest, call: Call
) -> tuple[Refused, Host[TransactionShard] | None]:
    """Which partitions must not be written, and the coordinator whose commit comes first."""
    assert request.transactional_id is not None
    adds = call.version >= _ADDS_SINCE
    if not must_ask(broker.config, adds=adds):
        return _NONE_REFUSED, None
    wanted: dict[ProducerIdentity, list[TopicPartition]] = {}
    for topic in request.topic_data:
        name, fault = _topic_name(broker, topic.name, topic.topic_id)
        for data in topic.partition_data:
            records = data.records
            if fault is not None or records is None or len(records) < HEADER_SIZE:
                continue  # refused for this when it is appended
            if not records[_ATTRIBUTES_AT] & _TRANSACTIONAL_BIT:
                continue
            producer = ProducerIdentity(*_PRODUCER.unpack_from(records, _PRODUCER_AT))
            partition = broker.storage.partitions.get(TopicPartition(name, data.index))
            if partition is not None and not partition.log.producers.has_open_transaction(
                *producer
            ):
                wanted.setdefault(producer, []).append(partition.topic_partition)
    if not wanted:
        return _NONE_REFUSED, None
    knows_abortable = call.version >= _ABORTABLE_SINCE
    refused: Refused = {}
    unsettled = None
    for producer, partitions in wanted.items():
        errors, host = admit(
            broker.transactions, request.transactional_id, producer, partitions, adds=adds
        )
        unsettled = unsettled or host
        for where, error in errors.items():
            if error:
                told = as_told_to_producer(error, knows_abortable=knows_abortable)
                refused[where] = ClientFault(told, f"the transaction does not take {where}")
    return refused, unsettled


def _in_turn(
    broker: Broker, request: ProduceRequest, call: Call, unsettled: Host[TransactionShard] | None
) -> Answer:
    """Wait for the coordinator, and for the writes of this connection that wait already."""
    connection = call.connection
    before = connection.write_turn
    turn = connection.write_turn = broker.loop.create_future()

    async def wait() -> Answer:
        try:
            if before is not None:
                await before
            if unsettled is not None:
                await settled(unsettled)
            refused: Refused = _NONE_REFUSED
            if request.transactional_id is not None:
                # What was true before the wait may not be true any more.
                refused, again = _ask_coordinator(broker, request, call)
                while again is not None:
                    await settled(again)
                    refused, again = _ask_coordinator(broker, request, call)
            return _append_all(broker, request, call, refused)
        finally:
            if connection.write_turn is turn:
                connection.write_turn = None
            turn.set_result(None)

    return wait()


def _append(
    broker: Broker,
    topic: str,
    data: PartitionProduceData,
    acks: int,
    uncommitted: Written,
    transactional_id: str | None,
) -> PartitionProduceResponse:
    index = data.index
    try:
        if acks not in _ACKS:
            raise ClientFault(Error.INVALID_REQUIRED_ACKS, f"acks={acks}; allowed are 0, 1, -1")
        partition = broker.storage.find(topic, index)
        records = data.records
        if records is None:
            raise ClientFault(Error.INVALID_RECORD, f"no records for {topic}-{index}")
        if (
            transactional_id is None
            and len(records) > _ATTRIBUTES_AT
            and records[_ATTRIBUTES_AT] & _TRANSACTIONAL_BIT
        ):
            raise ClientFault(
                Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                "a transactional batch needs the transactional id of its producer",
            )
        if topic in INTERNAL_TOPICS:
            raise ClientFault(
                Error.INVALID_TOPIC_EXCEPTION, f"only the broker itself writes to {topic}"
            )
        appended = partition.append(records, acks=acks, now_ms=broker.clock.now_ms())
    except ClientFault as fault:
        return _refused(broker, index, fault)
    except OSError as error:
        return _refused(broker, index, broker.storage.on_disk_fault(topic, index, error))
    answer = PartitionProduceResponse(
        index=index,
        error_code=0,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=appended.log_start_offset,
    )
    if appended.flush_due or appended.rolled:
        broker.storage.flush(partition)
    if appended.last_offset >= partition.log.high_watermark:
        uncommitted.append((partition, appended.last_offset + 1, answer))
    return answer


def _refused(broker: Broker, index: int, fault: ClientFault) -> PartitionProduceResponse:
    broker.reporter.errors[fault.error] += 1
    return PartitionProduceResponse(
        index=index,
        error_code=fault.error,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1,
        error_message=fault.message or None,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=fault.message)
            for index in fault.indexes
        ]
        if isinstance(fault, InvalidRecords)
        else [],
    )


class _ParkedProduce:
    """A produce that waits until its records are committed, or for as long as its client does."""

    __slots__ = ("_call", "_response", "_timer", "_uncommitted")

    def __init__(
        self, broker: Broker, uncommitted: Written, call: Call, response: ProduceResponse, ms: int
    ) -> None:
        self._uncommitted = uncommitted
        self._call = call
        self._response = response
        waiter = CommitWaiter(self._finish)
        for partition, required, _ in uncommitted:
            partition.await_commit(required, waiter)
        self._timer = broker.loop.call_later(max(ms, 0) / 1000, waiter.release)

    def _finish(self) -> None:
        self._timer.cancel()
        for partition, required, answer in self._uncommitted:
            if partition.offline_reason:
                _fail(answer, Error.KAFKA_STORAGE_ERROR, partition.offline_reason)
            elif partition.high_watermark < required:
                _fail(answer, Error.REQUEST_TIMED_OUT, "not committed within the request's timeout")
        reply(self._call, self._response)


def _fail(answer: PartitionProduceResponse, error: Error, message: str) -> None:
    answer.error_code = error
    answer.error_message = message
    answer.base_offset = -1


HANDLER = Handler(
    key=0, versions=(3, 13), request=ProduceRequest, handle=handle, advertised=(0, 13)
)
