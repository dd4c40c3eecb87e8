"""Reads a topic into a topology: each record once, and again until it is acknowledged.

The position that is committed for a partition is the first offset that is not yet acknowledged, so
a restarted topology begins with what was left open. Brokers keep these positions in a consumer
group; no ZooKeeper is asked.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from examples.leaving import leave
from examples.storm.topology import Message

LOGGER = logging.getLogger(__name__)
COMMIT_EVERY: Final = 1_000  # acknowledgements
# The group has moved on: whoever has the partitions now brings the records again.
_NO_LONGER_OURS: Final = (
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
)


class RecordId(NamedTuple):
    topic: str
    partition: int
    offset: int


@dataclass(slots=True)
class Positions:
    """The open records of one partition."""

    open: dict[int, str] = field(default_factory=dict)  # by offset, in order of arrival
    next_offset: int = 0

    def committable(self) -> int:
        return min(self.open, default=self.next_offset)


@dataclass(frozen=True, slots=True)
class SpoutConfig:
    """Where to read, under which name, and where to begin if that name is new."""

    servers: str
    topic: str
    group: str
    start: str = "earliest"  # or latest
    settings: Mapping[str, Any] = field(default_factory=dict)
    poll_s: float = 0.05


class KafkaSpout:
    """Text of each record as the field `str`."""

    fields: tuple[str, ...] = ("str",)

    def __init__(self, config: SpoutConfig) -> None:
        self._config = config
        self._positions: dict[tuple[str, int], Positions] = {}
        self._again: deque[RecordId] = deque()
        self._acks = 0

    def open(self) -> None:
        config = self._config
        self._consumer = Consumer(
            {
                "bootstrap.servers": config.servers,
                "group.id": config.group,
                "auto.offset.reset": config.start,
                "enable.auto.commit": False,
                **config.settings,
            }
        )
        self._consumer.subscribe([config.topic], on_revoke=self._on_revoke, on_lost=self._on_lost)

    def next_message(self) -> Message | None:
        while self._again:
            record_id = self._again.popleft()
            text = self._open_text(record_id)
            if text is not None:
                return Message((text,), record_id)
        message = self._consumer.poll(self._config.poll_s)
        if message is None:
            return None
        if message.error() is not None:
            raise KafkaException(message.error())
        return self._taken(message)

    def _taken(self, message: Any) -> Message:
        record_id = RecordId(message.topic(), message.partition(), message.offset())
        text = (message.value() or b"").decode("utf-8", "replace")
        positions = self._positions.setdefault(record_id[:2], Positions())
        positions.open[record_id.offset] = text
        positions.next_offset = record_id.offset + 1
        return Message((text,), record_id)

    def _open_text(self, record_id: RecordId) -> str | None:
        positions = self._positions.get(record_id[:2])
        return None if positions is None else positions.open.get(record_id.offset)

    def ack(self, message_id: RecordId) -> None:
        positions = self._positions.get(message_id[:2])
        if positions is None:
            return  # the partition has gone to another worker, which brings the record again
        positions.open.pop(message_id.offset, None)
        self._acks += 1
        if self._acks % COMMIT_EVERY == 0:
            self._commit()

    def fail(self, message_id: RecordId) -> None:
        self._again.append(message_id)

    def deactivate(self) -> None:
        self._commit()

    def close(self) -> None:
        leave(self._consumer)

    def _commit(self) -> None:
        offsets = [
            TopicPartition(topic, partition, positions.committable())
            for (topic, partition), positions in self._positions.items()
        ]
        try:
            if offsets:
                self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as fault:
            if fault.args[0].code() not in _NO_LONGER_OURS:
                raise
            LOGGER.info("not committed, the records come again: %s", fault.args[0].str())

    def _on_revoke(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._commit()
        self._forget()

    def _on_lost(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._forget()

    def _forget(self) -> None:
        self._positions.clear()
        self._again.clear()
