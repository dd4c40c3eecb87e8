"""Three consumers of one group, then three groups of one.

    python -m examples.labs.consumer_example

The keys are fixed, so the outcome is too: of 25 records the three members
of the group get ten, seven and eight. With groups of their own, each consumer gets all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Message

from examples.cluster.lab import say
from examples.labs.java_hashes import partition_of
from examples.labs.producer_example import long_key
from examples.labs.reading import MEMBER_SETTINGS, Member, await_split, poll_until, read_topic
from examples.labs.staging import check, expect, on_broker
from examples.leaving import leave
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

TOPIC: Final = "my-consumer-example-topic"
GROUP: Final = "KafkaExampleConsumer"
PARTITIONS: Final = 13
FIRST_KEY: Final = 1_495_042_369_486
RECORDS: Final = 25
GIVE_UP: Final = 100
POLL_S: Final = 0.01


def run_consumer(consumer: Consumer, handle: Callable[[Message], Any], give_up: int) -> int:
    """Read until nothing came so many times; how many records there were."""
    count = empty_polls = 0
    while empty_polls < give_up:
        messages = consumer.consume(500, POLL_S)
        if not messages:
            empty_polls += 1
            continue
        for message in messages:
            if (error := message.error()) is not None:
                raise KafkaException(error)
            handle(message)
            count += 1
        consumer.commit(asynchronous=True)
    return count


def print_record(message: Message) -> None:
    key = int.from_bytes(message.key() or b"", "big")
    value = (message.value() or b"").decode()
    print(f"Consumer Record:({key}, {value}, {message.partition()}, {message.offset()})")


def drafts(first_key: int, count: int) -> Iterator[Draft]:
    for index in range(count):
        yield Draft(f"Hello Mom {index}", long_key(first_key + index))


@contextmanager
def members(servers: str, groups: list[str], topic: str = TOPIC) -> Iterator[list[Member]]:
    """A consumer for each name of a group; all leave at the end."""
    with ExitStack() as stack:
        joined = []
        for number, group in enumerate(groups):
            joined.append(Member(servers, group, topic, f"consumer-{number}"))
            stack.callback(joined[-1].leave)
        yield joined


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    create_topic(servers, TOPIC, partitions=PARTITIONS)
    _one_consumer(servers)
    _same_group(servers)
    _unique_groups(servers)


def _one_consumer(servers: str) -> None:
    say(f"One consumer that gives up after {GIVE_UP} empty polls")
    send(servers, TOPIC, drafts(FIRST_KEY - 5, 5))
    # The name of the group is the consumer's own here, and shared by three below.
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "alone", **MEMBER_SETTINGS})
    consumer.subscribe([TOPIC])
    count = run_consumer(consumer, print_record, GIVE_UP)
    leave(consumer)
    expect(count, 5, "it has read five records, and ended by itself")


def _same_group(servers: str) -> None:
    say("Three consumers of one group")
    before = read_topic(servers, TOPIC)
    with members(servers, [GROUP] * 3) as group:
        await_split(group, PARTITIONS)
        shares = [each.partitions for each in group]
        expect(
            shares,
            [[0, 1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]],
            "each has a range of the 13 partitions",
        )
        poll_until(group, lambda: _count(group) == len(before), "what was there is read")
        for member in group:
            member.records.clear()
        send(servers, TOPIC, drafts(FIRST_KEY, RECORDS))
        poll_until(group, lambda: _count(group) >= RECORDS, "all are read")
        counts = [len(each.records) for each in group]
        print(f"{' + '.join(map(str, counts))} = {sum(counts)}")
        expect(sorted(counts), [7, 8, 10], "25 records are split 10 + 7 + 8")
        keys = [record.key for each in group for record in each.records]
        expect(len(set(keys)), RECORDS, "none of them was read twice")
        check(
            all(r.partition in each.partitions for each in group for r in each.records),
            "who owns a partition reads its records: partition 10 belongs to the third consumer",
        )


def _unique_groups(servers: str) -> None:
    say("Three consumers with groups of their own")
    before = len(read_topic(servers, TOPIC))
    ends = _ends(servers)
    with members(servers, [f"{GROUP}-{number}" for number in range(3)]) as alone:
        poll_until(alone, lambda: all(len(m.records) >= before for m in alone), "the past")
        for member in alone:
            member.records.clear()
        keys = list(range(FIRST_KEY + RECORDS, FIRST_KEY + RECORDS + 5))
        send(servers, TOPIC, drafts(keys[0], 5))
        poll_until(alone, lambda: all(len(each.records) >= 5 for each in alone), "the five")
        for member in alone:
            read = sorted(record.key or b"" for record in member.records)
            expect(read, [long_key(key) for key in keys], f"{member.name} has read all five")
    for key in keys:
        ends[partition_of(long_key(key), PARTITIONS)] += 1
    expect(_ends(servers), ends, "each record took the next offset of its partition")


def _count(group: list[Member]) -> int:
    return sum(len(each.records) for each in group)


def _ends(servers: str) -> dict[int, int]:
    """The next offset of each partition."""
    ends = dict.fromkeys(range(PARTITIONS), 0)
    for record in read_topic(servers, TOPIC):
        ends[record.partition] = record.offset + 1
    return ends


if __name__ == "__main__":
    on_broker(story)
