"""Produce, v3-v13 (v0-v2 are advertised but refused, as Apache Kafka does).

Behaviour:
- each partition is appended on its own; one failing does not touch the others;
- acks=0 gets no answer; acks=1 is answered when the leader has the records, on stable storage where
  `flush.messages` demands it; acks=all when every in-sync replica has them too;
- acks=all needs `min.insync.replicas`: NOT_ENOUGH_REPLICAS before the append, and if they became
  too few after it NOT_ENOUGH_REPLICAS_AFTER_APPEND;
- what is not committed within `timeout_ms` is REQUEST_TIMED_OUT; it may still be committed later;
- a partition led elsewhere is NOT_LEADER_OR_FOLLOWER, with the leader and its address from v10 on;
- a client over its quota gets its answer at once, with the time that it has to wait, and is muted;
- an idempotent producer's repeated batch is answered with the offset it already has;
- the first transactional batch of a partition asks the transaction coordinator, see
  `headrace.broker.produce_admission`; what arrives after the end of its transaction is refused.

Version notes: v3 transactional id (KIP-98) · v5 log start offset · v7 zstd (KIP-110) · v8 record
errors (KIP-467) · v9 flexible · v10 leader discovery (KIP-951) · v12 transactions v2 (KIP-890) ·
v13 topic ids (KIP-516).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from headrace.broker import leader_hints
from headrace.broker.dispatch import LATER, Answer, Handler, reply
from headrace.broker.produce_admission import (
    ATTRIBUTES_AT,
    NONE_REFUSED,
    TRANSACTIONAL_BIT,
    Refused,
    ask,
    ask_until_settled,
    is_elsewhere,
    topic_name,
)
from headrace.broker.transactional_writes import settled
from headrace.cluster.topic_names import INTERNAL_TOPICS
from headrace.errors import ClientFault, Error, InvalidRecords
from headrace.replica.waiters import CommitWaiter
from headrace.types import TopicPartition
from headrace.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
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
_HINTS_SINCE: Final = 10

Written = list[tuple["Partition", int, PartitionProduceResponse]]


def handle(broker: Broker, request: ProduceRequest, call: Call) -> Answer:
    transactional_id = request.transactional_id
    if transactional_id is None and call.connection.write_turn is None:
        return _append_all(broker, request, call, NONE_REFUSED)
    if call.connection.write_turn is not None:
        return _in_turn(broker, request, call, None)
    assert transactional_id is not None
    if is_elsewhere(broker, transactional_id):
        return _in_turn(broker, request, call, None)
    refused, unsettled = ask(broker, request, call)
    if unsettled is not None:
        return _in_turn(broker, request, call, unsettled)
    return _append_all(broker, request, call, refused)


def _append_all(broker: Broker, request: ProduceRequest, call: Call, refused: Refused) -> Answer:
    acks = request.acks
    uncommitted: Written = []
    topics = []
    failed_any = False
    for topic in request.topic_data:
        name, fault = topic_name(broker, topic.name, topic.topic_id)
        traffic = broker.storage.traffic_of(name)
        traffic.produce_requests += len(topic.partition_data)
        answers = []
        for data in topic.partition_data:
            failed = fault
            if refused and failed is None:
                failed = refused.get(TopicPartition(name, data.index))
            if failed is None:
                answer = _append(broker, name, data, acks, uncommitted, request.transactional_id)
            else:
                answer = _refused(broker, data.index, failed)
            if answer.error_code:
                failed_any = True
                traffic.failed_produce_requests += 1
                broker.reporter.produce_errors[answer.error_code] += 1
                traffic.bytes_rejected += len(data.records or b"")
            answers.append(answer)
        topics.append(
            TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=answers
            )
        )
    if acks == 0:
        if failed_any:
            # With acks=0 there is no answer to carry the error; closing tells the client to look.
            call.connection.close()
        return None
    response = ProduceResponse(responses=topics)
    if uncommitted:
        _ParkedProduce(broker, uncommitted, call, response, request)
        return LATER
    if failed_any:
        _add_hints(broker, call, response)
    return response


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
            # What was true before the wait may not be true any more.
            refused = await ask_until_settled(broker, request, call)
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
        partition = broker.storage.find_leader(topic, index)
        records = data.records
        if records is None:
            raise ClientFault(Error.INVALID_RECORD, f"no records for {topic}-{index}")
        if (
            transactional_id is None
            and len(records) > ATTRIBUTES_AT
            and records[ATTRIBUTES_AT] & TRANSACTIONAL_BIT
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
    required = appended.last_offset + 1
    if not partition.is_acknowledged(required, acks=acks):
        uncommitted.append((partition, required, answer))
    return answer


def _refused(broker: Broker, index: int, fault: ClientFault) -> PartitionProduceResponse:
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

    __slots__ = ("_acks", "_broker", "_call", "_response", "_timer", "_waiting")

    def __init__(
        self,
        broker: Broker,
        uncommitted: Written,
        call: Call,
        response: ProduceResponse,
        request: ProduceRequest,
    ) -> None:
        self._broker = broker
        self._acks = request.acks
        self._call = call
        self._response = response
        self._waiting = {id(answer): answer for _, _, answer in uncommitted}
        timeout_s = max(request.timeout_ms, 0) / 1000
        self._timer = broker.loop.call_later(timeout_s, self._on_time)
        for partition, required, answer in uncommitted:
            waiter = CommitWaiter(partial(self._settle, partition, required, answer))
            partition.await_commit(required, waiter, acks=request.acks)

    def _settle(
        self, partition: Partition, required: int, answer: PartitionProduceResponse
    ) -> None:
        # Asked now and not when all are there: by then other records may stand at this offset.
        if self._waiting.pop(id(answer), None) is None:
            return  # The answer has left without it.
        fault = partition.commit_fault(required, acks=self._acks)
        if fault is not None:
            self._broker.reporter.produce_errors[fault] += 1
            _fail(answer, fault, partition.offline_reason or "the write was not committed here")
        if not self._waiting:
            self._finish()

    def _on_time(self) -> None:
        self._broker.reporter.produce_errors[Error.REQUEST_TIMED_OUT] += len(self._waiting)
        for answer in self._waiting.values():
            _fail(answer, Error.REQUEST_TIMED_OUT, "not committed within the request's timeout")
        self._waiting.clear()
        self._finish()

    def _finish(self) -> None:
        self._timer.cancel()
        _add_hints(self._broker, self._call, self._response)
        reply(self._call, self._response)


def _fail(answer: PartitionProduceResponse, error: Error, message: str) -> None:
    answer.error_code = error
    answer.error_message = message
    answer.base_offset = -1


def _add_hints(broker: Broker, call: Call, response: ProduceResponse) -> None:
    """Tell who leads the partitions that are not led here."""
    if call.version < _HINTS_SINCE:
        return
    leaders = []
    for topic in response.responses:
        for answer in topic.partition_responses:
            if answer.error_code in leader_hints.HINTED:
                name, _ = topic_name(broker, topic.name, topic.topic_id)
                leader, epoch = leader_hints.leader_of(broker, name, answer.index)
                answer.current_leader = LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)
                leaders.append(leader)
    response.node_endpoints = [
        NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
        for node in leader_hints.nodes(broker, call, leaders)
    ]


HANDLER = Handler(
    key=0, versions=(3, 13), request=ProduceRequest, handle=handle, advertised=(0, 13)
)
