"""How to change the number of partitions without mixing up the keys: copy to a new topic.

    python -m examples.labs.repartition

Adding partitions in place would send later records of a key elsewhere. A copy into a topic with the
right number sends all of a key's records to its new partition, in their order.
"""

from __future__ import annotations

from typing import Final

from confluent_kafka import Producer

from examples.cluster.lab import PATIENCE_S, say
from examples.labs.java_hashes import partition_of
from examples.labs.reading import Member, poll_until, read_topic
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, produce, send
from headrace.testing import Broker

OLD: Final = "orders-2"
NEW: Final = "orders-6"
RECORDS: Final = 600
KEYS: Final = 30


def copy_topic(servers: str, source: str, target: str, records: int) -> None:
    """Read in order, write in order: one partition of the source after another keeps its order."""
    reader = Member(servers, f"copy-{source}", source, "copier")
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "partitioner": "murmur2_random",
            "enable.idempotence": True,  # a retry can neither repeat nor reorder
        }
    )
    poll_until([reader], lambda: len(reader.records) >= records, f"all of {source} is read")
    for record in reader.records:
        produce(
            producer,
            topic=target,
            value=record.value,
            key=record.key,
            timestamp=record.timestamp_ms,
        )
    left = producer.flush(PATIENCE_S)
    check(left == 0, "everything that was read is written")
    reader.consumer.commit(asynchronous=False)
    reader.leave()
    producer.close()


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    create_topic(servers, OLD, partitions=2)
    create_topic(servers, NEW, partitions=6)
    send(servers, OLD, [Draft(str(number), f"key-{number % KEYS}") for number in range(RECORDS)])
    say("Copy a topic of two partitions into one of six")
    copy_topic(servers, OLD, NEW, RECORDS)
    copied = read_topic(servers, NEW)
    expect(len(copied), RECORDS, f"all {RECORDS} records are in the new topic")
    by_key: dict[str, list[int]] = {}
    for record in copied:
        by_key.setdefault(record.name, []).append(int(record.text))
    check(all(values == sorted(values) for values in by_key.values()), "in the order of each key")
    wrong = [r for r in copied if r.partition != partition_of(r.key or b"", 6)]
    expect(wrong, [], "and where six partitions have their keys: writers may go on there")


if __name__ == "__main__":
    on_broker(story)
