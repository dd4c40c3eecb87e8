"""Where a consumer reads: seeks, assignment by hand, offsets kept elsewhere."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from tests.clients.consumer.application import (
    TIMEOUT_SECONDS,
    Members,
    committed_of,
    numbered,
    offsets,
    outsider,
    values,
    write,
)
from tests.clients.drivers.java_consumer import OpenedConsumers
from tests.clients.drivers.librdkafka import Librdkafka
from tests.clients.groups.raw_members import described
from tests.clients.raw import Connection
from tests.clients.records import FIRST_TIMESTAMP_MS, TIMESTAMP_STEP_MS, numbered_records


@pytest.mark.spec("slides:D25", "slides:D40", "book1:C-07", "book1:C-34")
def test_seeks_of_the_java_client(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str, group: str
) -> None:
    """To an offset, to the start, to the end, whatever was committed before."""
    write(bootstrap, topic, numbered(20))
    place = [(topic, 0)]
    consumer = java_consumers.join(group, topic)
    consumer.take(20)
    consumer.call("commit_sync")
    consumer.call("seek", partitions=place, offset=13)
    assert [each["offset"] for each in consumer.take(7)] == list(range(13, 20))
    consumer.call("seek_to_beginning", partitions=place)
    assert consumer.call("position", partitions=place) == [0]
    assert [each["offset"] for each in consumer.take(20)] == list(range(20))
    consumer.call("seek", partitions=place, offset=2)
    consumer.call("seek_to_end", partitions=place)
    assert consumer.call("position", partitions=place) == [20]
    write(bootstrap, topic, [b"new"])
    assert [each["value"] for each in consumer.take(1)] == ["new"]
    assert consumer.call("committed", partitions=place) == [20]


@pytest.mark.spec("slides:D25", "slides:D40", "book1:C-07")
def test_seeks_of_librdkafka(bootstrap: str, members: Members, topic: str, group: str) -> None:
    """The same three moves, within a group."""
    write(bootstrap, topic, numbered(20))
    member = members.join(group, topic)
    member.take(20)
    for where, wanted in ((13, numbered(7, start=13)), (OFFSET_BEGINNING, numbered(20))):
        member.consumer.seek(TopicPartition(topic, 0, where))
        assert values(member.take(len(wanted))) == wanted
    member.consumer.seek(TopicPartition(topic, 0, 2))
    member.consumer.seek(TopicPartition(topic, 0, OFFSET_END))
    assert member.poll(0.2) is None
    write(bootstrap, topic, [b"new"])
    assert values(member.take(1)) == [b"new"]


@pytest.mark.spec("admin:CO-24")
def test_a_time_is_an_offset_to_seek_to(
    java_consumers: OpenedConsumers, librdkafka: Librdkafka, topic: str
) -> None:
    """offsetsForTimes() finds the first record at or after a time, seek() goes there."""
    librdkafka.produce(topic, 0, numbered_records(10))
    consumer = java_consumers.open()
    consumer.call("assign", partitions=[(topic, 0)])
    time_ms = FIRST_TIMESTAMP_MS + 6 * TIMESTAMP_STEP_MS - 1
    offset = consumer.call("offset_for_time", partitions=[(topic, 0)], timestamp_ms=time_ms)
    assert offset == 6
    consumer.call("seek", partitions=[(topic, 0)], offset=offset)
    found = consumer.take(4)
    assert [each["offset"] for each in found] == [6, 7, 8, 9]
    assert all(each["timestamp_ms"] >= time_ms for each in found)


@pytest.mark.spec("slides:D23", "admin:CO-26", "book1:C-34")
def test_assigned_by_hand_nobody_else_has_a_say(
    bootstrap: str, connection: Connection, members: Members, topic: str, group: str
) -> None:
    """No group is joined, nobody takes over, and two may read the same partition."""
    write(bootstrap, topic, numbered(10))
    readers = [members.new(group) for _ in range(2)]
    for reader in readers:
        reader.consumer.assign([TopicPartition(topic, 0, 3)])
        assert offsets(reader.take(7)) == list(range(3, 10))
    assert described(connection, group).members == []
    readers[0].close()
    write(bootstrap, topic, [b"later"])
    assert values(readers[1].take(1)) == [b"later"]
    assert readers[1].events == []
    # It may read again, and commit where it likes.
    readers[1].consumer.seek(TopicPartition(topic, 0, 1))
    assert offsets(readers[1].take(2)) == [1, 2]
    readers[1].consumer.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
    assert committed_of(bootstrap, group, topic) == 5


@pytest.mark.spec("slides:D23")
def test_assign_and_subscribe_exclude_each_other(
    java_consumers: OpenedConsumers, topic: str, group: str
) -> None:
    """Whichever came first, the other is refused until unsubscribe."""
    consumer = java_consumers.join(group, topic)
    assert "IllegalStateException" in consumer.refusal("assign", partitions=[(topic, 0)])
    consumer.call("unsubscribe")
    consumer.call("assign", partitions=[(topic, 0)])
    assert "IllegalStateException" in consumer.refusal("subscribe", topics=[topic])


@pytest.mark.spec("admin:CO-22", "book1:C-24", "slides:D17", "admin:CO-23")
def test_where_a_new_group_begins(bootstrap: str, members: Members, topic: str, group: str) -> None:
    """auto.offset.reset: the end unless told otherwise, the start, or an error."""
    write(bootstrap, topic, numbered(5))

    def begun(name: str, reset: str | None) -> Message | None:
        member = members.new(f"{group}-{name}", auto_offset_reset=reset)
        place = TopicPartition(topic, 0)
        member.consumer.assign([place])
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            message = member.consumer.poll(0.05)
            if message is not None:
                return message
            _, end = member.consumer.get_watermark_offsets(place, cached=True)
            if end == 5:
                return member.consumer.poll(0.1)  # the first fetch was answered
        raise AssertionError("nothing was fetched")

    assert begun("default", None) is None
    assert begun("latest", "latest") is None
    for word in ("earliest", "smallest"):
        # A group at random, to read everything again.
        first = begun(f"{word}-{uuid.uuid4()}", word)
        assert first is not None
        assert first.offset() == 0
    refused = begun("none", "error")
    assert refused is not None
    fault = refused.error()
    assert fault is not None
    assert fault.code() == KafkaError._AUTO_OFFSET_RESET


@pytest.mark.spec("book1:C-24", "admin:CO-22")
def test_no_offset_and_no_policy_is_an_exception(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str, group: str
) -> None:
    """auto.offset.reset=none of the Java client raises; latest is its default."""
    write(bootstrap, topic, numbered(3))
    consumer = java_consumers.open(group_id=group, auto_offset_reset="none")
    consumer.call("assign", partitions=[(topic, 0)])
    assert "NoOffsetForPartitionException" in consumer.refusal("poll_once", timeout_ms=5000)
    keys = ["auto.offset.reset"]
    assert java_consumers.program.call("defaults", keys=keys) == {"auto.offset.reset": "latest"}


@pytest.mark.spec("admin:CO-19")
def test_lag_is_the_distance_to_the_end(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str, group: str
) -> None:
    """500 records and 400 committed are a lag of 100, to the client and to Kafka's own tool."""
    write(bootstrap, topic, numbered(500))
    consumer = java_consumers.join(group, topic)
    consumer.take(500)
    consumer.call("seek", partitions=[(topic, 0)], offset=400)
    consumer.call("commit_sync", offsets=[(topic, 0, 400)])
    assert consumer.call("lag", partitions=[(topic, 0)]) == 100
    told = java_consumers.program.call(
        "kafka_consumer_groups", arguments=["--describe", "--group", group]
    )
    (row,) = (line.split() for line in told.splitlines() if line.startswith(group))
    assert row[:6] == [group, topic, "0", "400", "500", "100"]
    with outsider(bootstrap, group) as looker:
        (place,) = looker.committed([TopicPartition(topic, 0)], timeout=TIMEOUT_SECONDS)
        _, end = looker.get_watermark_offsets(TopicPartition(topic, 0), timeout=TIMEOUT_SECONDS)
    assert end - place.offset == 100


class RobotClick(Exception):
    """A record that the application does not want; it is counted and passed over."""


class Crash(Exception):
    """The application ends here."""


class ClickStore:
    """Clicks without robots, and how far each partition was read, in one transaction each."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE TABLE clicks (url TEXT, session TEXT)")
        self._database.execute("CREATE TABLE places (part INTEGER PRIMARY KEY, next INTEGER)")

    def place(self, partition: int) -> int:
        row = self._database.execute("SELECT next FROM places WHERE part = ?", [partition])
        return int((row.fetchone() or [0])[0])

    def process(self, message: Message, *, crash: bool) -> None:
        with self._database:  # all of it, or nothing
            with contextlib.suppress(RobotClick):
                self._store(validated(message))
            if crash:
                raise Crash
            place = (message.partition(), (message.offset() or 0) + 1)
            self._database.execute("INSERT OR REPLACE INTO places VALUES (?, ?)", place)

    def _store(self, click: dict[str, str]) -> None:
        row = (click["url"], f"session-of-{click['user']}")
        self._database.execute("INSERT INTO clicks VALUES (?, ?)", row)

    def urls(self) -> list[str]:
        return sorted(url for (url,) in self._database.execute("SELECT url FROM clicks"))


def validated(message: Message) -> dict[str, str]:
    click: dict[str, str] = json.loads(message.value() or b"")
    if click["agent"] == "robot":
        raise RobotClick
    return click


@pytest.fixture
def store() -> Iterator[ClickStore]:
    made = ClickStore()
    yield made
    made._database.close()


@pytest.mark.spec("book1:C-13", "book1:C-35", "book1:C-38", "slides:D41", "admin:CO-26")
def test_results_and_offsets_stored_together_are_exactly_once(
    bootstrap: str,
    members: Members,
    store: ClickStore,
    new_topic: Callable[..., str],
    group: str,
) -> None:
    """A consumer that dies again and again, before its transaction, loses and repeats none."""
    topic = new_topic(partitions=2)
    clicks = [
        json.dumps({"url": f"/{number}", "user": "u", "agent": "robot" if number % 5 == 0 else "x"})
        for number in range(20)
    ]
    for partition in range(2):
        write(bootstrap, topic, [each.encode() for each in clicks], partition=partition)
    crashes = 0
    while any(store.place(partition) < 20 for partition in range(2)):
        member = members.new(group)
        member.consumer.assign(
            [TopicPartition(topic, partition, store.place(partition)) for partition in range(2)]
        )
        with contextlib.suppress(Crash):
            for turn in range(7):
                (message,) = member.take(1)
                store.process(message, crash=turn == 6)
                if all(store.place(partition) == 20 for partition in range(2)):
                    break
        crashes += 1
        member.close()
    assert crashes > 5
    wanted = [f"/{number}" for number in range(20) if number % 5]
    assert store.urls() == sorted(wanted + wanted)


@pytest.mark.spec("book1:C-13", "book1:C-38")
def test_the_flow_of_a_consumer_ends_with_its_commit(
    bootstrap: str, members: Members, topic: str, group: str
) -> None:
    """Subscribe, poll, decode, validate, store, commit; a failure before the commit repeats."""
    write(bootstrap, topic, [b'{"n": 1}', b"nonsense", b'{"n": 3}', b'{"n": 4}'])
    stored: list[int] = []
    refused: list[int | None] = []

    def run(*, fail_at: int | None = None) -> None:
        member = members.join(group, topic)
        with contextlib.suppress(Crash):
            while not stored or stored[-1] != 4:
                (message,) = member.take(1)
                try:
                    number = json.loads(message.value() or b"")["n"]
                except ValueError:
                    refused.append(message.offset())
                else:
                    if number == fail_at:
                        raise Crash
                    stored.append(number)
                member.consumer.commit(message=message, asynchronous=False)
        member.close()

    run(fail_at=3)
    assert (stored, refused) == ([1], [1])
    assert committed_of(bootstrap, group, topic) == 2
    run()
    assert (stored, refused) == ([1, 3, 4], [1])
    assert committed_of(bootstrap, group, topic) == 4


@pytest.mark.spec("book1:C-06")
def test_an_offset_belongs_to_whoever_commits_it(
    bootstrap: str, members: Members, topic: str, group: str
) -> None:
    """Any offset may be committed, one that does not exist as well, with a word of the client's."""
    member = members.new(group)
    for offset, word in ((7, "seven"), (3, "back"), (1 << 40, "far")):
        place = TopicPartition(topic, 0, offset, word)
        member.consumer.commit(offsets=[place], asynchronous=False)
        (found,) = member.consumer.committed([TopicPartition(topic, 0)], timeout=TIMEOUT_SECONDS)
        assert (found.offset, found.metadata) == (offset, word)
    nowhere = TopicPartition(topic, 99, 0)
    with pytest.raises(KafkaException):
        member.consumer.commit(offsets=[nowhere], asynchronous=False)
