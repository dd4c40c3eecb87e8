"""One consumer of librdkafka for one HTTP client. Every method blocks, one thread at a time.

An instance is idle, subscribed (to topics or a pattern) or assigned; the kinds exclude each other,
as in Java's consumer. Records that were fetched but did not fit into an answer wait in `_waiting`;
only what an answer contains counts as read, for commits too.

A record that cannot be shown in the instance's format stops reading where it stands: an answer ends
before it, and the next read fails with its place, until the client seeks past it.
"""

from __future__ import annotations

import enum
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from headrace.errors import Error
from headrace.rest import errors
from headrace.rest.consumers.options import Options
from headrace.rest.formats import (
    ConsumedRecord,
    Header,
    Render,
)
from headrace.rest.kafka_faults import rest_error
from headrace.schemas.framing import KEY_SCHEMA_ID_HEADER, VALUE_SCHEMA_ID_HEADER
from headrace.schemas.model import InvalidValue

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

T = TypeVar("T")
BATCH: Final = 500
SLICE_S: Final = 0.1
"""A read looks this often whether its instance is being closed."""
MORE_S: Final = 0.02
"""How long a read that has something waits for more."""
_METADATA_S: Final = 10.0

_STATE: Final = -172
_PARTITION_EOF: Final = -191
_INVALID_ARG: Final = -186
_NO_POSITION: Final = (-168, -140)
"""There is no committed offset, or it is out of range, and auto.offset.reset is none."""
# What a consumer reports and mends by itself, or what may come to exist while it waits.
_HARMLESS: Final = frozenset(
    {_PARTITION_EOF, -195, -187, -185, -147, int(Error.UNKNOWN_TOPIC_OR_PARTITION)}
)
_EXCLUSIVE: Final = "Subscription to topics, partitions and pattern are mutually exclusive"


class Kind(enum.Enum):
    """Where the partitions of an instance come from."""

    IDLE = enum.auto()
    TOPICS = enum.auto()
    PATTERN = enum.auto()
    PARTITIONS = enum.auto()


class Place(NamedTuple):
    """A partition and an offset in it, with the note that a commit may carry."""

    topic: str
    partition: int
    offset: int
    metadata: str | None = None


class ConsumerInstance:
    """Made by the manager; `close` leaves the group."""

    def __init__(self, consumer: Consumer, options: Options, render: Render) -> None:
        self.options = options
        self.is_closing = False
        self._consumer = consumer
        self._render = render
        self._kind = Kind.IDLE
        self._topics: list[str] = []
        self._waiting: deque[Message] = deque()
        self._read_to: dict[tuple[str, int], int] = {}

    # -- where to read ----------------------------------------------------------------------------

    def subscribe(self, topics: Sequence[str]) -> None:
        self._become(Kind.TOPICS)
        self._topics = list(dict.fromkeys(topics))
        self._call(self._subscribe, self._topics)

    def subscribe_pattern(self, pattern: str) -> None:
        self._become(Kind.PATTERN)
        # Java matches whole names; librdkafka searches, and knows a pattern by its first sign.
        self._call(self._subscribe, [f"^({pattern.removeprefix('^').removesuffix('$')})$"])

    def _subscribe(self, topics: list[str]) -> None:
        self._consumer.subscribe(topics, on_revoke=self._on_revoke, on_lost=self._on_revoke)

    def unsubscribe(self) -> None:
        self._call(self._consumer.unsubscribe)
        self._kind, self._topics = Kind.IDLE, []
        self._waiting.clear()
        self._read_to.clear()

    def subscription(self) -> list[str]:
        """The topics; with a pattern those that it has found so far."""
        if self._kind is Kind.PATTERN:
            return sorted({topic for topic, _ in self.assignment()})
        return self._topics

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        from confluent_kafka import TopicPartition

        self._become(Kind.PARTITIONS)
        chosen = [TopicPartition(*each) for each in dict.fromkeys(partitions)]
        self._call(self._consumer.assign, chosen)
        self._forget((each.topic, each.partition) for each in self._known_partitions())

    def assignment(self) -> list[tuple[str, int]]:
        found = self._call(self._consumer.assignment)
        return sorted((each.topic, each.partition) for each in found)

    def _known_partitions(self) -> list[Any]:
        found: list[Any] = self._call(self._consumer.assignment)
        return found

    def _become(self, kind: Kind) -> None:
        if self._kind not in (Kind.IDLE, kind):
            raise errors.illegal_state(_EXCLUSIVE)
        self._kind = kind

    def _on_revoke(self, consumer: Consumer, partitions: list[Any]) -> None:
        self._forget((each.topic, each.partition) for each in partitions)

    def _forget(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Records of these partitions that nobody has seen are no longer this instance's."""
        gone = set(partitions)
        kept = [each for each in self._waiting if (each.topic(), each.partition()) not in gone]
        self._waiting = deque(kept)
        for place in gone:
            self._read_to.pop(place, None)

    # -- positions --------------------------------------------------------------------------------

    def seek(self, places: Sequence[Place]) -> None:
        from confluent_kafka import TopicPartition

        self._check_assigned((place.topic, place.partition) for place in places)
        for place in places:
            self._seek(TopicPartition(place.topic, place.partition, place.offset))

    def seek_to_times(self, times: Sequence[tuple[str, int, int]]) -> None:
        """Seek to the first record at or after a time (ms), or to the end if there is none."""
        from confluent_kafka import OFFSET_END, TopicPartition

        self._check_assigned((topic, partition) for topic, partition, _ in times)
        wanted = [TopicPartition(*each) for each in times]
        if not wanted:
            return
        for found in self._call(self._consumer.offsets_for_times, wanted, _METADATA_S):
            offset = found.offset if found.offset >= 0 else OFFSET_END
            self._seek(TopicPartition(found.topic, found.partition, offset))

    def _check_assigned(self, partitions: Iterable[tuple[str, int]]) -> None:
        assigned = set(self.assignment())
        for topic, partition in partitions:
            if (topic, partition) not in assigned:
                raise errors.illegal_state(
                    f"No current assignment for partition {topic}-{partition}"
                )

    def _seek(self, target: Any) -> None:
        from confluent_kafka import KafkaException

        try:
            self._consumer.seek(target)
        except KafkaException as error:
            # librdkafka does not seek where it does not fetch yet, or no longer.
            if error.args[0].code() != _STATE:
                raise rest_error(error.args[0]) from None
            self._call(self._assign_again, target)
        self._forget([(target.topic, target.partition)])

    def _assign_again(self, target: Any) -> None:
        """The same partitions, this one from the target on, the others from where they are."""
        where = (target.topic, target.partition)
        others = [
            each
            for each in self._consumer.position(self._consumer.assignment())
            if (each.topic, each.partition) != where
        ]
        self._consumer.assign([target, *others])

    def commit(self, places: Sequence[Place] | None, *, wait: bool) -> dict[tuple[str, int], int]:
        """Commit these offsets, or all that was read; what was committed by partition."""
        from confluent_kafka import TopicPartition

        if places is None:
            places = [Place(*where, offset) for where, offset in self._read_to.items()]
        if not places:
            return {}
        offsets = [
            TopicPartition(
                place.topic, place.partition, place.offset, metadata=place.metadata or ""
            )
            for place in places
        ]
        if wait:
            for each in self._call(
                lambda: self._consumer.commit(offsets=offsets, asynchronous=False)
            ):
                if each.error is not None:
                    raise rest_error(each.error)
        else:
            self._call(lambda: self._consumer.commit(offsets=offsets, asynchronous=True))
        return {(place.topic, place.partition): place.offset for place in places}

    def committed(self, partitions: Sequence[tuple[str, int]]) -> list[Place]:
        """The group's offsets for these partitions; one without an offset is left out."""
        from confluent_kafka import TopicPartition

        wanted = [TopicPartition(*each) for each in partitions]
        if not wanted:
            return []
        found = self._call(self._consumer.committed, wanted, _METADATA_S)
        for each in found:
            if each.error is not None:
                raise rest_error(each.error)
        return [
            Place(each.topic, each.partition, each.offset, each.metadata or "")
            for each in found
            if each.offset >= 0
        ]

    # -- reading ----------------------------------------------------------------------------------

    def read(
        self, timeout_ms: int, max_bytes: int, *, with_headers: bool = False
    ) -> list[ConsumedRecord]:
        """Records as they come: at least one if any comes in time, at most so many bytes."""
        if self._kind is Kind.IDLE:
            raise errors.illegal_state(
                "Consumer is not subscribed to any topics or assigned any partitions"
            )
        deadline = time.monotonic() + timeout_ms / 1000
        least = self.options.fetch_min_bytes
        records: list[ConsumedRecord] = []
        size = 0
        while True:
            while self._waiting:
                message = self._waiting[0]
                length = _length(message)
                if records and size + length > max_bytes:
                    return records
                record = self._shown(message, with_headers, is_first=not records)
                if record is None:
                    return records
                self._waiting.popleft()
                self._has_read(message)
                records.append(record)
                size += length
            left_s = deadline - time.monotonic()
            if self.is_closing or (left_s <= 0 and not self._fetch(0)):
                return records
            enough = size > 0 and size >= least
            if (
                left_s > 0
                and not self._fetch(min(left_s, MORE_S if enough else SLICE_S))
                and enough
            ):
                return records

    def _fetch(self, timeout_s: float) -> bool:
        """Whether records came."""
        for message in self._call(self._consumer.consume, BATCH, timeout_s):
            error = message.error()
            if error is None:
                self._waiting.append(message)
            elif error.code() in _NO_POSITION:
                raise errors.illegal_state(
                    f"Undefined offset with no reset policy for partitions: {error.str()}"
                )
            elif error.fatal() or error.code() not in _HARMLESS:
                raise rest_error(error)
        return bool(self._waiting)

    def _shown(
        self, message: Message, with_headers: bool, *, is_first: bool
    ) -> ConsumedRecord | None:
        """The record as JSON will have it; None if it is at fault and others go before it."""
        headers: Any = message.headers() or []
        named = {name: value for name, value in headers if name.startswith("__")}
        key, value = message.key(), message.value()
        try:
            shown = (
                str(message.topic()),
                None if key is None else self._render(key, named.get(KEY_SCHEMA_ID_HEADER)),
                None if value is None else self._render(value, named.get(VALUE_SCHEMA_ID_HEADER)),
                int(message.partition() or 0),
                int(message.offset() or 0),
            )
        except InvalidValue as error:
            if not is_first:
                return None
            where = f"{message.topic()}-{message.partition()} at offset {message.offset()}"
            raise errors.deserialization_failed(
                f"{where}: {error}; seek past this offset to go on"
            ) from None
        if not with_headers:
            return ConsumedRecord(*shown)
        kind, timestamp = message.timestamp()
        return ConsumedRecord(
            *shown,
            [Header(name, value) for name, value in headers],
            timestamp if kind else None,
        )

    def _has_read(self, message: Message) -> None:
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None
        assert partition is not None
        assert offset is not None
        self._read_to[topic, partition] = offset + 1
        self._call(lambda: self._consumer.store_offsets(message))

    def close(self) -> None:
        """Leave the group; with automatic commits what was read is committed."""
        self._call(self._consumer.close)

    def _call(self, call: Callable[..., T], *arguments: Any) -> T:
        """Call librdkafka; what it refuses becomes an error of the API."""
        from confluent_kafka import KafkaException

        try:
            return call(*arguments)
        except KafkaException as error:
            if error.args[0].code() == _INVALID_ARG:
                raise errors.invalid_field(error.args[0].str()) from None
            raise rest_error(error.args[0]) from None


def _length(message: Message) -> int:
    return len(message.key() or b"") + len(message.value() or b"")
