"""Producers and consumers on their own, against a broker."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby

import pytest
from confluent_kafka import KafkaException, Message, Producer

from examples.clients import demo_consumer, demo_producer, loyalty_points, partitioning
from examples.clients import queue_and_broadcast as sharing
from examples.clients.rebalance_listener import TOPIC as REBALANCED
from examples.clients.rebalance_listener import join_and_leave
from examples.topics import Draft, provide, write
from tests.apps.reading import committed, read_topic


@pytest.mark.spec("book1:A-01")
def test_a_queue_gives_each_message_to_one_receiver(servers: str) -> None:
    """Two senders, two receivers: together they get everything, and nothing twice."""
    provide(sharing.QUEUE, partitions=2)
    found = sharing.point_to_point(servers)
    assert set(found) == {"R1", "R2"}
    assert all(len(messages) == 5 for messages in found.values())
    assert set(found["R1"]).isdisjoint(found["R2"])
    # A partition has one sender here: who reads it gets all of that sender's messages.
    assert all(len({text[-2:] for text in messages}) == 1 for messages in found.values())


@pytest.mark.spec("book1:A-02")
def test_a_broadcast_gives_every_message_to_every_group(servers: str) -> None:
    """Subscribers that the sender does not know each get all of it."""
    provide(sharing.EXCEPTIONS)
    found = sharing.broadcast(servers, ("mail", "pager", "dashboard"))
    expected = sorted(f"exception {number}" for number in range(10))
    assert {name: sorted(read) for name, read in found.items()} == dict.fromkeys(
        ("mail", "pager", "dashboard"), expected
    )


@pytest.mark.spec("book1:A-04")
def test_a_category_is_in_one_partition_in_order(servers: str) -> None:
    """One category can be read without the others."""
    provide(partitioning.PURCHASES, partitions=4)
    categories = ("electronics", "garden", "books", "toys", "music")
    sent = [(categories[n % 5], f"purchase {n}") for n in range(100)]
    partitioning.send_purchases(sent)
    found = read_topic(servers, partitioning.PURCHASES)
    places: dict[bytes, set[int]] = {}
    for record in found:
        places.setdefault(record.key or b"", set()).add(record.partition)
    assert all(len(partitions) == 1 for partitions in places.values())
    assert len(set.union(*places.values())) > 1
    electronics = [record.text for record in found if record.key == b"electronics"]
    assert electronics == [text for category, text in sent if category == "electronics"]


@pytest.mark.spec("book1:A-05", "book1:A-06", "book1:N-13")
@pytest.mark.parametrize(
    ("program", "first", "last"),
    [
        (demo_producer.JAVA, "Hello this is record 0", "Hello this is record 1999"),
        (demo_producer.SCALA, "Hello this is record1", "Hello this is record2000"),
    ],
    ids=["java", "scala"],
)
def test_two_thousand_records(
    servers: str, program: demo_producer.Program, first: str, last: str
) -> None:
    """All of them arrive, without keys, the same number in each partition."""
    provide(demo_producer.TOPIC, partitions=4)
    assert demo_producer.produce(servers, program) == []
    found = read_topic(servers, demo_producer.TOPIC)
    numbers = [int(re.sub(r"\D", "", record.text)) for record in found]
    assert sorted(numbers) == list(range(program.first, program.first + 2_000))
    assert {first, last} <= {record.text for record in found}
    assert Counter(record.partition for record in found) == dict.fromkeys(range(4), 500)
    assert {record.key for record in found} == {None}


def test_a_closed_producer_takes_nothing() -> None:
    """Closing it inside the loop, as a printed listing does, is an error at the next record."""
    producer = Producer({"bootstrap.servers": "127.0.0.1:1"})
    producer.close()
    with pytest.raises((KafkaException, RuntimeError)):
        producer.produce("test1", b"late")


@pytest.mark.spec("book1:A-07")
def test_a_consumer_commits_what_it_has_read(servers: str) -> None:
    """By timer, after each poll and at the end: all 2,000 are committed, and read once."""
    provide(demo_producer.TOPIC, partitions=2)
    demo_producer.produce(servers)
    texts: list[str] = []

    def keep(message: Message) -> None:
        texts.append((message.value() or b"").decode())

    def enough() -> bool:
        return len(texts) >= 2_000

    demo_consumer.consume(servers, keep, enough, {"auto.offset.reset": "earliest"})
    assert len(set(texts)) == len(texts) == 2_000
    assert committed(servers, "Demo_Group", "test1") == {0: 1_000, 1: 1_000}


@pytest.mark.spec("book1:A-07")
def test_a_new_group_begins_at_the_end(servers: str) -> None:
    """Without offsets and by default, only what comes later is read."""
    provide(demo_producer.TOPIC, [Draft("early", partition=0)], partitions=1)
    texts: list[str] = []

    def keep(message: Message) -> None:
        texts.append((message.value() or b"").decode())

    def stop() -> bool:
        write(demo_producer.TOPIC, [Draft("late", partition=0)])  # until the group is there
        return bool(texts)

    demo_consumer.consume(servers, keep, stop)
    assert set(texts) == {"late"}


@pytest.mark.spec("book1:A-08", "book1:P-20")
def test_a_partitioner_of_your_own(servers: str) -> None:
    """One sends everything to partition 0; the other keeps the hot key apart from all others."""
    provide("first", partitions=3)
    provide("hot", partitions=3)
    records = [(b"big" if n % 3 == 0 else b"key-%d" % n, b"%d" % n) for n in range(60)]
    partitioning.send_with(servers, "first", records, partitioning.always_first)
    partitioning.send_with(servers, "hot", records, partitioning.isolate(b"big"))
    assert {record.partition for record in read_topic(servers, "first")} == {0}
    found = read_topic(servers, "hot")
    assert {record.key for record in found if record.partition == 2} == {b"big"}
    others = {record.partition for record in found if record.key != b"big"}
    assert others == {0, 1}
    assert len(found) == 60


@pytest.mark.spec("book1:A-09")
def test_revoked_comes_before_assigned(servers: str) -> None:
    """A member is told what it loses before it is told what it gets."""
    provide(REBALANCED, partitions=4)
    told = join_and_leave(servers)
    kinds = [kind for kind, _ in groupby(what for what, _ in told)]
    assert kinds == ["assigned", "revoked", "assigned", "revoked", "assigned"]
    everything = (0, 1, 2, 3)
    assert told[0] == ("assigned", everything)
    assert told[1] == ("revoked", everything)
    assert len(told[2][1]) == 2
    assert told[-1] == ("assigned", everything)


@pytest.mark.spec("book1:A-17")
def test_two_services_that_know_only_topics(servers: str) -> None:
    """The campaign publishes before the points service is there, and finds its answers."""
    provide(loyalty_points.SPENT)
    provide(loyalty_points.POINTS)
    loyalty_points.publish_purchases([("ada", 1_250), ("ben", 990), ("ada", 260)])
    loyalty_points.serve_points(servers, 3)
    assert loyalty_points.read_points(servers, 2) == {"ada": 15, "ben": 9}
