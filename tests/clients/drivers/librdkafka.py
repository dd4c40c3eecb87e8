"""librdkafka, through confluent-kafka: the client that most other languages wrap."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

from tests.clients.drivers.driver import TIMEOUT_SECONDS, Refused
from tests.clients.records import CODECS, Headers, Record, Stored


class Librdkafka:
    """A driver over confluent-kafka's Producer, Consumer and AdminClient."""

    codecs = frozenset(CODECS)
    refuses: frozenset[str] = frozenset()

    def __init__(self, bootstrap: str) -> None:
        self._base: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._admin = AdminClient(self._base)

    def produce(
        self,
        topic: str,
        partition: int,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> list[int]:
        settings = {"acks": acks, "compression.type": codec, "enable.idempotence": idempotent}
        delivered = self.deliver(topic, partition, records, settings)
        return [_known(message.offset()) for message in delivered]

    def partitions_of_keys(self, topic: str, keys: Sequence[bytes]) -> list[int]:
        """Write one record per key and tell where the partitioner put it.

        librdkafka hashes with CRC-32 unless it is told to agree with the Java client.
        """
        records = [Record(key, b"", 0) for key in keys]
        delivered = self.deliver(topic, -1, records, {"partitioner": "murmur2_random"})
        return [_known(message.partition()) for message in delivered]

    def deliver(
        self, topic: str, partition: int, records: Sequence[Record], settings: Mapping[str, Any]
    ) -> list[Message]:
        """Write `records` with these producer settings; the messages as delivered, in order."""
        # Records of one call share batches, so that a codec has something to compress.
        producer = Producer({**self._base, "linger.ms": 20, **settings})
        reports: dict[int, tuple[KafkaError | None, Message]] = {}

        def note(number: int) -> Callable[[KafkaError | None, Message], None]:
            return lambda error, message: reports.update({number: (error, message)})

        for number, record in enumerate(records):
            producer.produce(
                topic,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                partition=partition,
                timestamp=record.timestamp_ms,
                on_delivery=note(number),
            )
        unsent = producer.flush(TIMEOUT_SECONDS)
        assert unsent == 0, f"{unsent} of {len(records)} records were not delivered in time"
        for error, _ in reports.values():
            if error is not None:
                raise Refused(error.code(), error.str())
        return [reports[number][1] for number in range(len(records))]

    def read(self, topic: str, partition: int, offset: int, count: int) -> list[Stored]:
        found: list[Stored] = []
        deadline = time.monotonic() + TIMEOUT_SECONDS
        with self._consumer() as consumer:
            consumer.assign([TopicPartition(topic, partition, offset)])
            while len(found) < count and time.monotonic() < deadline:
                for message in consumer.consume(count - len(found), timeout=1):
                    error = message.error()
                    if error is not None:
                        raise Refused(error.code(), error.str())
                    found.append(_stored(message))
        return found

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str]) -> None:
        wanted = NewTopic(topic, num_partitions=partitions, config=dict(config))
        self._result(self._admin.create_topics([wanted]))

    def create_partitions(self, topic: str, total: int) -> None:
        self._result(self._admin.create_partitions([NewPartitions(topic, total)]))

    def delete_topic(self, topic: str) -> None:
        self._result(self._admin.delete_topics([topic]))

    def partition_counts(self) -> dict[str, int]:
        topics = self._admin.list_topics(timeout=TIMEOUT_SECONDS).topics
        return {name: len(found.partitions) for name, found in topics.items()}

    def topic_config(self, topic: str) -> dict[str, str | None]:
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        entries = self._result(self._admin.describe_configs([resource]))
        return {name: entry.value for name, entry in entries.items()}

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        with self._consumer() as consumer:
            wanted = [TopicPartition(topic, partition, timestamp_ms)]
            (found,) = consumer.offsets_for_times(wanted, timeout=TIMEOUT_SECONDS)
        # librdkafka says "the end" (-1) where there is no such record.
        return None if found.offset < 0 else int(found.offset)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        wanted = [TopicPartition(topic, partition, before_offset)]
        return int(self._result(self._admin.delete_records(wanted)).low_watermark)

    @contextlib.contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        # confluent-kafka insists on a group id; a consumer that is assigned never joins the group.
        settings = {"group.id": "never-joined", "enable.auto.commit": False}
        consumer = Consumer({**self._base, **settings, "auto.offset.reset": "error"})
        try:
            yield consumer
        finally:
            consumer.close()

    def _result(self, futures: Mapping[Any, Any]) -> Any:
        (future,) = futures.values()
        try:
            return future.result(TIMEOUT_SECONDS)
        except KafkaException as fault:
            raise Refused(fault.args[0].code(), fault.args[0].str()) from fault


def _stored(message: Message) -> Stored:
    _, timestamp_ms = message.timestamp()
    headers = cast(Headers, tuple(message.headers() or ()))
    record = Record(message.key(), message.value(), timestamp_ms, headers)
    return Stored(_known(message.offset()), record)


def _known(number: int | None) -> int:
    """An offset or partition as a number; -1 where the broker did not tell it."""
    return -1 if number is None else number
