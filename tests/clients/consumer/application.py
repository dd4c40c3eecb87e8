"""Consumers in groups as applications write them, with confluent-kafka; every wait has an end.

A `Member` keeps what its callbacks and polls brought, so that a test can let several take turns
and then look. `settled` waits for an event by polling all of them, as their applications would.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

TIMEOUT_SECONDS = 30
TURN_SECONDS = 0.02
Partition = tuple[str, int]


class Member:
    """A consumer with what happened to it.

    Settings have `_` for `.`, as in `fetch_min_bytes=1`; None leaves one to the client.
    """

    def __init__(self, bootstrap: str, group: str, **settings: Any) -> None:
        wanted = {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 50,
            "topic.metadata.refresh.interval.ms": 200,
            **dotted(settings),
        }
        # Members of the new protocol are told by the broker how often to send a sign of life.
        if wanted.get("group.protocol", "classic") == "classic":
            wanted = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 100, **wanted}
        self.consumer = Consumer({key: each for key, each in wanted.items() if each is not None})
        self.messages: list[Message] = []
        self.faults: list[KafkaException] = []
        self.events: list[tuple[str, list[Partition]]] = []
        self.open = True
        self.subscribed = False

    def subscribe(self, *topics: str, on_revoke: Callable[[Consumer], None] | None = None) -> None:
        def assigned(_: Consumer, partitions: list[TopicPartition]) -> None:
            self.events.append(("assigned", pairs(partitions)))

        def revoked(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            self.events.append(("revoked", pairs(partitions)))
            if on_revoke is not None:
                on_revoke(consumer)

        def lost(_: Consumer, partitions: list[TopicPartition]) -> None:
            self.events.append(("lost", pairs(partitions)))

        self.subscribed = True
        self.consumer.subscribe(list(topics), on_assign=assigned, on_revoke=revoked, on_lost=lost)

    def unsubscribe(self) -> bool:
        """Whether it had subscribed; a consumer with a fatal error does not leave any more."""
        try:
            self.consumer.unsubscribe()
        except KafkaException:
            return False
        return self.subscribed

    def poll(self, timeout_seconds: float = TURN_SECONDS) -> Message | None:
        """One turn; a record is kept, an error too."""
        message = self.consumer.poll(timeout_seconds)
        if message is None:
            return None
        fault = message.error()
        if fault is not None:
            self.faults.append(KafkaException(fault))
            return None
        self.messages.append(message)
        return message

    def take(self, count: int) -> list[Message]:
        """The next `count` records."""
        found: list[Message] = []
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} records came in time"
            message = self.poll(1)
            if message is not None:
                found.append(message)
        return found

    @property
    def partitions(self) -> list[Partition]:
        """What the consumer owns now."""
        return pairs(self.consumer.assignment()) if self.open else []

    @property
    def numbers(self) -> list[int]:
        """The partitions it owns, of its only topic."""
        return [number for _, number in self.partitions]

    def committed(self, topic: str, partition: int = 0) -> int | None:
        """What the group has committed; None if that is nothing."""
        return committed(self.consumer, topic, partition)

    def close(self) -> None:
        """Leave the group, if it has not done so."""
        if self.open:
            self.open = False
            self.consumer.close()


class Members:
    """The members of a test; all are closed with it."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._all: list[Member] = []

    def join(self, group: str, *topics: str, **settings: Any) -> Member:
        """A new member that has subscribed."""
        member = self.new(group, **settings)
        member.subscribe(*topics)
        return member

    def new(self, group: str, **settings: Any) -> Member:
        member = Member(self.bootstrap, group, **settings)
        self._all.append(member)
        return member

    def close(self) -> None:
        """All leave at once, and none is closed with an assignment in its queue.

        librdkafka never comes back from a close that finds one there (its issue 4884), and the
        leave of each member brings one to the others. One that arrives in the last moment must not
        hold up all other tests: who does not come back is left behind.
        """
        remaining = [member for member in self._all if member.open]
        leaving = [member for member in remaining if member.unsubscribe()]
        for member in leaving:
            member.poll()
        settled(leaving, lambda: not any(member.partitions for member in leaving), "all have left")
        for member in remaining:
            closing = threading.Thread(target=member.close, daemon=True)
            closing.start()
            closing.join(TIMEOUT_SECONDS)


def settled(members: Sequence[Member], holds: Callable[[], bool], what: str) -> None:
    """Let the members take turns until it holds."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"waited {TIMEOUT_SECONDS} s in vain for {what}"
        for member in members:
            if member.open:
                member.poll()


def shared_out(members: Sequence[Member], *counts: int) -> None:
    """Wait until the members own so many partitions each, in any order."""
    wanted = sorted(counts)

    def holds() -> bool:
        return sorted(len(member.partitions) for member in members) == wanted

    settled(members, holds, f"{wanted} partitions each")


def read_all(members: Sequence[Member], count: int) -> list[Message]:
    """Let the members take turns until they have read `count` records in all."""
    settled(
        members,
        lambda: sum(len(member.messages) for member in members) >= count,
        f"{count} records",
    )
    return [message for member in members for message in member.messages]


def committed(consumer: Consumer, topic: str, partition: int = 0) -> int | None:
    (found,) = consumer.committed([TopicPartition(topic, partition)], timeout=TIMEOUT_SECONDS)
    return None if found.offset < 0 else int(found.offset)


@contextlib.contextmanager
def outsider(bootstrap: str, group: str) -> Iterator[Consumer]:
    """Somebody who looks at a group's offsets without being in it."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "log_level": 0, "group.id": group})
    try:
        yield consumer
    finally:
        consumer.close()


def committed_of(bootstrap: str, group: str, topic: str, partition: int = 0) -> int | None:
    """What a group has committed, asked from outside of it."""
    with outsider(bootstrap, group) as consumer:
        return committed(consumer, topic, partition)


def write(
    bootstrap: str,
    topic: str,
    values: Iterable[bytes],
    *,
    partition: int = 0,
    key: bytes | None = None,
    **settings: Any,
) -> None:
    """Write values with a producer that is gone afterwards."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 0, **dotted(settings)}
    )
    faults: list[Any] = []

    def note(error: Any, _: Message) -> None:
        if error is not None:
            faults.append(error)

    for value in values:
        producer.produce(topic, value, key=key, partition=partition, on_delivery=note)
    unsent = producer.flush(TIMEOUT_SECONDS)
    assert not unsent
    assert not faults


def numbered(count: int, *, start: int = 0) -> list[bytes]:
    """Values that say their number."""
    return [str(number).encode() for number in range(start, start + count)]


def values(messages: Iterable[Message]) -> list[bytes]:
    return [message.value() or b"" for message in messages]


def offsets(messages: Iterable[Message]) -> list[int]:
    return [-1 if (offset := message.offset()) is None else offset for message in messages]


def pairs(partitions: Iterable[TopicPartition]) -> list[Partition]:
    return sorted((each.topic, each.partition) for each in partitions)


def dotted(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with `_` for `.`, under Kafka's names; callbacks keep theirs."""
    return {
        name if callable(value) else name.replace("_", "."): value
        for name, value in settings.items()
    }
