"""The Kafka sink: bodies into a topic, acknowledged before a transaction ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from headrace.errors import HeadraceError
from headrace.pipelines.lake.flume.components import Surroundings
from headrace.pipelines.lake.flume.event import Event
from headrace.pipelines.lake.jobs.properties import Properties

KNOWN: Final = frozenset(
    {
        *("type", "channel", "kafka.bootstrap.servers", "kafka.topic", "flumeBatchSize"),
        *("brokerList", "topic", "batchSize", "allowTopicOverride", "topicOverrideHeader"),
    }
)
PREFIXES: Final = ("kafka.producer.",)
_DELIVERY_S: Final = 120


class NotDelivered(HeadraceError):
    """Brokers have not acknowledged an event."""


class KafkaSink:
    """The header `topic` goes over the setting, unless allowTopicOverride=false."""

    def __init__(self, name: str, settings: Properties, around: Surroundings) -> None:
        self.remarks = settings.remarks(KNOWN, prefixes=PREFIXES)
        servers = settings.text("kafka.bootstrap.servers", settings.text("brokerList"))
        if not servers:
            settings.required("kafka.bootstrap.servers", "the brokers, as host:port")
        self._topic = settings.text("kafka.topic", settings.text("topic", "default-flume-topic"))
        self._header = (
            settings.text("topicOverrideHeader", "topic")
            if settings.flag("allowTopicOverride", True)
            else None
        )
        self.batch_size = settings.number(
            "flumeBatchSize", settings.number("batchSize", 100, at_least=1), at_least=1
        )
        self._producer = Producer(
            {
                "client.id": name,
                "log_level": 0,
                **settings.below("kafka.producer."),
                "bootstrap.servers": servers,
            }
        )

    def write(self, events: Sequence[Event]) -> None:
        failures: list[KafkaError] = []

        def told(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures.append(error)

        for event in events:
            topic = event.headers.get(self._header, self._topic) if self._header else self._topic
            key = event.headers.get("key")
            self._producer.produce(topic, event.body, key, on_delivery=told)
            self._producer.poll(0)
        left = self._producer.flush(_DELIVERY_S)
        if left or failures:
            cause = failures[0].str() if failures else f"{left} events in {_DELIVERY_S} s"
            raise NotDelivered(f"brokers have not acknowledged a transaction: {cause}")
        for event in events:
            event.receipt.settle()

    def tick(self) -> None:
        self._producer.poll(0)

    def close(self) -> None:
        self._producer.flush(_DELIVERY_S)
