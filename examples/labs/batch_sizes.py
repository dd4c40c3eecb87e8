"""How many records a poll may return, and what a slow reader makes of it.

    python -m examples.labs.batch_sizes

Ten runs of 50 records are read five at a time, with a pause after each poll; then 500 may come at
once, and a poll returns what is there. Java's `max.poll.records` is an argument here: how many
records `consume` may return.
"""

from __future__ import annotations

import time
from typing import Final

from confluent_kafka import Consumer, KafkaException

from examples.cluster.lab import PATIENCE_S, LabFailed, say
from examples.labs.producer_example import long_key
from examples.labs.reading import MEMBER_SETTINGS
from examples.labs.staging import check, expect, on_broker
from examples.leaving import leave
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

TOPIC: Final = "batch-sizes"
RUNS: Final = 10
RECORDS: Final = 50
PAUSE_S: Final = 0.01


def read_batches(
    consumer: Consumer, records: int, max_poll_records: int, pause_s: float
) -> list[int]:
    """The sizes of the polls that it took to read so many records."""
    sizes: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    while sum(sizes) < records:
        messages = consumer.consume(max_poll_records, 0.2)
        if any(message.error() is not None for message in messages):
            raise KafkaException(messages[0].error())
        if messages:
            sizes.append(len(messages))
            time.sleep(pause_s)
        elif time.monotonic() > deadline:
            raise LabFailed(f"only {sum(sizes)} of {records} records came")
    return sizes


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    create_topic(servers, TOPIC, partitions=13)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": TOPIC, **MEMBER_SETTINGS})
    consumer.subscribe([TOPIC])
    say(f"{RUNS} runs of {RECORDS} records, five at a time")
    sizes: list[int] = []
    for run in range(RUNS):
        first_key = run * RECORDS
        drafts = [Draft(f"Hello Mom {n}", long_key(first_key + n)) for n in range(RECORDS)]
        send(servers, TOPIC, drafts)
        of_run = read_batches(consumer, RECORDS, 5, PAUSE_S)
        print(f"run {run + 1}: {len(of_run)} polls, {' '.join(map(str, of_run))}")
        sizes += of_run
    expect(sum(sizes), RUNS * RECORDS, "every record of every run was read once")
    check(max(sizes) <= 5, "no poll returned more than five")
    check(len(sizes) >= RUNS * RECORDS // 5, "so at least a hundred polls were needed")

    say("Now 500 may come at once")
    drafts = [Draft(f"Hello Mom {n}", long_key(n)) for n in range(RECORDS)]
    send(servers, TOPIC, drafts)
    large = read_batches(consumer, RECORDS, 500, 0)
    print(f"{' + '.join(map(str, large))} = {sum(large)}")
    expect(sum(large), RECORDS, "the same 50 records")
    check(len(large) < RECORDS // 5, f"in {len(large)} polls instead of ten or more")
    leave(consumer)


if __name__ == "__main__":
    on_broker(story)
