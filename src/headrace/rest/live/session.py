"""A client that reads on and on: one consumer of librdkafka on a thread, events for the loop.

Records cross to the loop only when they were asked for (`want`), so a reader that is slow holds one
batch and what librdkafka may queue, no more. While nothing is wanted the partitions are paused and
the thread goes on polling: a member of a group keeps its place and takes part in rebalances.

`close` may be called at any time and from any thread; the thread then commits what it was told to,
leaves the group and ends. Nothing here knows how events travel to the client.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from headrace.client.registry.faults import RegistryUnreachable
from headrace.rest.errors import KAFKA_ERROR, RestError
from headrace.rest.live.showing import Formats, ReadRecord, Showing
from headrace.rest.v3 import faults

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

logger = logging.getLogger("kafkarest.live")

MAX_BATCH: Final = 500
POLL_S: Final = 0.1
COMMIT_EVERY_S: Final = 0.5


class Subscription(NamedTuple):
    """What to read, from where, and as whom.

    Without a group `starts` has every partition. With one the group decides what is read, `reset`
    counts where it has no offset yet, and `starts` overrule both.
    """

    topic: str
    group: str | None
    reset: str
    starts: Mapping[int, int]
    formats: Formats
    isolation_level: str


class LiveRecord(NamedTuple):
    """A record as JSON, with its place."""

    partition: int
    offset: int
    shown: bytes


class Assigned(NamedTuple):
    """The partitions that this reader has from now on."""

    partitions: tuple[int, ...]


Event = list[LiveRecord] | Assigned | RestError
"""Records that were wanted; a new assignment; or why the session is over."""


class Session:
    """Start it in an event loop; take `events` there."""

    def __init__(
        self, properties: Mapping[str, Any], subscription: Subscription, showing: Showing
    ) -> None:
        self.events: asyncio.Queue[Event] = asyncio.Queue()
        self.has_ended = threading.Event()
        self._subscription = subscription
        self._showing = showing
        self._properties = {
            **properties,
            "group.id": subscription.group or f"headrace-live-{uuid.uuid4()}",
            "auto.offset.reset": subscription.reset,
        }
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._wanted = 0
        self._to_commit: dict[int, int] = {}
        self._closing = False
        self._is_paused = False
        self._is_incremental = _assigns_by_difference(properties)
        self._starts = dict(subscription.starts)
        self._assigned: set[int] = set()
        self._held: list[Message] = []
        self._committed_at = time.monotonic()

    # -- from the loop ----------------------------------------------------------------------------

    def start(self, on_end: Callable[[Session], None]) -> None:
        """Begin to read; `on_end` is called in the loop when everything is released."""
        name = f"rest-live-{self._subscription.topic}"[:40]
        threading.Thread(target=self._run, args=(on_end,), name=name, daemon=True).start()

    def want(self, records: int) -> None:
        """Ask for up to so many records; they come as one event, after which none is wanted."""
        with self._changed:
            self._wanted = min(records, MAX_BATCH)
            self._changed.notify()

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Commit these positions (the next offsets to read) soon."""
        with self._changed:
            self._to_commit.update(offsets)
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()

    # -- the thread -------------------------------------------------------------------------------

    def _run(self, on_end: Callable[[Session], None]) -> None:
        from confluent_kafka import Consumer, KafkaException

        consumer: Consumer | None = None
        try:
            consumer = Consumer(self._properties)
            self._begin(consumer)
            while not self._closing:
                self._step(consumer)
        except KafkaException as error:
            cause = error.args[0]
            self._tell(faults.of_librdkafka(cause.code(), cause.str()))
        except RegistryUnreachable as error:
            self._tell(RestError(503, 50302, str(error)))
        except Exception:
            # Whatever it was: the client must be told, and the consumer released.
            logger.exception("a live session failed")
            self._tell(RestError(500, KAFKA_ERROR, "the session failed: see the log"))
        finally:
            if consumer is not None:
                self._end(consumer)
            # Whoever still listens, because it was not he who closed, hears that it is over.
            self._tell(RestError(503, faults.BROKER_NOT_AVAILABLE, "this instance is closing"))
            self.has_ended.set()
            self._call(on_end, self)

    def _begin(self, consumer: Consumer) -> None:
        from confluent_kafka import TopicPartition

        asked = self._subscription
        if asked.group is not None:
            consumer.subscribe([asked.topic], on_assign=self._on_assign, on_revoke=self._on_revoke)
            return
        consumer.assign(
            [TopicPartition(asked.topic, number, at) for number, at in asked.starts.items()]
        )
        self._tell(Assigned(tuple(sorted(asked.starts))))

    def _on_assign(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        # Unless it is called here, librdkafka's `assign` follows by itself.
        if any(place.partition in self._starts for place in places):
            for place in places:
                # Once only: after a rebalance the group's own offsets are newer.
                place.offset = self._starts.pop(place.partition, place.offset)
            (consumer.incremental_assign if self._is_incremental else consumer.assign)(places)
        self._is_paused = False
        self._assigned |= {place.partition for place in places}
        self._tell(Assigned(tuple(sorted(self._assigned))))

    def _on_revoke(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._commit(consumer, wait=True)
        self._assigned -= {place.partition for place in places}
        self._held = [each for each in self._held if each.partition() in self._assigned]
        self._tell(Assigned(tuple(sorted(self._assigned))))

    def _step(self, consumer: Consumer) -> None:
        """One turn: commits that wait, then records if they are wanted, else only the group."""
        with self._changed:
            if not self._wanted and not self._closing:
                self._changed.wait(POLL_S)
            wanted = self._wanted
        if time.monotonic() - self._committed_at > COMMIT_EVERY_S:
            self._commit(consumer)
        if not wanted:
            self._pause(consumer)
            self._keep(consumer.poll(0))
            return
        self._resume(consumer)
        if not self._held:
            self._keep(consumer.poll(POLL_S))
        if not self._held:
            return
        if wanted > len(self._held):
            for message in consumer.consume(wanted - len(self._held), 0):
                self._keep(message)
        batch, self._held = self._held[:wanted], self._held[wanted:]
        with self._changed:
            self._wanted = 0
        self._tell([self._shown(message) for message in batch])

    def _keep(self, message: Message | None) -> None:
        from confluent_kafka import KafkaException

        if message is None:
            return
        error: KafkaError | None = message.error()
        if error is None:
            self._held.append(message)
        elif error.fatal() or (not error.retriable() and error.code() not in _PASSING):
            raise KafkaException(error)

    def _pause(self, consumer: Consumer) -> None:
        if not self._is_paused:
            consumer.pause(consumer.assignment())
            self._is_paused = True

    def _resume(self, consumer: Consumer) -> None:
        if self._is_paused:
            consumer.resume(consumer.assignment())
            self._is_paused = False

    def _shown(self, message: Message) -> LiveRecord:
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        record = ReadRecord(
            partition,
            offset,
            message.timestamp()[1],
            _bytes(message.key()),
            _bytes(message.value()),
            _headers(message),
        )
        return LiveRecord(partition, offset, self._showing.show(record))

    def _commit(self, consumer: Consumer, *, wait: bool = False) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        self._committed_at = time.monotonic()
        with self._changed:
            offsets, self._to_commit = self._to_commit, {}
        if not offsets or self._subscription.group is None:
            return
        topic = self._subscription.topic
        places = [TopicPartition(topic, partition, at) for partition, at in offsets.items()]
        try:
            if wait:
                consumer.commit(offsets=places, asynchronous=False)
            else:
                consumer.commit(offsets=places, asynchronous=True)
        except KafkaException as error:
            # The partitions may be another member's by now, who reads these records again.
            logger.warning("offsets of %s are not committed: %s", self._subscription.group, error)

    def _end(self, consumer: Consumer) -> None:
        try:
            self._commit(consumer, wait=True)
        finally:
            consumer.close()

    def _tell(self, event: Event) -> None:
        self._call(self.events.put_nowait, event)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            # The loop has ended before this thread: nobody is left to be told.
            pass


_PASSING: Final = frozenset({-195, -187, -193, -185, -191})
"""Lost or silent brokers, addresses that do not resolve for now: librdkafka goes on by itself."""


def _assigns_by_difference(properties: Mapping[str, Any]) -> bool:
    """Whether rebalances only say what changes (KIP-429, KIP-848)."""
    strategy = str(properties.get("partition.assignment.strategy", ""))
    return "cooperative" in strategy or properties.get("group.protocol") == "consumer"


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    headers: Any = message.headers() or ()
    return [(name, _bytes(value)) for name, value in headers]


def _bytes(data: Any) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    return str(data).encode()
