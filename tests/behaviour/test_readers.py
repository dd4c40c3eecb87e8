"""One log, many readers: each has its own place, and none takes anything away."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.fetch import FetchRequest
from tests.behaviour.application import (
    TIMEOUT_SECONDS,
    numbered,
    offsets,
    read,
    reader,
    take,
    values,
    write,
)
from tests.clients.configs import Op, changed
from tests.clients.contract import eventually
from tests.clients.raw import Connection, batch_headers, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import (
    EARLIEST,
    LATEST,
    fetch_request,
    fetched,
    offset_at,
    produced,
    produced_bytes,
)

WRITERS = (b"a", b"b", b"c", b"d")
SUBSCRIBERS = 300


def place_of(consumer: Consumer, topic: str) -> int:
    (place,) = consumer.position([TopicPartition(topic, 0)])
    return int(place.offset)


def in_parallel(*jobs: Callable[[], object]) -> None:
    """Run all at once; what fails in one of them fails here."""
    faults: list[BaseException] = []

    def run(job: Callable[[], object]) -> None:
        try:
            job()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * TIMEOUT_SECONDS)
        assert not thread.is_alive(), "a job did not end in time"
    if faults:
        raise faults[0]


@pytest.mark.spec("slides:A09")
def test_one_partition_gives_all_writers_one_order(broker: Broker, topic: str) -> None:
    """Every reader sees the records of four producers in one and the same order, without a gap."""
    together = threading.Barrier(len(WRITERS))

    def writer(name: bytes) -> Callable[[], None]:
        def run() -> None:
            together.wait(TIMEOUT_SECONDS)
            write(broker.bootstrap_servers, topic, [name + value for value in numbered(250)])

        return run

    in_parallel(*(writer(name) for name in WRITERS))
    first = read(broker.bootstrap_servers, topic, 1000)
    second = read(broker.bootstrap_servers, topic, 1000)
    assert offsets(first) == offsets(second) == list(range(1000))
    assert values(first) == values(second)
    for name in WRITERS:
        own = [value[1:] for value in values(first) if value.startswith(name)]
        assert own == numbered(250)


@pytest.mark.spec("slides:A16")
def test_readers_at_6_and_9_and_a_writer_at_12(broker: Broker, topic: str) -> None:
    """Neither a write nor another reader moves anybody's place."""
    servers = broker.bootstrap_servers
    write(servers, topic, numbered(12))
    with (
        reader(servers, topic, group_id="slow") as slow,
        reader(servers, topic, group_id="fast") as fast,
    ):
        take(slow, 6)
        take(fast, 9)
        assert (place_of(slow, topic), place_of(fast, topic)) == (6, 9)
        assert offsets(write(servers, topic, [b"12"])) == [12]
        assert (place_of(slow, topic), place_of(fast, topic)) == (6, 9)
        assert values(take(fast, 4)) == numbered(4, start=9)
        assert values(take(slow, 7)) == numbered(7, start=6)


@pytest.mark.spec("book1:B-04", "book1:M-13", "book1:C-07", "slides:D40")
def test_a_log_can_be_read_again(broker: Broker, connection: Connection, topic: str) -> None:
    """Rewound to the start or to any offset, or moved to the end: every offset has its record."""
    servers = broker.bootstrap_servers
    write(servers, topic, numbered(30))
    stored = bytes(fetched(connection, topic, 0).records)
    with reader(servers, topic) as consumer:
        first = take(consumer, 30)
        consumer.seek(TopicPartition(topic, 0, OFFSET_BEGINNING))
        again = take(consumer, 30)
        assert values(first) == values(again) == numbered(30)
        assert offsets(first) == offsets(again) == list(range(30))
        consumer.seek(TopicPartition(topic, 0, 17))
        assert values(take(consumer, 3)) == numbered(3, start=17)
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=TIMEOUT_SECONDS)
        write(servers, topic, [b"the newest"])
        consumer.seek(TopicPartition(topic, 0, end))
        assert values(take(consumer, 1)) == [b"the newest"]
    assert bytes(fetched(connection, topic, 0).records)[: len(stored)] == stored


@pytest.mark.spec("admin:CO-24")
def test_a_reader_goes_to_a_point_in_time(
    broker: Broker, connection: Connection, topic: str
) -> None:
    """The offset of a timestamp is found, sought and read from."""
    records = numbered_records(10)
    produced(connection, topic, records)
    with reader(broker.bootstrap_servers, topic) as consumer:
        take(consumer, 9)
        moment = TopicPartition(topic, 0, records[4].timestamp_ms)
        (found,) = consumer.offsets_for_times([moment], timeout=TIMEOUT_SECONDS)
        assert found.offset == 4
        consumer.seek(found)
        assert values(take(consumer, 6)) == [each.value for each in records[4:]]


@pytest.mark.spec("book1:M-31")
def test_a_record_that_failed_is_served_again(broker: Broker, topic: str) -> None:
    """An application that could not work on a record asks for it once more, and goes on."""
    write(broker.bootstrap_servers, topic, numbered(10))
    attempts: list[bytes] = []

    def work(value: bytes) -> None:
        attempts.append(value)
        if value == b"4" and attempts.count(b"4") < 3:
            raise ArithmeticError

    with reader(broker.bootstrap_servers, topic) as consumer:
        while attempts[-1:] != [b"9"]:
            (message,) = take(consumer, 1)
            try:
                work(message.value() or b"")
            except ArithmeticError:
                consumer.seek(TopicPartition(topic, 0, message.offset() or 0))
    assert attempts == [*numbered(4), b"4", b"4", *numbered(6, start=4)]


@pytest.mark.spec("admin:LS-34", "book1:M-01")
def test_writers_and_readers_need_not_know_each_other(broker: Broker, topic: str) -> None:
    """Readers that come after the writers have gone read everything, whoever wrote it and how."""
    servers = broker.bootstrap_servers
    write(servers, topic, numbered(10), client_id="a plain one")
    with reader(servers, topic) as leaves_early:
        take(leaves_early, 3)
    write(servers, topic, numbered(10, start=10), compression_type="zstd", acks=1)
    with Connection(servers, client_id=None) as bare:
        produced(bare, topic, numbered_records(1, value_bytes=1))
    for settings in ({}, {"max_partition_fetch_bytes": 1000}, {"client_id": "third"}):
        found = read(servers, topic, 21, **settings)
        assert values(found) == [*numbered(20), b"0"]


@pytest.mark.spec("book1:M-04", "book1:C-06", "slides:D41", "slides:E03")
def test_a_reader_resumes_where_its_output_ends(broker: Broker, topic: str) -> None:
    """The writer goes on while the reader is down; what was read is kept with its offset.

    The reader is cut off in the middle of a transaction of its own store, twice.
    """
    servers = broker.bootstrap_servers
    store = sqlite3.connect(":memory:")
    store.execute("create table output (offset integer primary key, value blob)")

    def run(crash_after: int | None) -> None:
        (last,) = store.execute("select coalesce(max(offset), -1) from output").fetchone()
        with reader(servers, topic, offset=last + 1) as consumer:
            while (last := last + 1) < written:
                (message,) = take(consumer, 1)
                with store:
                    row = (message.offset(), message.value())
                    store.execute("insert into output values (?, ?)", row)
                    if last == crash_after:
                        raise InterruptedError

    for written, crash_after in ((20, 7), (40, 31), (60, None)):
        write(servers, topic, numbered(20, start=written - 20))
        with contextlib.suppress(InterruptedError):
            run(crash_after)
    rows = store.execute("select offset, value from output order by offset").fetchall()
    store.close()
    assert rows == list(enumerate(numbered(60)))


@pytest.mark.spec("book1:M-24")
def test_records_stay_until_retention_and_no_longer(connection: Connection, topic: str) -> None:
    """Reading removes nothing, and not having been read saves nothing."""
    for _ in range(3):
        produced(connection, topic, numbered_records(5))
    for _ in range(3):
        assert len(batch_headers(fetched(connection, topic, 0).records)) == 3
    assert offset_at(connection, topic, EARLIEST).offset == 0
    assert changed(connection, topic, ("retention.ms", Op.SET, "1")).error_code == Error.NONE
    eventually(lambda: offset_at(connection, topic, EARLIEST).offset == 15, "retention")
    assert offset_at(connection, topic, LATEST).offset == 15
    assert fetched(connection, topic, 0).error_code == Error.OFFSET_OUT_OF_RANGE


@pytest.mark.spec("book1:M-30", "admin:LS-35")
def test_streaming_batch_and_micro_batch_at_once(broker: Broker, topic: str) -> None:
    """While a writer writes, three styles of reader take the same records from one topic."""
    servers = broker.bootstrap_servers
    write(servers, topic, numbered(500))
    found: dict[str, list[bytes]] = {}

    def writer() -> None:
        for start in range(500, 1000, 50):
            write(servers, topic, numbered(50, start=start))

    def streaming() -> None:
        found["streaming"] = values(read(servers, topic, 1000, fetch_wait_max_ms=5))

    def batch() -> None:
        with Connection(servers) as connection:
            end = offset_at(connection, topic, LATEST).offset
        found["batch"] = values(read(servers, topic, end))

    def micro_batch() -> None:
        rounds: list[bytes] = []
        while len(rounds) < 1000:
            rounds += values(read(servers, topic, 250, offset=len(rounds)))
        found["micro-batch"] = rounds

    in_parallel(writer, streaming, batch, micro_batch)
    assert found["streaming"] == found["micro-batch"] == numbered(1000)
    assert len(found["batch"]) >= 500
    assert found["batch"] == numbered(len(found["batch"]))


@pytest.mark.spec("book1:M-19", "book1:N-05")
def test_hundreds_of_subscribers_each_get_their_own_copy(broker: Broker, topic: str) -> None:
    """One record published once answers every fetch that waits for it."""
    batch = batch_of(numbered_records(1))
    began = time.monotonic()
    with contextlib.ExitStack() as open_connections:
        subscribers = [
            open_connections.enter_context(Connection(broker.bootstrap_servers))
            for _ in range(SUBSCRIBERS)
        ]
        waiting = fetch_request(topic, 0, max_wait_ms=20_000, min_bytes=1)
        asked = [subscriber.send(waiting, 12) for subscriber in subscribers]
        with Connection(broker.bootstrap_servers) as publisher:
            produced_bytes(publisher, topic, batch)
        copies = set()
        for subscriber, correlation_id in zip(subscribers, asked, strict=True):
            answer = subscriber.answer(correlation_id, FetchRequest, 12)
            copies.add(bytes(answer.responses[0].partitions[0].records)[16:])
    assert copies == {bytes(batch)[16:]}
    assert time.monotonic() - began < 15


@pytest.mark.spec("book1:B-32")
def test_one_broker_is_queue_bus_and_store(new_topic: Callable[..., str], broker: Broker) -> None:
    """Work is shared out, news reach everybody, and what was said can be looked up later."""
    servers = broker.bootstrap_servers
    topic = new_topic(partitions=2)
    for partition in range(2):
        write(servers, topic, numbered(10, start=10 * partition), partition=partition)
    workers = [values(read(servers, topic, 10, partition=partition)) for partition in range(2)]
    assert sorted(workers[0] + workers[1], key=int) == numbered(20)  # a queue: each record once
    for _ in range(2):  # a bus: everything to each
        assert values(read(servers, topic, 10)) == numbered(10)
    broker.restart()
    with Connection(servers) as connection:  # a store: one record by its place, after a restart
        assert fetched(connection, topic, 0).high_watermark == 10
    assert values(read(servers, topic, 1, partition=1, offset=7)) == [b"17"]
