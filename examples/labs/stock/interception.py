"""A producer with interceptors: others see each record before it leaves, and its acknowledgement.

In Java they are classes named in `interceptor.classes`, a chain of which each gets what the one
before returned. This is the same chain around librdkafka's producer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from confluent_kafka import KafkaError, Message, Producer

OnDelivery = Callable[[KafkaError | None, Message], None]


class Outgoing(NamedTuple):
    """A record on its way."""

    topic: str
    key: str
    value: str


class Interceptor(Protocol):
    def on_send(self, record: Outgoing) -> Outgoing:
        """The record that goes on, this one or a changed one."""

    def on_acknowledgement(self, error: KafkaError | None, message: Message) -> None:
        """Exactly one of the two means something; be quick."""


class InterceptedProducer:
    """Sends through a chain of interceptors."""

    def __init__(self, producer: Producer, interceptors: Sequence[Interceptor]) -> None:
        self._producer = producer
        self._interceptors = tuple(interceptors)

    def send(self, record: Outgoing, on_delivery: OnDelivery | None = None, **where: Any) -> None:
        """Hand a record over; may be called by any thread."""
        for interceptor in self._interceptors:
            record = interceptor.on_send(record)

        def acknowledged(error: KafkaError | None, message: Message) -> None:
            for interceptor in self._interceptors:
                interceptor.on_acknowledgement(error, message)
            if on_delivery is not None:
                on_delivery(error, message)

        self._producer.produce(
            record.topic, record.value, record.key, on_delivery=acknowledged, **where
        )


class EveryHundredth:
    """Prints every hundredth record and every hundredth acknowledgement, and counts all."""

    def __init__(self, every: int = 100) -> None:
        self._every = every
        self.sent = 0
        self.acknowledged = 0
        self.failed = 0

    def on_send(self, record: Outgoing) -> Outgoing:
        self.sent += 1
        if self.sent % self._every == 0:
            print(f"onSend topic={record.topic} key={record.key} {record.value}", flush=True)
        return record

    def on_acknowledgement(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed += 1
            return
        self.acknowledged += 1
        if self.acknowledged % self._every == 0:
            place = f"topic={message.topic()} partition={message.partition()}"
            print(f"onAck {place} offset={message.offset()}", flush=True)
