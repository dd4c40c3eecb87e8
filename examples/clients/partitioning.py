"""Which partition a record goes to: by its key, by a rule of your own, or a hot key by itself.

    python -m examples.clients.partitioning [-b HOST:PORT]

librdkafka calls no Python for each record, so a rule of your own is a function that names the
partition when the record is handed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias
from zlib import crc32

from confluent_kafka import Producer

from examples.topics import Draft, broker, named_servers, provide, write

Partitioner: TypeAlias = Callable[[bytes, int], int]  # key and number of partitions
PURCHASES: Final = "purchase"
FLUSH_TIMEOUT_S: Final = 30.0


def send_purchases(purchases: Iterable[tuple[str, str]]) -> None:
    """Category and text: the category is the key, so a category is in one partition, in order."""
    write(PURCHASES, [Draft(text, category) for category, text in purchases])


def always_first(_key: bytes, _partitions: int) -> int:
    return 0


def isolate(hot_key: bytes) -> Partitioner:
    """The last partition is for the hot key alone; all others share the rest."""

    def choose(key: bytes, partitions: int) -> int:
        if key == hot_key or partitions == 1:
            return partitions - 1
        return crc32(key) % (partitions - 1)

    return choose


def send_with(
    servers: str, topic: str, records: Iterable[tuple[bytes, bytes]], choose: Partitioner
) -> None:
    producer: Any = Producer({"bootstrap.servers": servers})
    partitions = len(producer.list_topics(topic, FLUSH_TIMEOUT_S).topics[topic].partitions)
    for key, value in records:
        producer.produce(topic, value, key, partition=choose(key, partitions))
    left = producer.flush(FLUSH_TIMEOUT_S)
    producer.close()
    if left:
        raise TimeoutError(f"not all records of {topic} were taken within {FLUSH_TIMEOUT_S} s")


def main() -> None:
    with broker(named_servers(__doc__)) as servers:
        provide(PURCHASES, partitions=4)
        send_purchases([("electronics", "a radio"), ("garden", "a rake"), ("electronics", "wire")])
        provide("hot", partitions=4)
        send_with(servers, "hot", [(b"big", b"1"), (b"small", b"2")], isolate(b"big"))
        print("sent; see them with headrace consume")


if __name__ == "__main__":
    main()
