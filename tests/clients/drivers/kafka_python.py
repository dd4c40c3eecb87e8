"""kafka-python 3, the oldest client written in Python."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.clients.drivers.driver import TIMEOUT_SECONDS, Refused
from tests.clients.records import NEITHER_KEY_NOR_VALUE, NULL_HEADER, Record, Stored

with warnings.catch_warnings():
    # It loads its message schemas by functions that Python is about to retire.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka import codec as kafka_codec
    from kafka.admin import ConfigResource, ConfigResourceType
    from kafka.errors import KafkaError

LIBRARIES = {
    "snappy": kafka_codec.has_snappy,
    "lz4": kafka_codec.has_lz4,
    "zstd": kafka_codec.has_zstd,
}


class KafkaPython:
    """A driver over kafka-python's producer, consumer and admin client."""

    codecs = frozenset({"none", "gzip", *(name for name, has in LIBRARIES.items() if has())})
    refuses = frozenset({NEITHER_KEY_NOR_VALUE, NULL_HEADER})

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def close(self) -> None:
        self._admin.close()

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
        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap,
            acks="all" if acks == -1 else acks,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            linger_ms=20,
        )
        with _refusals(), contextlib.closing(producer):
            futures = [
                producer.send(
                    topic,
                    key=record.key,
                    value=record.value,
                    headers=list(record.headers),
                    partition=partition,
                    timestamp_ms=record.timestamp_ms,
                )
                for record in records
            ]
            return [future.get(TIMEOUT_SECONDS).offset for future in futures]

    def read(self, topic: str, partition: int, offset: int, count: int) -> list[Stored]:
        found: list[Stored] = []
        deadline = time.monotonic() + TIMEOUT_SECONDS
        with _refusals(), self._consumer() as consumer:
            assigned = TopicPartition(topic, partition)
            consumer.assign([assigned])
            consumer.seek(assigned, offset)
            while len(found) < count and time.monotonic() < deadline:
                batches = consumer.poll(timeout_ms=1_000, max_records=count - len(found))
                found.extend(_stored(message) for message in batches.get(assigned, ()))
        return found

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str]) -> None:
        with _refusals():
            wanted = {topic: {"num_partitions": partitions, "configs": dict(config)}}
            self._admin.create_topics(wanted, wait_for_metadata=True)

    def create_partitions(self, topic: str, total: int) -> None:
        with _refusals():
            self._admin.create_partitions({topic: total})

    def delete_topic(self, topic: str) -> None:
        with _refusals():
            self._admin.delete_topics([topic])

    def partition_counts(self) -> dict[str, int]:
        topics = self._admin.describe_topics()
        return {topic["name"]: len(topic["partitions"]) for topic in topics}

    def topic_config(self, topic: str) -> dict[str, str | None]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        found = self._admin.describe_configs([resource], config_filter="all")["topic"][topic]
        return {name: entry["value"] for name, entry in found.items()}

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        with _refusals(), self._consumer() as consumer:
            assigned = TopicPartition(topic, partition)
            found = consumer.offsets_for_times({assigned: timestamp_ms})[assigned]
        return None if found is None else int(found.offset)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        with _refusals():
            wanted = TopicPartition(topic, partition)
            return int(self._admin.delete_records({wanted: before_offset})[wanted]["low_watermark"])

    @contextlib.contextmanager
    def _consumer(self) -> Iterator[KafkaConsumer]:
        consumer = KafkaConsumer(bootstrap_servers=self._bootstrap, auto_offset_reset="none")
        try:
            yield consumer
        finally:
            consumer.close()


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except KafkaError as fault:
        raise Refused(getattr(fault, "errno", -1), str(fault)) from fault


def _stored(message: Any) -> Stored:
    headers = tuple(message.headers)
    return Stored(message.offset, Record(message.key, message.value, message.timestamp, headers))
