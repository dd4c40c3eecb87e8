"""Programs that only a cluster has: producers of every kind of care, and readers that follow.

A value says who wrote it and which one it is, so that a story can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Protocol

from headrace.errors import Error
from headrace.records.builder import BatchBuilder
from headrace.types import TopicPartition
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.simulation.processes import Ask, Life, Sleep, Steps
from tests.simulation.producers import DATA, first_error

_PAUSE_MS: Final = 120
_IN_FLIGHT: Final = 5
_PRODUCE_VERSION: Final = 11
_FETCH_VERSION: Final = 12  # the last one that names topics
_FETCH_BYTES: Final = 1 << 16

_BEGIN_ANEW: Final = (
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    Error.UNKNOWN_PRODUCER_ID,
    Error.INVALID_PRODUCER_EPOCH,
)


class Surroundings(Protocol):
    """What these programs know of the world."""

    rng: Random

    @property
    def now_ms(self) -> int: ...

    @property
    def is_closing(self) -> bool: ...

    def partitions(self, topic: str) -> list[TopicPartition]: ...

    def written(self, where: TopicPartition, value: bytes) -> None: ...

    def may_lose(self, where: TopicPartition) -> bool:
        """Whether records of this partition were lost, and might be."""

    def holds(self, where: TopicPartition, batch: bytes) -> bool:
        """Whether a producer's batch is committed."""


def produce_request(where: TopicPartition, batch: bytes, acks: int) -> ProduceRequest:
    data = PartitionProduceData(index=where.partition, records=memoryview(batch))
    return ProduceRequest(
        transactional_id=None,
        acks=acks,
        timeout_ms=3_000,
        topic_data=[TopicProduceData(name=where.topic, partition_data=[data])],
    )


def write_plainly(world: Surroundings, name: str, topic: str, acks: int, pause_ms: int) -> Life:
    """Without idempotence: what was not answered is written again, perhaps twice."""
    number = 0
    while not world.is_closing:
        partitions = world.partitions(topic)
        if partitions:
            number += 1
            where = world.rng.choice(partitions)
            builder = BatchBuilder()
            builder.append(None, b"%s:%d" % (name.encode(), number), world.now_ms)
            request = produce_request(where, builder.build(), acks)
            for _ in range(4):
                answer = yield Ask(DATA, request, _PRODUCE_VERSION, 3_500)
                if answer is not None and not first_error(answer):
                    break
                yield Sleep(_PAUSE_MS)
        yield Sleep(world.rng.randrange(pause_ms))


@dataclass(slots=True)
class _Stream:
    """What one idempotent producer writes to one partition."""

    where: TopicPartition
    producer_id: int
    epoch: int
    next_sequence: int = 0
    is_known: bool = False  # something of it was acknowledged
    unanswered: list[tuple[bytes, bytes]] = field(default_factory=list)  # value, batch


class CarefulProducer:
    """Idempotent, with up to five batches of a partition under way; every value exactly once.

    What is not acknowledged is sent again, as it was, until it is. A partition that has lost what
    it might lose gets another producer id, because its sequence has a hole. A log that was closed
    in order knows only the last batch of a producer when it is opened again (so is Kafka's
    format of snapshots), and refuses earlier ones that it has: a client cannot tell, so it is told.
    """

    def __init__(
        self, world: Surroundings, name: str, topic: str, count: int, pause_ms: int
    ) -> None:
        self._world = world
        self._name = name.encode()
        self._topic = topic
        self._count = count
        self._pause_ms = pause_ms
        self._streams: dict[TopicPartition, _Stream] = {}

    def life(self) -> Life:
        world = self._world
        written = 0
        while written < self._count:
            partitions = world.partitions(self._topic)
            if not partitions:
                yield Sleep(_PAUSE_MS)
                continue
            where = world.rng.choice(partitions)
            stream = self._streams.get(where)
            if stream is None:
                stream = self._streams[where] = yield from self._begin(where)
            for _ in range(world.rng.randint(1, _IN_FLIGHT)):
                written += 1
                self._add(stream, b"%s:%d" % (self._name, written))
            yield from self._send(stream)
            yield Sleep(world.rng.randrange(self._pause_ms))

    def _begin(self, where: TopicPartition) -> Steps:
        while True:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
            answer = yield Ask("init", request, 4)
            if answer is not None and not answer.error_code:
                return _Stream(where, answer.producer_id, answer.producer_epoch)
            yield Sleep(_PAUSE_MS)

    def _add(self, stream: _Stream, value: bytes) -> None:
        builder = BatchBuilder(
            producer_id=stream.producer_id,
            producer_epoch=stream.epoch,
            base_sequence=stream.next_sequence,
        )
        builder.append(None, value, self._world.now_ms)
        stream.next_sequence += 1
        stream.unanswered.append((value, builder.build()))

    def _send(self, stream: _Stream) -> Steps:
        """Send until everything is acknowledged."""
        refused = 0
        while stream.unanswered:
            if not self._world.partitions(stream.where.topic):
                return  # deleted
            # A log takes any sequence of a producer that it does not know: if it could refuse the
            # first batch and take the second, they would be out of order. So the first goes alone.
            count = len(stream.unanswered) if stream.is_known else 1
            asks = [
                Ask(DATA, produce_request(stream.where, batch, -1), _PRODUCE_VERSION, 3_500)
                for _, batch in stream.unanswered[:count]
            ]
            answers = yield asks
            errors = [first_error(answer) for answer in answers]
            left = stream.unanswered[count:]
            for (value, batch), error in zip(
                reversed(stream.unanswered[:count]), reversed(errors), strict=True
            ):
                if error:
                    left.insert(0, (value, batch))
                else:
                    stream.is_known = True
                    self._world.written(stream.where, value)
            is_first_refused = bool(left) and errors[0] in _BEGIN_ANEW
            refused = refused + 1 if is_first_refused else 0
            stream.unanswered = left
            if refused > 2:
                refused = 0
                if self._world.may_lose(stream.where):
                    yield from self._begin_anew(stream)
                else:
                    stream.unanswered = [
                        each for each in left if not self._world.holds(stream.where, each[1])
                    ]
            if left:
                yield Sleep(_PAUSE_MS)

    def _begin_anew(self, stream: _Stream) -> Steps:
        values = [value for value, _ in stream.unanswered]
        fresh: _Stream = yield from self._begin(stream.where)
        stream.producer_id, stream.epoch, stream.next_sequence = fresh.producer_id, fresh.epoch, 0
        stream.is_known = False
        stream.unanswered = []
        for value in values:
            self._add(stream, value)


def fetch_request(where: TopicPartition, offset: int, *, committed_only: bool) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_FETCH_BYTES,
        isolation_level=int(committed_only),
        topics=[
            FetchTopic(
                topic=where.topic,
                partitions=[
                    FetchPartition(
                        partition=where.partition,
                        fetch_offset=offset,
                        partition_max_bytes=_FETCH_BYTES,
                    )
                ],
            )
        ],
    )


def follow(
    world: Surroundings,
    topic: str,
    *,
    committed_only: bool,
    pause_ms: int,
    end_of: Callable[[Any], tuple[int, int]],
) -> Life:
    """Read every partition of a topic from its beginning; the witness judges what is answered."""
    positions: dict[TopicPartition, int] = {}
    while not world.is_closing:
        for where in world.partitions(topic):
            position = positions.setdefault(where, 0)
            request = fetch_request(where, position, committed_only=committed_only)
            answer = yield Ask("reads", request, _FETCH_VERSION)
            if answer is None:
                continue
            error, end = end_of(answer)
            if error == Error.OFFSET_OUT_OF_RANGE:
                positions[where] = 0
            elif not error and end > position:
                positions[where] = end
        yield Sleep(world.rng.randrange(pause_ms, 2 * pause_ms))
