"""What is in a topic, and who reads it: consumers as the labs need them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from examples.cluster.lab import PATIENCE_S, LabFailed
from examples.leaving import leave

# A member that joins is noticed by the others at their next heartbeat.
MEMBER_SETTINGS: Final[Mapping[str, Any]] = {
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 100,
    "fetch.wait.max.ms": 100,
    "partition.assignment.strategy": "range",
    "log_level": 0,
}


class Record(NamedTuple):
    """A record as a consumer sees it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int

    @property
    def text(self) -> str:
        return (self.value or b"").decode()

    @property
    def name(self) -> str:
        return (self.key or b"").decode()


def read_topic(servers: str, topic: str, isolation: str = "read_committed") -> list[Record]:
    """All records of a topic, by partition and offset. Nothing is committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "lab-reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,  # an end is told by an answer without records
            "isolation.level": isolation,
            "log_level": 0,
        }
    )
    partitions = partition_numbers(consumer, topic)
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found: list[Record] = []
    ended: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    while len(ended) < len(partitions):
        message = consumer.poll(0.5)
        if time.monotonic() > deadline:
            raise LabFailed(f"{topic} could not be read to its end")
        if message is None:
            continue
        if (error := message.error()) is None:
            found.append(record_of(message))
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition() or 0)
        else:
            raise KafkaException(error)
    consumer.close()
    return sorted(found, key=lambda record: (record.partition, record.offset))


def record_of(message: Message) -> Record:
    partition, offset, when = message.partition(), message.offset(), message.timestamp()[1]
    assert partition is not None
    assert offset is not None
    return Record(partition, offset, message.key(), message.value(), when)


def latest(servers: str, topic: str) -> dict[str, str]:
    """The topic as a table: the last value of each key, without those that were deleted."""
    table: dict[str, str] = {}
    for record in read_topic(servers, topic):
        if record.value is None:
            table.pop(record.name, None)
        else:
            table[record.name] = record.text
    return table


def partition_numbers(client: Any, topic: str) -> list[int]:
    return sorted(client.list_topics(topic, PATIENCE_S).topics[topic].partitions)


def committed(servers: str, group: str, topic: str) -> dict[int, int]:
    """The offsets that a group has committed, by partition."""
    # Who reads uncommitted records is not kept waiting by offsets of an open transaction.
    settings = {"group.id": group, "isolation.level": "read_uncommitted", "log_level": 0}
    consumer = Consumer({"bootstrap.servers": servers, **settings})
    places = [TopicPartition(topic, number) for number in partition_numbers(consumer, topic)]
    found = consumer.committed(places, PATIENCE_S)
    consumer.close()
    return {place.partition: place.offset for place in found if place.offset >= 0}


class Member:
    """A member of a group that remembers what it has read."""

    def __init__(
        self, servers: str, group: str, topic: str, name: str = "", **settings: Any
    ) -> None:
        self.name = name
        self.records: list[Record] = []
        self.consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                # A member's id begins with its client's: the range assignor goes by that order.
                "client.id": name or "member",
                **MEMBER_SETTINGS,
                **settings,
            }
        )
        self.consumer.subscribe([topic])

    @property
    def partitions(self) -> list[int]:
        return sorted(place.partition for place in self.consumer.assignment())

    @property
    def texts(self) -> list[str]:
        return [record.text for record in self.records]

    def poll(self, timeout_s: float = 0.05) -> None:
        for message in self.consumer.consume(500, timeout_s):
            if (error := message.error()) is not None:
                raise KafkaException(error)
            self.records.append(record_of(message))

    def leave(self) -> None:
        leave(self.consumer)


def poll_until(members: Sequence[Member], condition: Callable[[], bool], what: str) -> None:
    """Let them read, in turn, until it is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            counts = {each.name: (each.partitions, len(each.records)) for each in members}
            raise LabFailed(f"{what}: partitions and records are {counts}")
        for member in members:
            member.poll()


def await_split(members: Sequence[Member], partitions: int) -> None:
    """Return when the members share all partitions, and those that get none know it."""
    everything = list(range(partitions))
    working = members[: min(len(members), partitions)]

    def settled() -> bool:
        held = sorted(number for each in members for number in each.partitions)
        return held == everything and sum(bool(each.partitions) for each in members) >= len(working)

    poll_until(members, settled, "the group shares its partitions")
