"""The drills of the receiver, without Spark: what dies between its three steps."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from examples.leaving import leave
from examples.receiver.blocks import Block, BlockManager, NotReplicated
from examples.receiver.receiver import BlockNames, Receiver, ReceiverStream, join_group
from examples.receiver.write_ahead_log import WriteAheadLog
from examples.topics import Draft, provide
from tests.apps.reading import committed

TOPIC = "test"
GROUP = "stream"
TIMEOUT_S = 30.0
WORDS = [f"word-{number}" for number in range(30)]


def fill() -> None:
    provide(TOPIC, [Draft(word, partition=n % 3) for n, word in enumerate(WORDS)], partitions=3)


class Driver:
    """One life of the driver with one receiver: when it dies, its memory goes with it."""

    def __init__(self, servers: str, log: WriteAheadLog | None = None, number: int = 1) -> None:
        self.receiver = Receiver(
            join_group(servers, GROUP, TOPIC), BlockManager(), BlockNames(number), log
        )
        self.recovered = log.blocks() if log is not None else []

    def collect_all(self) -> list[Block]:
        """Blocks until all words have come."""
        blocks: list[Block] = []
        until = time.monotonic() + TIMEOUT_S
        while sum(len(block.rows) for block in blocks) < len(WORDS):
            assert time.monotonic() < until, f"only this has come: {blocks}"
            block = self.receiver.collect()
            if block is not None:
                blocks.append(block)
        return blocks

    def words(self) -> list[str]:
        """What the next batch would process."""
        blocks = [*self.recovered, *self.receiver.blocks.pending()]
        return [(value or b"").decode() for block in blocks for _, value in block.rows]

    def die(self) -> None:
        leave(self.receiver.consumer)  # its membership ends; nothing is committed by this


@pytest.mark.spec("book1:K-02", "book1:K-04")
def test_what_is_stored_is_acknowledged(servers: str) -> None:
    """The group's offsets move only when the block is in the memory of two executors."""
    fill()
    driver = Driver(servers)
    blocks = driver.collect_all()
    assert committed(servers, GROUP, TOPIC) == {}
    for block in blocks:
        driver.receiver.store(block)
        driver.receiver.acknowledge(block)
    assert committed(servers, GROUP, TOPIC) == {0: 10, 1: 10, 2: 10}
    assert sorted(driver.words()) == sorted(WORDS)
    driver.die()


@pytest.mark.spec("book1:K-03", "book1:K-04")
def test_an_executor_may_be_lost() -> None:
    """Every block is in two memories; with one executor left, a new block is not acknowledged."""
    manager = BlockManager(executors=3)
    for name in ("1", "2", "3"):
        manager.store(Block(name, ((None, name.encode()),), {}))
    assert all(len(manager.copies(name)) == 2 for name in ("1", "2", "3"))
    manager.lose("executor-0")
    assert [block.id for block in manager.pending()] == ["1", "2", "3"]
    manager.lose("executor-1")
    with pytest.raises(NotReplicated, match="needs 2 executors, and there are 1"):
        manager.store(Block("4", (), {}))


@pytest.mark.spec("book1:K-04")
def test_a_block_that_is_not_stored_counts_as_unread(servers: str) -> None:
    """The next driver reads it again."""
    fill()
    first = Driver(servers)
    first.receiver.blocks.lose("executor-0")
    for block in first.collect_all():
        with pytest.raises(NotReplicated):
            first.receiver.store(block)
    first.die()
    second = Driver(servers, number=2)
    assert sum(len(block.rows) for block in second.collect_all()) == len(WORDS)
    second.die()


@pytest.mark.spec("book1:K-05", "book1:K-09")
def test_without_a_log_a_dead_driver_loses_data(servers: str) -> None:
    """Acknowledged and not yet processed: nobody has it any more."""
    fill()
    first = Driver(servers)
    for block in first.collect_all():
        first.receiver.store(block)
        first.receiver.acknowledge(block)
    first.die()
    second = Driver(servers, number=2)
    assert second.receiver.collect(timeout_s=1) is None
    assert second.words() == []
    second.die()


@pytest.mark.spec("book1:K-06")
def test_with_a_log_the_next_driver_has_it(servers: str, tmp_path: Path) -> None:
    """Nothing is lost, and what was logged comes first."""
    fill()
    log = WriteAheadLog(tmp_path)
    first = Driver(servers, log)
    for block in first.collect_all():
        first.receiver.store(block)
        first.receiver.acknowledge(block)
    first.die()
    second = Driver(servers, WriteAheadLog(tmp_path), number=2)
    assert sorted(second.words()) == sorted(WORDS)
    second.die()


@pytest.mark.spec("book1:K-07")
def test_with_a_log_a_dead_driver_repeats_data(servers: str, tmp_path: Path) -> None:
    """Logged, but not yet acknowledged: it comes from the log and from the broker."""
    fill()
    first = Driver(servers, WriteAheadLog(tmp_path))
    for block in first.collect_all():
        first.receiver.store(block)
    first.die()
    second = Driver(servers, WriteAheadLog(tmp_path), number=2)
    for block in second.collect_all():
        second.receiver.store(block)
    assert Counter(second.words()) == Counter(dict.fromkeys(WORDS, 2))
    second.die()


@pytest.mark.spec("book1:K-09")
def test_the_log_stores_everything_again(tmp_path: Path) -> None:
    """Until a block is processed it takes room on the disk; then it goes."""
    log = WriteAheadLog(tmp_path)
    block = Block("000001-000000001", ((b"key", b"x" * 1_000), (None, None)), {(TOPIC, 0): 2})
    log.append(block)
    assert log.size_bytes() > 1_000
    assert log.blocks() == [block]
    log.remove(block.id)
    assert (log.size_bytes(), log.blocks()) == (0, [])


@pytest.mark.spec("book1:K-15", "book1:N-16")
def test_three_receivers_share_a_topic(servers: str, tmp_path: Path) -> None:
    """A group, a topic and a number of threads give a stream of keys and values."""
    fill()
    stream = ReceiverStream(servers, GROUP, {TOPIC: 3}, log=WriteAheadLog(tmp_path))
    assert stream.receivers == 3
    stream.start()
    found: list[str] = []
    until = time.monotonic() + TIMEOUT_S
    while len(found) < len(WORDS) and time.monotonic() < until and not stream.faults:
        batch = stream.take()
        found += [(value or b"").decode() for block in batch for _, value in block.rows]
        stream.done(batch)
    stream.stop()
    assert sorted(found) == sorted(WORDS)
    assert WriteAheadLog(tmp_path).blocks() == []
