"""Consumers of raw batches share partitions, hand them over, and find new ones."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping

import confluent_kafka
import pytest

from headrace.client.cluster import Cluster
from headrace.client.consuming import Consumption, GroupConsumer, NoOffset, is_expelled
from headrace.client.group_offsets import commit_offsets, committed_offsets
from headrace.client.producing import RawProducer
from headrace.client.settings import client_settings
from headrace.errors import HeadraceError
from headrace.records.batch import split_batches
from headrace.records.record import iterate
from headrace.testing import Broker
from headrace.types import TopicPartition
from tests.client.batches import create_topic, payload


class Reader(threading.Thread):
    """A consumer in a thread of its own that commits what it has read before it gives it up."""

    def __init__(self, bootstrap: str, group: str, *topics: str, **options: object) -> None:
        super().__init__(daemon=True)
        patience = {"default.api.timeout.ms": str(options.pop("api_timeout_ms", 60_000))}
        settings, _ = client_settings({"bootstrap.servers": bootstrap, **patience})
        wanted = {"heartbeat_interval_ms": 100, "max_wait_ms": 50, "metadata_max_age_ms": 200}
        self.consumer = GroupConsumer(
            settings,
            Consumption(group, topics, **(wanted | options)),  # type: ignore[arg-type]
            on_assigned=self._assigned,
            on_revoked=self._revoked,
            on_lost=lambda places: None,
        )
        self.begins_at: dict[TopicPartition, int] = {}
        self.read: list[tuple[TopicPartition, int]] = []
        self.faults: list[HeadraceError] = []
        self.faults_seen = 0
        self.changed = threading.Condition()
        self.owned: set[TopicPartition] = set()
        self._stopping = threading.Event()

    def run(self) -> None:
        try:
            self.consumer.start()
            while not self._stopping.is_set():
                self._poll()
            self.consumer.close()
        except HeadraceError as fault:
            with self.changed:
                self.faults.append(fault)
                self.changed.notify_all()

    def _poll(self) -> None:
        if self.consumer.fault is not None:
            with self.changed:
                self.faults_seen += 1
                self.changed.notify_all()
        for place, offset, fetched in self.consumer.poll(wait_s=0.05):
            assert fetched is not None
            batches = split_batches(fetched.records, allow_partial_tail=True)
            found = [(header, [*iterate(header, view)]) for header, view in batches]
            with self.changed:
                self.read += [
                    (place, record.offset)
                    for _, records in found
                    for record in records
                    if record.offset >= offset  # a batch comes whole
                ]
                self.changed.notify_all()
            if found:
                self.consumer.advance(place, found[-1][0].next_offset)
            assert not found or found[0][0].base_offset <= offset

    def _assigned(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        with self.changed:
            self.owned = set(places)
            self.changed.notify_all()
        return self.begins_at

    def _revoked(self, places: Collection[TopicPartition]) -> None:
        self.owned = set()
        try:
            self.consumer.commit(self.consumer.positions)
        except HeadraceError as fault:
            if not is_expelled(fault):
                raise

    def until(self, is_so: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(is_so, 30), (self.owned, self.read, self.faults)

    def stop(self) -> None:
        self._stopping.set()
        self.join(30)
        assert not self.is_alive()


@pytest.fixture
def reader(bootstrap: str, fresh_name: str) -> Iterator[Callable[..., Reader]]:
    """Starts readers of one group, who leave with the test."""
    started: list[Reader] = []

    def start(*topics: str, **options: object) -> Reader:
        made = Reader(bootstrap, fresh_name, *topics, **options)
        made.start()
        started.append(made)
        return made

    yield start
    for made in started:
        made.stop()


def write(
    cluster: Cluster, topic: str, partitions: int, each: int
) -> set[tuple[TopicPartition, int]]:
    producer = RawProducer(cluster)
    for partition in range(partitions):
        producer.send(topic, partition, payload([b"v"] * each))
    producer.flush()
    return {(TopicPartition(topic, p), at) for p in range(partitions) for at in range(each)}


def test_two_share_what_one_had_and_nothing_is_read_twice(
    cluster: Cluster, new_topic: Callable[..., str], reader: Callable[..., Reader]
) -> None:
    topic = new_topic(partitions=4)
    written = write(cluster, topic, 4, 25)
    first = reader(topic)
    first.until(lambda: len(first.read) == 100)
    second = reader(topic)
    second.until(lambda: len(second.owned) == 2)
    first.until(lambda: len(first.owned) == 2)
    assert first.owned | second.owned == {TopicPartition(topic, number) for number in range(4)}
    write(cluster, topic, 4, 5)
    second.until(lambda: len(second.read) == 10)
    first.until(lambda: len(first.read) == 110)
    second.stop()
    first.until(lambda: len(first.owned) == 4)
    write(cluster, topic, 4, 1)
    first.until(lambda: len(first.read) == 114)
    both = first.read + second.read
    assert len(set(both)) == len(both) == 124
    assert set(both) >= written


def test_librdkafka_in_the_same_group(
    bootstrap: str,
    fresh_name: str,
    new_topic: Callable[..., str],
    reader: Callable[..., Reader],
) -> None:
    """Each takes a share, whoever of them leads."""
    topic = new_topic(partitions=2)
    ours = reader(topic)
    ours.until(lambda: len(ours.owned) == 2)
    theirs = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": fresh_name,
            "partition.assignment.strategy": "range",
            "log_level": 0,
        }
    )
    theirs.subscribe([topic])
    for _ in range(300):
        theirs.poll(0.1)
        if len(theirs.assignment()) == 1 and len(ours.owned) == 1:
            break
    places = {TopicPartition(each.topic, each.partition) for each in theirs.assignment()}
    assert places | ours.owned == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
    assert not places & ours.owned
    theirs.close()
    ours.until(lambda: len(ours.owned) == 2)


def test_a_pattern_finds_topics_that_come_later(
    cluster: Cluster, fresh_name: str, reader: Callable[..., Reader]
) -> None:
    prefix = f"p-{fresh_name}"
    create_topic(cluster, f"{prefix}-a", 1, {})
    found = reader(pattern=re.compile(f"{prefix}-.*"))
    found.until(lambda: len(found.owned) == 1)
    create_topic(cluster, f"{prefix}-b", 2, {})
    found.until(lambda: len(found.owned) == 3)


def test_a_named_topic_may_come_later(
    cluster: Cluster, fresh_name: str, reader: Callable[..., Reader]
) -> None:
    early = reader(f"late-{fresh_name}")
    create_topic(cluster, f"late-{fresh_name}", 1, {})
    write(cluster, f"late-{fresh_name}", 1, 3)
    early.until(lambda: len(early.read) == 3)


def test_it_begins_where_it_is_told(
    cluster: Cluster,
    fresh_name: str,
    new_topic: Callable[..., str],
    bootstrap: str,
) -> None:
    """What the caller says counts more than what was committed, and that more than the policy."""
    topic = new_topic(partitions=3)
    write(cluster, topic, 3, 10)
    places = [TopicPartition(topic, number) for number in range(3)]
    commit_offsets(cluster, fresh_name, {places[0]: (4, ""), places[1]: (4, "")})
    made = Reader(bootstrap, fresh_name, topic, reset="latest")
    made.begins_at = {places[1]: 8}
    made.start()
    try:
        made.until(lambda: len(made.read) == 8)
        producer = RawProducer(cluster)
        producer.send(topic, 2, payload([b"v"]))
        producer.flush()
        made.until(lambda: len(made.read) == 9)
    finally:
        made.stop()
    assert {at for place, at in made.read if place == places[2]} == {10}
    committed = committed_offsets(cluster, fresh_name)
    assert {committed[place][0] for place in places} == {10, 11}


def test_without_a_policy_it_says_what_is_missing(
    new_topic: Callable[..., str], reader: Callable[..., Reader]
) -> None:
    made = reader(new_topic(partitions=1), reset="none")
    made.until(lambda: bool(made.faults))
    assert isinstance(made.faults[0], NoOffset)
    assert "auto.offset.reset" in str(made.faults[0])


def test_an_outage_is_waited_out(open_cluster: Callable[..., Cluster], fresh_name: str) -> None:
    """However long it lasts: calls give up after half a second here, the consumer does not."""
    with Broker({"group.initial.rebalance.delay.ms": "0"}) as broker:
        cluster = open_cluster(broker.bootstrap_servers)
        topic = create_topic(cluster, f"o-{fresh_name}", 1, {})
        write(cluster, topic, 1, 3)
        made = Reader(broker.bootstrap_servers, fresh_name, topic, api_timeout_ms=500)
        made.start()
        try:
            made.until(lambda: len(made.read) == 3)
            broker.kill()
            for _ in range(4):
                outage = made.faults_seen
                made.until(lambda seen=outage: made.faults_seen > seen)  # type: ignore[misc]
            broker.restart()
            write(open_cluster(broker.bootstrap_servers), topic, 1, 2)
            # Nothing was committed: if its session ended meanwhile it reads from the beginning.
            made.until(lambda: {at for _, at in made.read} == set(range(5)))
        finally:
            made.stop()
        assert made.faults == []
