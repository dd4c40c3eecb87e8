"""Share consumers of librdkafka and of Kafka's Java client: queues as applications use them."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import AcknowledgeType, Message, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.testing import Broker
from tests.clients.share.group_settings import configure
from tests.kafka.apache_kafka import java_command

JAVA = Path(__file__).parent / "java" / "JavaShareConsumer.java"
PATIENCE_SECONDS = 20.0


def consumer(bootstrap: str, group: str, topic: str, **settings: str) -> ShareConsumer:
    opened = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "log_level": 0,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )
    opened.subscribe([topic])
    return opened


def fill(bootstrap: str, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
    for number in numbers:
        producer.produce(topic, str(number).encode(), partition=0)
    assert producer.flush(PATIENCE_SECONDS) == 0


def take(source: ShareConsumer, count: int) -> list[Message]:
    """So many messages, or those that came in time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    taken: list[Message] = []
    while len(taken) < count and time.monotonic() < deadline:
        taken += [each for each in source.poll(0.5) if each.error() is None]
    return taken


def numbers(messages: list[Message]) -> list[int]:
    return [int(each.value() or b"") for each in messages]


def test_consumers_share_one_partition(bootstrap: str, topic: str, group: str) -> None:
    """Three members work at it side by side, and each record is one member's."""
    configure(bootstrap, group, share_auto_offset_reset="earliest")
    for start in range(0, 90, 10):
        fill(bootstrap, topic, range(start, start + 10))
    crew = [consumer(bootstrap, group, topic, max_poll_records="10") for _ in range(3)]
    seen: Counter[int] = Counter()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while seen.total() < 90 and time.monotonic() < deadline:
        for each in crew:
            seen.update(numbers([m for m in each.poll(0.2) if m.error() is None]))
    for each in crew:
        each.close()
    assert seen == Counter(range(90))


def test_explicit_acknowledgements(bootstrap: str, topic: str, group: str) -> None:
    """Accepted and rejected records are done; released ones come again, with a higher count."""
    configure(bootstrap, group, share_auto_offset_reset="earliest")
    fill(bootstrap, topic, range(6))
    source = consumer(bootstrap, group, topic, share_acknowledgement_mode="explicit")
    kinds = [AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT]
    first = take(source, 6)
    assert [each.delivery_count() for each in first] == [1] * 6
    for message in first:
        source.acknowledge(message, kinds[message.offset() % 3])  # type: ignore[operator]
    assert source.commit_sync() == {TopicPartition(topic, 0): None}
    again = take(source, 2)
    assert numbers(again) == [1, 4]
    assert [each.delivery_count() for each in again] == [2, 2]
    for message in again:
        source.acknowledge(message)
    source.close()


def test_aborted_transactions_are_left_out(
    bootstrap: str, topic: str, group: str, topic_name: str
) -> None:
    """With `share.isolation.level=read_committed`, and the queue goes on behind them."""
    configure(
        bootstrap,
        group,
        share_auto_offset_reset="earliest",
        share_isolation_level="read_committed",
    )
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic_name})
    producer.init_transactions(PATIENCE_SECONDS)
    for number in range(6):
        producer.begin_transaction()
        producer.produce(topic, str(number).encode(), partition=0)
        producer.flush()
        if number % 2:
            producer.abort_transaction(PATIENCE_SECONDS)
        else:
            producer.commit_transaction(PATIENCE_SECONDS)
    source = consumer(bootstrap, group, topic)
    assert numbers(take(source, 3)) == [0, 2, 4]
    source.close()


@pytest.mark.timeout(120)
def test_a_broker_that_is_killed_remembers_what_was_accepted(tmp_path: Path) -> None:
    """What was acknowledged before a kill -9 is done; what was only delivered comes again."""
    with Broker({"share.coordinator.state.topic.num.partitions": "2"}, data=tmp_path) as broker:
        bootstrap = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("q", 1, 1)])["q"].result(PATIENCE_SECONDS)
        configure(bootstrap, "g", share_auto_offset_reset="earliest")
        fill(bootstrap, "q", range(10))
        source = consumer(bootstrap, "g", "q", share_acknowledgement_mode="explicit")
        first = take(source, 10)
        for message in first:
            if message.offset() in (0, 1, 5):
                source.acknowledge(message)
        assert source.commit_sync() == {TopicPartition("q", 0): None}
        broker.kill()
        broker.start()
        heir = consumer(bootstrap, "g", "q")
        assert sorted(numbers(take(heir, 7))) == [2, 3, 4, 6, 7, 8, 9]
        heir.close()


def test_the_java_share_consumer(
    bootstrap: str, topic: str, group: str, kafka_classpath: str
) -> None:
    """Apache Kafka's own client accepts, releases, rejects and renews (KIP-932, KIP-1222)."""
    configure(bootstrap, group, share_auto_offset_reset="earliest")
    fill(bootstrap, topic, range(8))
    command = [*java_command(kafka_classpath, JAVA), bootstrap, topic, group, "8"]
    ran = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=60, check=True
    )
    said = [line.split() for line in ran.stdout.splitlines()]
    assert not [words for words in said if words[0] == "failed"], ran.stdout
    counts = {(int(offset), kind): int(count) for offset, count, kind in said}
    for offset in (0, 4):
        assert counts[offset, "accept"] == 1
        assert counts[offset + 1, "release"] == 1
        assert counts[offset + 1, "accept"] == 2
        assert counts[offset + 2, "reject"] == 1
        assert counts[offset + 3, "renew"] == 1
        assert counts[offset + 3, "accept"] == 1, "a lock that is renewed is no new delivery"


def test_records_that_come_later_are_waited_for(
    bootstrap: str, group: str, new_topic: Callable[..., str]
) -> None:
    """`share.auto.offset.reset` is latest: a new group gets what is produced after it began."""
    topic = new_topic()
    fill(bootstrap, topic, range(5))
    source = consumer(bootstrap, group, topic)
    began = time.monotonic()
    while not (got := [m for m in source.poll(0.1) if m.error() is None]):
        assert time.monotonic() - began < PATIENCE_SECONDS
        fill(bootstrap, topic, range(5, 6))
    assert set(numbers(got)) == {5}
    source.close()
