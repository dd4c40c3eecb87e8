"""One producer of librdkafka for all requests, bridged to the event loop.

Records of a request enter the producer's queue in their order. While any is under way the loop
itself polls, once a millisecond, and what was delivered meanwhile settles its requests in one go: a
thread that polls would fight the loop for the interpreter with every record. A full queue pushes
back: a request waits a moment for room and is then refused. What the bytes mean is not known here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from headrace.errors import ConfigError, Error
from headrace.rest import errors
from headrace.rest.kafka_faults import produce_code
from headrace.rest.names import is_topic_name

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

logger = logging.getLogger("kafkarest.producer")

ANY_PARTITION: Final = -1
PATIENCE_S: Final = 1.0
"""How long a request waits for room in a full queue."""
_PAUSE_S: Final = 0.01
_TICK_S: Final = 0.001
_PURGE_POLLS: Final = 50
_TURN: Final = 500
"""After so many records other requests get their turn."""

Headers = Sequence[tuple[str, bytes | None]]


class OutRecord(NamedTuple):
    """A record to send; without a partition the key chooses, without a timestamp the clock."""

    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers | None = None
    timestamp: int | None = None


class Produced(NamedTuple):
    """Where a record is now; the timestamp is the log's."""

    partition: int
    offset: int
    timestamp: int


class ProduceFault(NamedTuple):
    """Why a record is not in the log: the API's code, librdkafka's (negative: its own), words."""

    error_code: int
    kafka_code: int
    message: str


Outcome = Produced | ProduceFault


class _Request:
    """The outcomes of one request, complete when none is missing."""

    __slots__ = ("done", "missing", "outcomes")

    def __init__(self, count: int, done: asyncio.Future[None]) -> None:
        self.outcomes: list[Outcome | None] = [None] * count
        self.missing = count
        self.done = done

    def settle(self, index: int, outcome: Outcome) -> None:
        self.outcomes[index] = outcome
        self.missing -= 1
        if not self.missing and not self.done.done():
            self.done.set_result(None)


class SharedProducer:
    """Opened with the first request; `close` waits for what is under way."""

    def __init__(self, properties: dict[str, Any]) -> None:
        self._properties = properties
        self._producer: Producer | None = None
        self._is_broken = False
        self._under_way = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    async def send(self, topic: str, records: Sequence[OutRecord]) -> list[Outcome]:
        """Send records of one request; an outcome for each, in their order."""
        if not is_topic_name(topic):
            # librdkafka would ask the brokers, and call it unknown if it has asked before.
            code = Error.INVALID_TOPIC_EXCEPTION
            fault = ProduceFault(produce_code(code), code, f"'{topic}' is not a name of a topic")
            return [fault for _ in records]
        request = _Request(len(records), asyncio.get_running_loop().create_future())
        waited_s = 0.0
        index = 0
        while index < len(records):
            try:
                self._enqueue(topic, records[index], request, index)
            except BufferError:
                waited_s += _PAUSE_S
                if waited_s > PATIENCE_S:
                    self._refuse(request, index)
                    break
                await asyncio.sleep(_PAUSE_S)
                continue
            index += 1
            if index % _TURN == 0:
                await asyncio.sleep(0)
        if request.missing:
            await request.done
        return [outcome for outcome in request.outcomes if outcome is not None]

    def _enqueue(self, topic: str, record: OutRecord, request: _Request, index: int) -> None:
        from confluent_kafka import KafkaException

        producer = self._producer or self._open()
        extras: dict[str, Any] = {}
        if record.headers:
            extras["headers"] = list(record.headers)
        if record.timestamp is not None:
            extras["timestamp"] = record.timestamp
        try:
            producer.produce(
                topic,
                record.value,
                record.key,
                ANY_PARTITION if record.partition is None else record.partition,
                on_delivery=partial(self._on_delivery, request, index),
                **extras,
            )
        except KafkaException as error:
            request.settle(index, self._fault(error.args[0]))
            return
        self._under_way += 1
        if self._is_idle.is_set():
            self._is_idle.clear()
            asyncio.get_running_loop().call_later(_TICK_S, self._tick)

    @staticmethod
    def _refuse(request: _Request, first: int) -> None:
        """Give up the records from here on, or the request if none of them is on its way."""
        reason = "The queue of records for Kafka is full: send again later"
        if first == 0:
            raise errors.too_many_requests(reason)
        for index in range(first, len(request.outcomes)):
            request.settle(index, ProduceFault(errors.KAFKA_RETRIABLE_ERROR, 0, reason))

    def _open(self) -> Producer:
        from confluent_kafka import KafkaException, Producer

        try:
            self._producer = Producer(self._properties)
        except KafkaException as error:
            raise ConfigError(f"producer.*: {error.args[0].str()}") from None
        return self._producer

    def _tick(self) -> None:
        """Hear of deliveries, and come back as long as there are more to hear of."""
        assert self._producer is not None
        self._producer.poll(0)
        if self._is_broken:
            self._replace()
        if self._under_way:
            asyncio.get_running_loop().call_later(_TICK_S, self._tick)
        else:
            self._is_idle.set()

    def _replace(self) -> None:
        """An idempotent producer does not survive a fatal error: begin with a new one."""
        broken, self._producer = self._producer, None
        self._is_broken = False
        logger.error("the producer had a fatal error and is replaced")
        assert broken is not None
        broken.purge()
        for _ in range(_PURGE_POLLS):
            if not len(broken):
                break
            broken.poll(_PAUSE_S)
        self._under_way = 0

    def _on_delivery(
        self, request: _Request, index: int, error: KafkaError | None, message: Message
    ) -> None:
        self._under_way -= 1
        if error is not None:
            request.settle(index, self._fault(error))
            return
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        settled = Produced(partition, -1 if offset is None else offset, message.timestamp()[1])
        request.settle(index, settled)

    def _fault(self, error: KafkaError) -> ProduceFault:
        if error.fatal():
            self._is_broken = True
        return ProduceFault(produce_code(error.code()), error.code(), error.str())

    async def close(self, timeout_s: float = 5.0) -> None:
        """Wait for what is under way."""
        try:
            await asyncio.wait_for(self._is_idle.wait(), timeout_s)
        except TimeoutError:
            logger.warning("%d records were not delivered before the end", self._under_way)
