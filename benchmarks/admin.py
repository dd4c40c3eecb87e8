"""Topics made and removed through confluent-kafka, the admin client that our users have."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks import wire
from benchmarks.brokers import Served
from benchmarks.errors import BenchmarkError

_TIMEOUT_S = 60


def create_topics(
    broker: Served,
    topics: Sequence[str],
    partitions: int = 1,
    config: Mapping[str, str] | None = None,
    replication_factor: int = 1,
) -> None:
    """One CreateTopics request, then wait until every partition has a leader."""
    client = connect(broker)
    request_topics(broker, client, topics, partitions, config, replication_factor)
    wait_for_leaders(broker, topics)


def request_topics(
    broker: Served,
    client: AdminClient,
    topics: Sequence[str],
    partitions: int = 1,
    config: Mapping[str, str] | None = None,
    replication_factor: int = 1,
) -> None:
    """One CreateTopics request and its answer, which may come before the leaders are known."""
    new = [
        NewTopic(topic, partitions, replication_factor, config=dict(config or {}))
        for topic in topics
    ]
    _await(broker, client.create_topics(new, request_timeout=_TIMEOUT_S), "create")


def delete_topics(broker: Served, topics: Sequence[str]) -> None:
    client = connect(broker)  # held until the answer is there: it ends with its last reference
    _await(broker, client.delete_topics(list(topics), request_timeout=_TIMEOUT_S), "delete")


def wait_for_leaders(broker: Served, topics: Sequence[str]) -> None:
    """Until Metadata names a leader for every partition of these topics."""

    def all_led() -> bool:
        leaders = wire.metadata(broker.address, all_topics=True).leaders
        return all(leaders.get(topic, False) for topic in topics)

    broker.wait_until(all_led, what=f"leaders of {len(topics)} topics")


def find_coordinator(broker: Served) -> None:
    """Wait until the broker coordinates groups: it makes its internal topic when it is asked."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "probe"})

    def answers() -> bool:
        try:
            consumer.committed([TopicPartition("probe", 0)], timeout=_TIMEOUT_S)
        except KafkaException:
            return False
        return True

    try:
        broker.wait_until(answers, what="a group coordinator")
    finally:
        consumer.close()


def fresh_name(prefix: str) -> str:
    """A topic name that no earlier repetition has used."""
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


def connect(broker: Served) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})


def _await(broker: Served, futures: Mapping[str, Future[None]], verb: str) -> None:
    for topic, future in futures.items():
        try:
            future.result(_TIMEOUT_S)
        except (KafkaException, TimeoutError) as error:
            raise BenchmarkError(f"{broker.name} did not {verb} topic {topic}: {error}") from error
