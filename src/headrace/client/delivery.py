"""Sealed batches on their way to their leaders: in order per partition, each exactly once.

Batches wait per partition and travel in requests per leader. A request carries at most one batch of
each partition, as brokers demand, and up to `max_request_bytes`; up to five are under way to a
broker, so that it works while the next are made. An idle broker is sent to at once, a busy one when
a request is full.

What keeps the order when something fails:

- a batch keeps its sequence for ever, so a broker that has it already says so or just agrees;
- when a batch comes back, nothing of its partition leaves until all that was under way has come
  back too; then the failed ones go again, first to last, to whoever leads by then;
- a broker takes any sequence from a producer that it has never heard of, so the first batch of a
  partition travels alone.

The module knows neither transactions nor how batches are made.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple
from uuid import UUID

from headrace.client.cluster import Cluster
from headrace.client.connection import Connection, ConnectionLost, Reply
from headrace.client.faults import BrokerRefused
from headrace.client.retrying import PASSING, Deadline
from headrace.client.transactions import refusal
from headrace.errors import Error, HeadraceError
from headrace.types import ZERO_UUID, TopicPartition
from headrace.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

MAX_IN_FLIGHT: Final = 5
"""Brokers remember the last five batches of a producer to tell a repetition from a gap."""

_DELIVERED: Final = (Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER)


class Batch(NamedTuple):
    """One batch, ready to be sent any number of times."""

    place: TopicPartition
    sealed: bytes
    record_count: int


class _Partition:
    """The batches of one partition, oldest first: under way, come back, still to go."""

    __slots__ = ("is_known", "lane", "place", "returned", "trouble", "under_way", "waiting")

    def __init__(self, place: TopicPartition) -> None:
        self.place = place
        self.lane: _Lane | None = None
        self.waiting: deque[Batch] = deque()
        self.under_way: deque[Batch] = deque()
        self.returned: list[Batch] = []
        self.is_known = False
        self.trouble: Deadline | None = None

    @property
    def may_send(self) -> bool:
        return bool(self.waiting) and not self.returned and (self.is_known or not self.under_way)


class _Request(NamedTuple):
    reply: Reply
    batches: list[Batch]
    topics: dict[UUID, str]


class _Lane:
    """What goes to one broker."""

    __slots__ = ("node", "partitions", "requests", "waiting_bytes")

    def __init__(self, node: int) -> None:
        self.node = node
        self.partitions: dict[TopicPartition, _Partition] = {}
        self.requests: deque[_Request] = deque()
        self.waiting_bytes = 0


class Delivery:
    """Raises what a broker refuses for good; after that only `drop` is of use."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        transactional_id: str | None,
        acks: int,
        max_request_bytes: int,
        admit: Callable[[Collection[TopicPartition]], None],
        last_version: Callable[[], int],
    ) -> None:
        self._cluster = cluster
        self._transactional_id = transactional_id
        self._acks = acks
        self._max_request_bytes = max_request_bytes
        self._admit = admit
        self._last_version = last_version
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._lanes: dict[int, _Lane] = {}

    def add(self, batch: Batch) -> None:
        """Take a batch; may wait for room. The order of calls is the order in the partition."""
        partition = self._partitions.get(batch.place)
        if partition is None:
            partition = self._partitions[batch.place] = _Partition(batch.place)
        lane = partition.lane or self._assign(partition)
        partition.waiting.append(batch)
        lane.waiting_bytes += len(batch.sealed)
        lane.partitions[batch.place] = partition
        while lane.requests and lane.requests[0].reply.is_here():
            self._settle_oldest(lane)
        while lane.waiting_bytes >= self._max_request_bytes or not lane.requests:
            if not self._progress(lane):
                return

    def flush(self) -> None:
        """Return when everything is acknowledged."""
        while True:
            busy = [lane for lane in self._lanes.values() if lane.partitions or lane.requests]
            if not busy:
                return
            # All brokers get something to do before the first is waited for.
            for lane in busy:
                while len(lane.requests) < MAX_IN_FLIGHT and self._send(lane):
                    pass
            for lane in busy:
                if lane.requests:
                    self._settle_oldest(lane)

    def drop(self) -> bool:
        """Forget everything, after waiting for answers so that nothing is on its way any more.

        Returns whether there was something that was not acknowledged.
        """
        had_some = any(
            partition.waiting or partition.under_way or partition.returned
            for partition in self._partitions.values()
        )
        for lane in self._lanes.values():
            for request in lane.requests:
                try:
                    request.reply.result()
                except HeadraceError:
                    break  # The connection is gone, and with it the other answers.
        self._lanes.clear()
        self._partitions.clear()
        return had_some

    def forget_sequences(self) -> None:
        """A new epoch begins: brokers have heard of none of its batches yet."""
        for partition in self._partitions.values():
            partition.is_known = False

    # -- sending ----------------------------------------------------------------------------------

    def _assign(self, partition: _Partition, within: Deadline | None = None) -> _Lane:
        node = self._cluster.route(*partition.place, within=within).leader
        lane = self._lanes.get(node)
        if lane is None:
            lane = self._lanes[node] = _Lane(node)
        partition.lane = lane
        return lane

    def _progress(self, lane: _Lane) -> bool:
        """Send a request, or wait for an answer first; False if there is nothing to do."""
        if len(lane.requests) < MAX_IN_FLIGHT and self._send(lane):
            return True
        if not lane.requests:
            return False
        self._settle_oldest(lane)
        return True

    def _send(self, lane: _Lane) -> bool:
        """Send one request of what may go; False if nothing may."""
        chosen = self._choose(lane)
        if not chosen:
            return False
        if lane.requests and not lane.requests[0].reply.connection.is_open:
            self._lose(lane, ConnectionLost("the connection was lost meanwhile"))
            return True
        self._admit([partition.place for partition in chosen])
        try:
            connection = self._cluster.broker(lane.node)
            batches = [partition.waiting[0] for partition in chosen]
            request = self._request(connection, batches)
        except PASSING as error:
            self._lose(lane, error)
            return True
        lane.requests.append(request)
        for partition in chosen:
            batch = partition.waiting.popleft()
            partition.under_way.append(batch)
            lane.waiting_bytes -= len(batch.sealed)
            if not partition.waiting:
                del lane.partitions[partition.place]
        return True

    def _choose(self, lane: _Lane) -> list[_Partition]:
        chosen: list[_Partition] = []
        room = self._max_request_bytes
        for partition in lane.partitions.values():
            if not partition.may_send:
                continue
            room -= len(partition.waiting[0].sealed)
            if room < 0 and chosen:
                break
            chosen.append(partition)
        for partition in chosen:
            # To the end of the line, so that no partition starves another.
            lane.partitions[partition.place] = lane.partitions.pop(partition.place)
        return chosen

    def _request(self, connection: Connection, batches: list[Batch]) -> _Request:
        topics: defaultdict[str, list[PartitionProduceData]] = defaultdict(list)
        for batch in batches:
            topics[batch.place.topic].append(
                PartitionProduceData(index=batch.place.partition, records=memoryview(batch.sealed))
            )
        ids = {name: self._cluster.topic(name).topic_id for name in topics}
        timeout_ms = self._cluster.settings.request_timeout_ms
        connection.set_timeout(timeout_ms / 1000)
        reply = connection.request(
            ProduceRequest(
                transactional_id=self._transactional_id,
                acks=self._acks,
                timeout_ms=timeout_ms,
                topic_data=[
                    TopicProduceData(name=name, topic_id=ids[name], partition_data=data)
                    for name, data in topics.items()
                ],
            ),
            connection.newest(ProduceRequest, at_most=self._last_version()),
        )
        return _Request(reply, batches, {topic_id: name for name, topic_id in ids.items()})

    # -- answers ----------------------------------------------------------------------------------

    def _settle_oldest(self, lane: _Lane) -> None:
        """Wait for the answer to the oldest request of a lane and draw the consequences."""
        request = lane.requests[0]
        request.reply.connection.set_timeout(self._cluster.settings.request_timeout_ms / 1000)
        try:
            answers = _by_place(request.reply.result(), request.topics)
        except ConnectionLost as error:
            self._lose(lane, error)
            return
        lane.requests.popleft()
        failures = [self._settle(batch, answers.get(batch.place)) for batch in request.batches]
        partitions = [self._partitions[batch.place] for batch in request.batches]
        returned = [partition for partition in partitions if partition.returned]
        failure = next((failure for failure in failures if failure is not None), None)
        if failure is not None:
            self._rest(returned, failure)
        self._send_again(returned)

    def _settle(
        self, batch: Batch, answer: PartitionProduceResponse | None
    ) -> BrokerRefused | None:
        """Note what became of a batch; returns why it must go again, if it must."""
        partition = self._partitions[batch.place]
        what = f"writing {batch.record_count} records ({len(batch.sealed)} bytes) to {batch.place}"
        if answer is None:
            raise BrokerRefused(Error.UNKNOWN_SERVER_ERROR, what, "an answer that leaves it out")
        assert partition.under_way[0] is batch, "answers come in the order of the requests"
        partition.under_way.popleft()
        code = answer.error_code
        if code in _DELIVERED:
            partition.is_known = True
            partition.trouble = None
            return None
        if code == Error.OUT_OF_ORDER_SEQUENCE_NUMBER and partition.returned:
            partition.returned.append(batch)  # It followed one that failed; no fault of its own.
            return None
        failure = refusal(code, what, answer.error_message)
        if isinstance(failure, BrokerRefused) and failure.error.retriable:
            partition.returned.append(batch)
            return failure
        raise failure

    def _lose(self, lane: _Lane, error: HeadraceError) -> None:
        """A connection broke: all that was under way on it may or may not have arrived."""
        requests, lane.requests = lane.requests, deque()
        touched = dict(lane.partitions)
        for request in requests:
            for batch in request.batches:
                partition = self._partitions[batch.place]
                partition.under_way.popleft()
                partition.returned.append(batch)
                touched[batch.place] = partition
        self._rest(touched.values(), error)
        self._send_again(touched.values())

    def _rest(self, partitions: Collection[_Partition], error: HeadraceError) -> None:
        """Pause before the next attempt, or raise if one of these has failed for too long."""
        deadlines = []
        for partition in partitions:
            self._cluster.forget(partition.place.topic)
            if partition.trouble is None:
                partition.trouble = self._cluster.deadline(f"writing to {partition.place}")
            deadlines.append(partition.trouble)
        if deadlines:
            min(deadlines, key=lambda deadline: deadline.left_s).rest(error)

    def _send_again(self, partitions: Iterable[_Partition]) -> None:
        """Put what came back in front of what waits, and both before whoever leads by now.

        A partition of which something is still under way is left for later.
        """
        for partition in partitions:
            if partition.under_way:
                continue
            before = partition.lane
            assert before is not None
            if before.partitions.pop(partition.place, None) is not None:
                before.waiting_bytes -= _bytes_of(partition.waiting)
            partition.waiting.extendleft(reversed(partition.returned))
            partition.returned.clear()
            if partition.waiting:
                lane = self._assign(partition, partition.trouble)
                lane.partitions[partition.place] = partition
                lane.waiting_bytes += _bytes_of(partition.waiting)


def _by_place(
    response: ProduceResponse, names: dict[UUID, str]
) -> dict[TopicPartition, PartitionProduceResponse]:
    answers = {}
    for topic in response.responses:
        name = topic.name if topic.topic_id == ZERO_UUID else names.get(topic.topic_id, "")
        for answer in topic.partition_responses:
            answers[TopicPartition(name, answer.index)] = answer
    return answers


def _bytes_of(batches: Iterable[Batch]) -> int:
    return sum(len(batch.sealed) for batch in batches)
