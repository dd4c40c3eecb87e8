"""A partition moves between two directories of a broker that serves it all the while (KIP-113)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from headrace.wire.messages.fetch import FetchRequest
from tests.clients.contract import eventually
from tests.clients.raw import Connection, batch_headers, batch_of
from tests.clients.records import FIRST_TIMESTAMP_MS, Record, numbered_records
from tests.clients.requests import (
    create_topic,
    delete_topic,
    fetch_request,
    fetched,
    produced,
    produced_bytes,
)
from tests.clients.test_alter_replica_log_dirs import altered

TOPIC = "moving"
RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
SLOW = {RATE: 50_000}  # after its first slice a move waits for twenty seconds
Started = tuple[Broker, Connection]


class Machine:
    """A broker with two directories, which can be started again."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.paths = [str(folder / name) for name in ("one", "two")]
        self._folder = folder
        self._opened = opened

    def start(self, **settings: object) -> Started:
        properties = {"log.dirs": ",".join(self.paths), **settings}
        broker = Broker(properties, data=self._folder)
        self._opened.enter_context(broker)
        return broker, self._opened.enter_context(Connection(broker.bootstrap_servers))


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with ExitStack() as opened:
        yield Machine(tmp_path, opened)


def places(connection: Connection) -> dict[str, bool]:
    """The directories that have the partition, and whether it is only on its way there."""
    topics = [DescribableLogDirTopic(topic=TOPIC, partitions=[0])]
    found = connection.ask(DescribeLogDirsRequest(topics=topics), 4).results
    return {
        each.log_dir: partition.is_future_key
        for each in found
        for topic in each.topics
        for partition in topic.partitions
    }


def home_and_other(machine: Machine, connection: Connection) -> tuple[str, str]:
    (home,) = places(connection)
    (other,) = set(machine.paths) - {home}
    return home, other


def move(connection: Connection, path: str) -> None:
    assert altered(connection, [(path, TOPIC, [0])]) == {TOPIC: [(0, Error.NONE)]}


def filled(connection: Connection, batches: int = 40, **config: str) -> None:
    """About five megabytes in segments of one, in batches of ten records."""
    settings = {key.replace("_", "."): value for key, value in config.items()}
    create_topic(connection, TOPIC, config={"segment.bytes": str(1 << 20), **settings})
    batch = batch_of([Record(None, bytes([n]) * 12_800, FIRST_TIMESTAMP_MS + n) for n in range(10)])
    for _ in range(batches):
        assert produced_bytes(connection, TOPIC, batch).error_code == Error.NONE


def offsets_read(connection: Connection) -> list[int]:
    """The base offsets of all batches, as a consumer from the beginning sees them."""
    found: list[int] = []
    offset = 0
    while headers := batch_headers(fetched(connection, TOPIC, offset).records):
        found += [header.base_offset for header in headers]
        offset = headers[-1].next_offset
    return found


def names_in(path: str, suffix: str = "") -> list[str]:
    return [each.name for each in Path(path).iterdir() if f"{TOPIC}-0{suffix}" in each.name]


@pytest.mark.parametrize("flush_messages", ["1", "1000000000"])
def test_it_is_written_and_read_while_it_moves(machine: Machine, flush_messages: str) -> None:
    """Every acknowledged record is in the other directory, and again after kill -9."""
    broker, connection = machine.start()
    filled(connection, flush_messages=flush_messages)
    home, other = home_and_other(machine, connection)
    written = 40
    move(connection, other)
    while places(connection) != {other: False}:
        answer = produced(connection, TOPIC, numbered_records(10))
        assert (answer.error_code, answer.base_offset) == (Error.NONE, 10 * written)
        written += 1
        assert fetched(connection, TOPIC, 10 * written - 10).high_watermark == 10 * written
    expected = [10 * number for number in range(written)]
    assert offsets_read(connection) == expected
    broker.kill()
    _, connection = machine.start()
    assert places(connection) == {other: False}
    assert offsets_read(connection) == expected
    assert produced(connection, TOPIC, numbered_records(1)).base_offset == 10 * written
    move(connection, home)
    eventually(lambda: places(connection) == {home: False}, "the way back")
    assert offsets_read(connection) == [*expected, 10 * written]


def test_a_move_is_seen_on_its_way(machine: Machine) -> None:
    """KIP-113: a future replica, as large as the copy, behind by what is missing."""
    _, connection = machine.start(**SLOW)
    filled(connection)
    home, other = home_and_other(machine, connection)
    move(connection, other)
    assert places(connection) == {home: False, other: True}
    (name,) = names_in(other)
    assert name.endswith("-future")
    request = DescribeLogDirsRequest(topics=None)

    def future() -> tuple[int, int]:
        (found,) = (
            (partition.partition_size, partition.offset_lag)
            for each in connection.ask(request, 4).results
            for topic in each.topics
            for partition in topic.partitions
            if partition.is_future_key
        )
        return found

    eventually(lambda: future()[0] > 0, "the first slice")
    size, lag = future()
    assert 0 < size <= 1 << 20
    assert 0 < lag < 400
    move(connection, other)  # the same again changes nothing
    assert names_in(other) == [name]


def ask_to_stay(machine: Machine, started: Started, home: str) -> Started:
    """Asking for the present directory calls the move off."""
    move(started[1], home)
    return started


def kill(machine: Machine, started: Started, home: str) -> Started:
    started[0].kill()
    return machine.start()


def stop(machine: Machine, started: Started, home: str) -> Started:
    """An orderly stop does not wait for the move's pace."""
    started[0].stop()
    return machine.start()


@pytest.mark.parametrize("end", [ask_to_stay, kill, stop])
def test_a_move_that_ends_early_leaves_everything_in_place(
    machine: Machine, end: Callable[[Machine, Started, str], Started]
) -> None:
    """The partition stays where it was, complete; nothing of the copy is left."""
    started = machine.start(**SLOW)
    filled(started[1])
    home, other = home_and_other(machine, started[1])
    move(started[1], other)
    _, connection = end(machine, started, home)
    eventually(lambda: places(connection) == {home: False}, "the partition at home alone")
    eventually(lambda: names_in(other) == [], "nothing in the other directory")
    assert len(offsets_read(connection)) == 40
    assert produced(connection, TOPIC, numbered_records(1)).base_offset == 400


def test_a_topic_may_be_deleted_while_it_moves(machine: Machine) -> None:
    """The copy goes as well, and a topic of the same name begins anew."""
    _, connection = machine.start(**SLOW)
    filled(connection)
    _, other = home_and_other(machine, connection)
    move(connection, other)
    delete_topic(connection, TOPIC)
    create_topic(connection, TOPIC)
    assert offsets_read(connection) == []


def test_a_reader_that_waits_gets_what_is_written_after_the_move(machine: Machine) -> None:
    """A parked fetch belongs to the partition, not to its folder."""
    broker, connection = machine.start()
    filled(connection, batches=1)
    _, other = home_and_other(machine, connection)
    waiting = fetch_request(TOPIC, 10, max_wait_ms=20_000, min_bytes=1)
    with Connection(broker.bootstrap_servers) as reader:
        sent = reader.send(waiting, 12)
        move(connection, other)
        eventually(lambda: places(connection) == {other: False}, "the move")
        produced(connection, TOPIC, numbered_records(3))
        ((result,),) = [
            topic.partitions for topic in reader.answer(sent, FetchRequest, 12).responses
        ]
    (header,) = batch_headers(result.records)
    assert (header.base_offset, header.next_offset) == (10, 13)
