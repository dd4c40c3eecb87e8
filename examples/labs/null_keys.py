"""Where records without a key go.

    python -m examples.labs.null_keys

Three answers are in use. The default is sticky: all records that fill a batch together go to one
partition, the next batch to another, so batches are large. Round robin deals records one by one.
And a key, once there is one, decides for itself.
"""

from __future__ import annotations

import time
from typing import Any, Final

from confluent_kafka import Producer

from examples.cluster.lab import PATIENCE_S, say
from examples.labs.reading import Record, read_topic
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

PARTITIONS: Final = 5
WAVES: Final = 30
WAVE: Final = 10
WARM_UP: Final = "warm-up"


def send_in_waves(servers: str, topic: str, waves: list[list[str]], sticky_ms: int = 20) -> None:
    """Records without keys; a flush ends each wave, and with it the batch."""
    # librdkafka sticks to a partition for a time; Java's client until a batch is full.
    settings: dict[str, Any] = {"linger.ms": 50, "sticky.partitioning.linger.ms": sticky_ms}
    producer = Producer({"bootstrap.servers": servers, **settings})
    # Only a client that knows the partitions and their leaders can stick to one of them.
    producer.produce(topic, WARM_UP, partition=0)
    for wave in waves:
        producer.flush(PATIENCE_S)
        time.sleep(sticky_ms * 1.25 / 1000)
        for value in wave:
            producer.produce(topic, value)
    producer.flush(PATIENCE_S)
    producer.close()


def places(records: list[Record]) -> dict[str, int]:
    return {record.text: record.partition for record in records}


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    say("Sticky: thirty waves of ten records without a key")
    create_topic(servers, "null-keys-sticky", partitions=PARTITIONS)
    waves = [[f"{wave}-{number}" for number in range(WAVE)] for wave in range(WAVES)]
    send_in_waves(servers, "null-keys-sticky", waves)
    where = places(read_topic(servers, "null-keys-sticky"))
    used = [sorted({where[value] for value in wave}) for wave in waves]
    print(" ".join(",".join(map(str, each)) for each in used))
    together = sum(len(each) == 1 for each in used)
    # A wave that begins as the time of the last partition ends may be cut once.
    check(together >= WAVES * 0.8, f"{together} of {WAVES} waves went to one partition as a whole")
    check(all(len(each) <= 2 for each in used), "none was dealt out to more than two")
    check(len({n for each in used for n in each}) > 1, "and the waves did not all go to the same")

    say("Round robin: each record to the next partition")
    create_topic(servers, "null-keys-round-robin", partitions=PARTITIONS)
    dealt = [Draft(str(n), partition=n % PARTITIONS) for n in range(WAVE * PARTITIONS)]
    send(servers, "null-keys-round-robin", dealt)
    records = read_topic(servers, "null-keys-round-robin")
    counts = [sum(r.partition == n for r in records) for n in range(PARTITIONS)]
    expect(counts, [WAVE] * PARTITIONS, "every partition has the same number of records")

    say("With a key: always the same partition")
    create_topic(servers, "with-keys", partitions=PARTITIONS)
    send(servers, "with-keys", [Draft(f"{n}", f"key-{n % 7}") for n in range(70)])
    by_key: dict[str, set[int]] = {}
    for record in read_topic(servers, "with-keys"):
        by_key.setdefault(record.name, set()).add(record.partition)
    check(
        len(by_key) == 7 and all(len(each) == 1 for each in by_key.values()),
        "each of seven keys has one partition",
    )


if __name__ == "__main__":
    on_broker(story)
