"""Topics for tests, made and filled through confluent-kafka: not by the code under test."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewPartitions,
    NewTopic,
)

from headrace.pipelines.source.options import SourceOptions, batch_options, stream_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIMEOUT_S = 20
_numbers = itertools.count()


class Topics:
    """What a test does to a cluster beside the query that it runs."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.admin = AdminClient({"bootstrap.servers": bootstrap_servers})

    def create(
        self, partitions: int = 1, config: Mapping[str, str] | None = None, name: str | None = None
    ) -> str:
        """A new topic; old timestamps are no reason to delete its records."""
        name = name or f"orders-{next(_numbers)}"
        new = NewTopic(
            name,
            num_partitions=partitions,
            replication_factor=1,
            config={"retention.ms": "-1"} | dict(config or {}),
        )
        self.admin.create_topics([new])[name].result(TIMEOUT_S)
        return name

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result(TIMEOUT_S)

    def recreate(self, topic: str, partitions: int = 1) -> None:
        self.delete(topic)
        self.create(partitions, name=topic)

    def grow(self, topic: str, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(TIMEOUT_S)

    def forget_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete records as retention does: the log begins at this offset."""
        request = TopicPartition(topic, partition, offset)
        for future in self.admin.delete_records([request]).values():
            future.result(TIMEOUT_S)

    def produce(
        self,
        topic: str,
        values: Iterable[bytes | None],
        *,
        partition: int = 0,
        config: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """Write these values; `fields` are key, headers, timestamp as Producer.produce has them."""
        producer = self.producer(config)
        for value in values:
            producer.produce(topic, value, partition=partition, **fields)
        assert producer.flush(TIMEOUT_S) == 0

    def producer(self, config: Mapping[str, Any] | None = None) -> Producer:
        return Producer(
            {"bootstrap.servers": self.bootstrap_servers, "linger.ms": 5} | dict(config or {})
        )

    def transaction(
        self, topic: str, values: Iterable[bytes], *, commit: bool, partition: int = 0
    ) -> None:
        """Values in a transaction of its own."""
        producer = self.open_transaction(topic, values, partition=partition)
        if commit:
            producer.commit_transaction(TIMEOUT_S)
        else:
            producer.abort_transaction(TIMEOUT_S)

    def open_transaction(
        self, topic: str, values: Iterable[bytes], *, partition: int = 0
    ) -> Producer:
        """A producer whose transaction holds these values and is still open."""
        producer = self.producer({"transactional.id": f"{topic}-{next(_numbers)}"})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=partition)
        producer.flush(TIMEOUT_S)
        return producer

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """What the group's offsets are, as any tool sees them."""
        future = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        answer = future[group].result(TIMEOUT_S)
        return {(each.topic, each.partition): each.offset for each in answer.topic_partitions}

    def batch_options(self, **options: Any) -> SourceOptions:
        return batch_options(self._options(options))

    def stream_options(self, **options: Any) -> SourceOptions:
        return stream_options({"startingOffsets": "earliest"} | self._options(options))

    def _options(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Options by keyword; `kafka_group_id` stands for `kafka.group.id`."""
        named = {
            name.replace("_", ".") if name.startswith("kafka_") else name: str(value)
            for name, value in options.items()
        }
        return {
            "kafka.bootstrap.servers": self.bootstrap_servers,
            "fetchOffset.retryIntervalMs": "10",
        } | named


def rows_of(spark: SparkSession, topics: Topics, topic: str, **options: str) -> DataFrame:
    """The topic as a batch, read by the source."""
    reader = spark.read.format("headrace").option("subscribe", topic)
    return reader.options(**{"kafka.bootstrap.servers": topics.bootstrap_servers}, **options).load()
