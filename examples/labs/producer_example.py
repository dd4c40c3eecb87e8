"""Records with a number as key, first sent one by one, then at once.

    python -m examples.labs.producer_example

The key is a Java Long, eight bytes with the highest first; the default partitioner sends it to
murmur2(key) mod 13. A synchronous send waits for the answer to each record; an asynchronous one
goes on, is told by a callback, and counts the answers down to zero before it ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from examples.cluster.lab import say
from examples.labs.java_hashes import partition_of
from examples.labs.reading import Record, read_topic, record_of
from examples.labs.staging import check, expect, on_broker
from examples.topics import create_topic
from headrace.testing import Broker

TOPIC: Final = "my-example-topic"
PARTITIONS: Final = 13
SYNCHRONOUS: Final = 5
ASYNCHRONOUS: Final = 100
LATCH_TIMEOUT_S: Final = 25.0


def long_key(number: int) -> bytes:
    """What Java's LongSerializer makes of a number."""
    return number.to_bytes(8, "big", signed=True)


def create_producer(servers: str) -> Producer:
    return Producer(
        {
            "bootstrap.servers": servers,
            "client.id": "KafkaExampleProducer",
            "partitioner": "murmur2_random",  # Java's choice; librdkafka's own default is another
        }
    )


def run_synchronously(producer: Producer, keys: Iterable[int]) -> list[Record]:
    """Wait for each record before the next one is sent."""
    answers: list[Record] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        answers.append(record_of(message))

    for index, key in enumerate(keys):
        begun = time.monotonic()
        producer.produce(TOPIC, f"Hello Mom {index}", long_key(key), on_delivery=on_delivery)
        producer.flush(LATCH_TIMEOUT_S)
        sent, elapsed_ms = answers[-1], (time.monotonic() - begun) * 1000
        print(
            f"sent record(key={key} value=Hello Mom {index}) "
            f"meta(partition={sent.partition}, offset={sent.offset}) time={elapsed_ms:.0f}"
        )
    return answers


def run_asynchronously(producer: Producer, keys: list[int]) -> list[Record]:
    """Send all; the callbacks, one for each record, count down to the end."""
    answers: list[Record] = []
    latch = threading.Event()

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        answers.append(record_of(message))
        if len(answers) == len(keys):
            latch.set()

    for index, key in enumerate(keys):
        producer.produce(TOPIC, f"Hello Mom {index}", long_key(key), on_delivery=on_delivery)
        producer.poll(0)
    producer.flush(LATCH_TIMEOUT_S)  # callbacks run in the thread that polls or flushes
    check(latch.wait(LATCH_TIMEOUT_S), f"all {len(keys)} answers came within 25 s")
    return answers


def story(broker: Broker) -> None:
    create_topic(broker.bootstrap_servers, TOPIC, partitions=PARTITIONS)
    producer = create_producer(broker.bootstrap_servers)
    now_ms = int(time.time() * 1000)
    say(f"{SYNCHRONOUS} records, each waited for")
    first = run_synchronously(producer, range(now_ms, now_ms + SYNCHRONOUS))
    expect(len(first), SYNCHRONOUS, "each of them was acknowledged before the next was sent")

    say(f"{ASYNCHRONOUS} records without waiting")
    begin = now_ms + SYNCHRONOUS
    later = run_asynchronously(producer, list(range(begin, begin + ASYNCHRONOUS)))
    by_partition: dict[int, list[int]] = {}
    for record in later:
        by_partition.setdefault(record.partition, []).append(record.offset)
    check(
        all(offsets == sorted(offsets) for offsets in by_partition.values()),
        "callbacks of one partition came in the order of its offsets",
    )

    say("What is in the topic")
    stored = read_topic(broker.bootstrap_servers, TOPIC)
    expect(len(stored), SYNCHRONOUS + ASYNCHRONOUS, "every record is there once")
    wrong = [r for r in stored if r.partition != partition_of(r.key or b"", PARTITIONS)]
    expect(wrong, [], "each lies in the partition that murmur2 gives its key")
    told = {(record.partition, record.offset, record.key) for record in [*first, *later]}
    expect({r[:3] for r in stored}, told, "partition and offset are those that were told")


if __name__ == "__main__":
    on_broker(story)
