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
- the records of a batch are checked as Apache Kafka checks them (count, offsets of compressed ones,
  keys where the topic is compacted); a batch with more than 1 MB of content or many records is
  checked on a thread, within a budget of its connection, see `headrace.broker.net.inspections`;
- zstd before v7 is UNSUPPORTED_COMPRESSION_TYPE;
- an idempotent producer's repeated batch is answered with the offset it already has;
- the first transactional batch of a partition asks the transaction coordinator, see
  `headrace.broker.transactions.admission`; what arrives after the end of its transaction
  is refused. Without an answer within `timeout_ms` nothing is written: NOT_ENOUGH_REPLICAS, which
  is retriable.

Version notes: v3 transactional id (KIP-98) · v5 log start offset · v7 zstd (KIP-110) · v8 record
errors (KIP-467) · v9 flexible · v10 leader discovery (KIP-951) · v12 transactions v2 (KIP-890) ·
v13 topic ids (KIP-516).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from headrace.broker.membership import leader_hints
from headrace.broker.net.call import LATER, Call
from headrace.broker.net.handler import Answer, Handler, Outcome
from headrace.broker.net.portions import Portions
from headrace.broker.storage.repeated_writes import Place, RepeatedWrite, length_place
from headrace.broker.transactions.admission import NONE_REFUSED, Admission, Refused, topic_name
from headrace.cluster.topic_names import INTERNAL_TOPICS
from headrace.errors import ClientFault, Error, InvalidRecords
from headrace.log import Heavy, Records, inspect
from headrace.records.batch import ATTRIBUTES_AT, CODEC_MASK, TRANSACTIONAL_BIT
from headrace.records.compression import Codec
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
    TopicProduceData,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.connection import Connection
    from headrace.broker.net.inspections import Inspections
    from headrace.broker.net.reporter import Reporter
    from headrace.broker.storage.storage import Storage
    from headrace.broker.transactions.admission import Unsettled
    from headrace.log.append import Appended
    from headrace.replica.partition import Partition
    from headrace.runtime.clock import Clock

_ACKS: Final = (0, 1, -1)
_ZSTD_SINCE: Final = 7
_HINTS_SINCE: Final = 10


@dataclass(frozen=True, slots=True)
class Parts:
    """What Produce needs of the broker."""

    metadata: Metadata
    storage: Storage
    admission: Admission
    inspections: Inspections
    reporter: Reporter
    clock: Clock
    loop: asyncio.AbstractEventLoop


@dataclass(slots=True)
class _Written:
    """What has become of a request so far."""

    topics: list[TopicProduceResponse]
    heavy: list[tuple[TopicProduceData, int, list[PartitionProduceResponse]]]
    """Topics, and the positions of partitions whose records must be inspected before they are
    appended, with the answers of the topic."""
    commits: _Commits | None = None
    """Its writes that are not committed yet, or were not when they were appended."""
    failed_any: bool = False


def handle(parts: Parts, request: ProduceRequest, call: Call) -> Answer[ProduceResponse]:
    transactional_id = request.transactional_id
    refused = NONE_REFUSED
    if call.connection.write_turn is not None:
        return _in_turn(parts, request, call, None)
    if transactional_id is not None:
        if parts.admission.is_elsewhere(transactional_id):
            return _in_turn(parts, request, call, None)
        refused, unsettled = parts.admission.ask(request, call)
        if unsettled is not None:
            return _in_turn(parts, request, call, unsettled)
    written = _append_all(parts, request, call, refused)
    if written.heavy:
        turn = call.connection.write_turn = parts.loop.create_future()
        return _first_in_turn(parts, request, call, turn, written)
    answer = _finish(parts, request, call, written)
    if call.connection.repeats.is_open and (answer is LATER or isinstance(answer, ProduceResponse)):
        _learn(parts, request, call, written)
    return answer


def _append_all(parts: Parts, request: ProduceRequest, call: Call, refused: Refused) -> _Written:
    """Append what may be appended at once."""
    written = _Written([], [])
    for topic in request.topic_data:
        name, fault = topic_name(parts.metadata, topic.name, topic.topic_id)
        traffic = parts.storage.traffic_of(name)
        traffic.produce_requests += len(topic.partition_data)
        answers: list[PartitionProduceResponse] = []
        for data in topic.partition_data:
            failed = fault
            if refused and failed is None:
                failed = refused.get(TopicPartition(name, data.index))
            if failed is None:
                try:
                    answer = _append(parts, name, data, request, call, written)
                except Heavy:
                    answer = PartitionProduceResponse(
                        index=data.index, error_code=0, base_offset=-1
                    )
                    written.heavy.append((topic, len(answers), answers))
            else:
                answer = _refused(parts, data.index, failed)
            if answer.error_code:
                _note_failed(parts, name, data, answer, written)
            answers.append(answer)
        written.topics.append(
            TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=answers
            )
        )
    return written


def _note_failed(
    parts: Parts,
    topic: str,
    data: PartitionProduceData,
    answer: PartitionProduceResponse,
    written: _Written,
) -> None:
    written.failed_any = True
    traffic = parts.storage.traffic_of(topic)
    traffic.failed_produce_requests += 1
    parts.reporter.produce_errors[answer.error_code] += 1
    traffic.bytes_rejected += len(data.records or b"")


def _finish(
    parts: Parts, request: ProduceRequest, call: Call, written: _Written
) -> Outcome[ProduceResponse]:
    if request.acks == 0:
        if written.failed_any:
            # With acks=0 there is no answer to carry the error; closing tells the client to look.
            call.connection.close()
        return None
    response = ProduceResponse(responses=written.topics)
    commits = written.commits
    if commits is not None:
        if commits.waiting:
            commits.park(response, request.timeout_ms)
            return LATER
        written.failed_any |= commits.failed_any
    if written.failed_any:
        _add_hints(parts, call, response)
    return response


def _learn(parts: Parts, request: ProduceRequest, call: Call, written: _Written) -> None:
    """Let the connection know a request that is likely to come again with other records."""
    if written.failed_any or type(call) is not Call or request.transactional_id is not None:
        return
    if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1:
        return
    topic = request.topic_data[0]
    (data,) = topic.partition_data
    assert data.records is not None, "they were appended"
    frame = data.records.obj
    if not isinstance(frame, bytes):
        return  # a large one
    length_at = length_place(frame, request, call.version)
    if length_at is None:
        return
    name, _ = topic_name(parts.metadata, topic.name, topic.topic_id)
    place = Place(name, topic.topic_id, data.index, request.acks)
    connection, version, client_id = call.connection, call.version, call.client_id
    answered, timeout_ms = written.topics[0], request.timeout_ms

    def park(partition: Partition, appended: Appended, correlation_id: int) -> None:
        later = Call(connection, version, correlation_id, client_id)
        answer = _appended(place.partition, appended)
        response = ProduceResponse(responses=[replace(answered, partition_responses=[answer])])
        commits = _Commits(parts, later, place.acks)
        commits.await_commit(partition, appended.last_offset + 1, answer)
        connection.expect(later)
        commits.park(response, timeout_ms)

    repeated = RepeatedWrite(
        frame, length_at, place, parts.storage, parts.metadata.image, parts.clock, park
    )
    connection.repeats.learn(frame, length_at, repeated)


async def _append_heavy(
    parts: Parts, request: ProduceRequest, call: Call, written: _Written
) -> Outcome[ProduceResponse]:
    """Append what must be inspected first, one partition after the other."""
    for topic, position, answers in written.heavy:
        data = topic.partition_data[position]
        name, fault = topic_name(parts.metadata, topic.name, topic.topic_id)
        try:
            if fault is not None:
                raise fault  # the topic was deleted meanwhile
            inspected = await _inspected(parts, name, topic, data, request, call)
            answer = _append(parts, name, inspected, request, call, written, Records.INSPECTED)
        except ClientFault as reason:
            answer = _refused(parts, data.index, reason)
        if answer.error_code:
            _note_failed(parts, name, data, answer, written)
        answers[position] = answer
    return _finish(parts, request, call, written)


async def _inspected(
    parts: Parts,
    name: str,
    topic: TopicProduceData,
    data: PartitionProduceData,
    request: ProduceRequest,
    call: Call,
) -> PartitionProduceData:
    """The same with records that may be appended. ClientFault: they must not be.

    Write before the next `await`: what was true before a wait may not be true any more.
    """
    assert data.records is not None
    while True:
        config = parts.storage.find_leader(name, data.index).log.config
        steps = inspect(data.records, config)
        try:
            records = await parts.inspections.run(call.connection, steps, request.timeout_ms)
        except (OSError, RuntimeError) as error:  # no descriptor or no thread is left
            raise ClientFault(
                Error.KAFKA_STORAGE_ERROR, f"the broker cannot read the records now: {error}"
            ) from None
        inspected = replace(data, records=records)
        alone = replace(request, topic_data=[replace(topic, partition_data=[inspected])])
        try:
            async with asyncio.timeout(max(request.timeout_ms, 0) / 1000):
                refused = await parts.admission.ask_until_settled(alone, call, None)
        except TimeoutError:
            refused = parts.admission.too_late(alone)
        fault = refused.get(TopicPartition(name, data.index))
        if fault is not None:
            raise fault
        if parts.storage.find_leader(name, data.index).log.config == config:
            return inspected


async def _first_in_turn(
    parts: Parts, request: ProduceRequest, call: Call, turn: asyncio.Future[None], written: _Written
) -> Outcome[ProduceResponse]:
    """Append what must be inspected first; the writes of this connection behind it wait for it."""
    try:
        return await _append_heavy(parts, request, call, written)
    finally:
        _end_turn(call.connection, turn)


def _end_turn(connection: Connection, turn: asyncio.Future[None]) -> None:
    if connection.write_turn is turn:
        connection.write_turn = None
    turn.set_result(None)


def _in_turn(
    parts: Parts, request: ProduceRequest, call: Call, unsettled: Unsettled | None
) -> Answer[ProduceResponse]:
    """Wait for the coordinator, and for the writes of this connection that wait already."""
    connection = call.connection
    before = connection.write_turn
    turn = connection.write_turn = parts.loop.create_future()
    deadline = parts.loop.time() + max(request.timeout_ms, 0) / 1000

    def end_turn(_: object = None) -> None:
        _end_turn(connection, turn)

    async def wait() -> Outcome[ProduceResponse]:
        if call.on_abandoned is None:  # the request of a client that has gone occupies no memory
            task = asyncio.current_task()
            assert task is not None
            call.on_abandoned = task.cancel
        try:
            try:
                async with asyncio.timeout_at(deadline):
                    if before is not None:
                        await asyncio.shield(before)
                    refused = await parts.admission.ask_until_settled(request, call, unsettled)
            except TimeoutError:
                refused = parts.admission.too_late(request)
            written = _append_all(parts, request, call, refused)
            if written.heavy:
                return await _append_heavy(parts, request, call, written)
            return _finish(parts, request, call, written)
        finally:
            if before is None or before.done():
                end_turn()
            else:
                before.add_done_callback(end_turn)

    return wait()


def _append(
    parts: Parts,
    topic: str,
    data: PartitionProduceData,
    request: ProduceRequest,
    call: Call,
    written: _Written,
    reading: Records = Records.UNLESS_HEAVY,
) -> PartitionProduceResponse:
    """Append to one partition. Heavy: its records must be inspected first."""
    index = data.index
    acks = request.acks
    try:
        if acks not in _ACKS:
            raise ClientFault(Error.INVALID_REQUIRED_ACKS, f"acks={acks}; allowed are 0, 1, -1")
        partition = parts.storage.find_leader(topic, index)
        records = data.records
        if records is None:
            raise ClientFault(Error.INVALID_RECORD, f"no records for {topic}-{index}")
        if len(records) > ATTRIBUTES_AT and records[ATTRIBUTES_AT]:
            _check_attributes(records[ATTRIBUTES_AT], request, call)
        if topic in INTERNAL_TOPICS:
            raise ClientFault(
                Error.INVALID_TOPIC_EXCEPTION, f"only the broker itself writes to {topic}"
            )
        now_ms = parts.clock.now_ms()
        appended = partition.append(records, acks=acks, now_ms=now_ms, records=reading)
    except ClientFault as fault:
        return _refused(parts, index, fault)
    except OSError as error:
        return _refused(parts, index, parts.storage.on_disk_fault(topic, index, error))
    answer = _appended(index, appended)
    if appended.flush_due or appended.rolled:
        parts.storage.flush(partition)
    required = appended.last_offset + 1
    if not partition.is_acknowledged(required, acks=acks):
        if written.commits is None:
            written.commits = _Commits(parts, call, acks)
        written.commits.await_commit(partition, required, answer)
    return answer


def _appended(index: int, appended: Appended) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=0,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=appended.log_start_offset,
    )


def _check_attributes(attributes: int, request: ProduceRequest, call: Call) -> None:
    if attributes & TRANSACTIONAL_BIT and request.transactional_id is None:
        raise ClientFault(
            Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "a transactional batch needs the transactional id of its producer",
        )
    if attributes & CODEC_MASK == Codec.ZSTD and call.version < _ZSTD_SINCE:
        raise ClientFault(
            Error.UNSUPPORTED_COMPRESSION_TYPE,
            f"zstd needs Produce v{_ZSTD_SINCE}, the request has v{call.version}",
        )


def _refused(parts: Parts, index: int, fault: ClientFault) -> PartitionProduceResponse:
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


class _Commits:
    """The writes of one request that were not committed when they were appended.

    Each is watched from its append on. A request that inspects records afterwards would otherwise
    miss a commit, or take other records at the same offset for its own.
    """

    __slots__ = ("_acks", "_call", "_parts", "_response", "_timer", "failed_any", "waiting")

    def __init__(self, parts: Parts, call: Call, acks: int) -> None:
        self._parts = parts
        self._call = call
        self._acks = acks
        self._response: ProduceResponse | None = None  # None until all else is done
        self._timer: asyncio.TimerHandle | None = None
        self.waiting: dict[int, PartitionProduceResponse] = {}
        self.failed_any = False

    def await_commit(
        self, partition: Partition, required: int, answer: PartitionProduceResponse
    ) -> None:
        self.waiting[id(answer)] = answer
        waiter = CommitWaiter(partial(self._settle, partition, required, answer))
        partition.await_commit(required, waiter, acks=self._acks)

    def park(self, response: ProduceResponse, timeout_ms: int) -> None:
        """Answer when everything is committed, or when the client does not wait any longer."""
        self._response = response
        self._timer = self._parts.loop.call_later(max(timeout_ms, 0) / 1000, self._on_time)

    def _settle(
        self, partition: Partition, required: int, answer: PartitionProduceResponse
    ) -> None:
        # Asked now and not when all are there: by then other records may stand at this offset.
        if self.waiting.pop(id(answer), None) is None:
            return  # The answer has left without it.
        fault = partition.commit_fault(required, acks=self._acks)
        if fault is not None:
            self.failed_any = True
            self._parts.reporter.produce_errors[fault] += 1
            _fail(answer, fault, partition.offline_reason or "the write was not committed here")
        if not self.waiting and self._response is not None:
            self._finish(self._response)

    def _on_time(self) -> None:
        assert self._response is not None
        self._parts.reporter.produce_errors[Error.REQUEST_TIMED_OUT] += len(self.waiting)
        for answer in self.waiting.values():
            _fail(answer, Error.REQUEST_TIMED_OUT, "not committed within the request's timeout")
        self.waiting.clear()
        self._finish(self._response)

    def _finish(self, response: ProduceResponse) -> None:
        if self._timer is not None:
            self._timer.cancel()
        _add_hints(self._parts, self._call, response)
        self._call.reply(response)


def _fail(answer: PartitionProduceResponse, error: Error, message: str) -> None:
    answer.error_code = error
    answer.error_message = message
    answer.base_offset = -1


def _add_hints(parts: Parts, call: Call, response: ProduceResponse) -> None:
    """Tell who leads the partitions that are not led here."""
    if call.version < _HINTS_SINCE:
        return
    leaders = []
    for topic in response.responses:
        for answer in topic.partition_responses:
            if answer.error_code in leader_hints.HINTED:
                name, _ = topic_name(parts.metadata, topic.name, topic.topic_id)
                leader, epoch = leader_hints.leader_of(parts.metadata, name, answer.index)
                answer.current_leader = LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)
                leaders.append(leader)
    response.node_endpoints = [
        NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
        for node in leader_hints.nodes(parts.metadata, call, leaders)
    ]


HANDLER = Handler(
    request=ProduceRequest,
    handle=handle,
    advertised=(0, 13),
    keeps_request=False,  # its records are in the log
    inline_bytes=1 << 20,  # most of them are records, which are not decoded
    portions=Portions(
        "topic_data",
        "responses",
        ("partition_data", "partition_responses"),
        gathered="node_endpoints",
    ),
    unanswered=lambda request: request.acks == 0,
)
