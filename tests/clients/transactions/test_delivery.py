"""At most once and at least once: the order of saving and committing, and a crash in between.

A consumer saves what it reads in a database. Where the two are not one transaction, the order of
the two steps decides what a crash costs.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from headrace.wire.messages.leave_group import MemberIdentity
from tests.clients.groups.raw_members import committed, leave, stable_alone
from tests.clients.raw import Connection
from tests.clients.transactions.application import arriving, produce, worker

NewTopic = Callable[..., str]


class Crashed(Exception):
    """The application ended where it was."""


class Ledger:
    """A database that keeps what was saved in committed transactions, and nothing else."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:", isolation_level=None)
        self._database.execute("create table saved (value text)")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything within is kept, or nothing where it fails."""
        self._database.execute("begin")
        try:
            yield
        except BaseException:
            self._database.execute("rollback")
            raise
        self._database.execute("commit")

    def save(self, message: Message) -> None:
        value = (message.value() or b"").decode()
        self._database.execute("insert into saved values (?)", (value,))

    @property
    def saved(self) -> list[str]:
        return [value for (value,) in self._database.execute("select value from saved")]

    def close(self) -> None:
        self._database.close()


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    opened = Ledger()
    yield opened
    opened.close()


@pytest.fixture
def orders(bootstrap: str, new_topic: NewTopic) -> str:
    """A topic with three records."""
    topic = new_topic()
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    produce(producer, topic, "0", "1", "2")
    return topic


@pytest.mark.spec("slides:E02", "book2:O-05", "book2:A11-05")
def test_saving_first_may_save_twice(
    bootstrap: str, orders: str, group: str, ledger: Ledger
) -> None:
    """Saved, crashed before the commit, started again: the same record is read and saved again."""
    with contextlib.suppress(Crashed), worker(bootstrap, group, orders) as consumer:
        for message in arriving(consumer, orders):
            ledger.save(message)
            raise Crashed
    with worker(bootstrap, group, orders) as consumer:
        for message in arriving(consumer, orders):
            ledger.save(message)
            consumer.commit(message=message, asynchronous=False)
    assert ledger.saved == ["0", "0", "1", "2"]


@pytest.mark.spec("slides:E01", "book2:O-07", "book2:A11-05")
def test_committing_first_may_lose(bootstrap: str, orders: str, group: str, ledger: Ledger) -> None:
    """Committed, crashed before it was saved, started again: the next record is read."""
    with contextlib.suppress(Crashed), worker(bootstrap, group, orders) as consumer:
        for message in arriving(consumer, orders):
            consumer.commit(message=message, asynchronous=False)
            raise Crashed
    with worker(bootstrap, group, orders) as consumer:
        for message in arriving(consumer, orders):
            consumer.commit(message=message, asynchronous=False)
            ledger.save(message)
    assert ledger.saved == ["1", "2"]


@pytest.mark.spec("slides:E15")
def test_a_database_that_fails_takes_nothing_and_loses_nothing(
    bootstrap: str, connection: Connection, orders: str, group: str, ledger: Ledger
) -> None:
    """Process, commit offsets, commit the database: its fault rolls back before any commit."""
    with (
        contextlib.suppress(Crashed),
        worker(bootstrap, group, orders) as consumer,
        ledger.transaction(),
    ):
        for message in arriving(consumer, orders):
            ledger.save(message)
            fail_at(message, "1")
        consumer.commit(asynchronous=False)
    assert ledger.saved == []
    assert committed(connection, group, orders).committed_offset == -1
    save_all(bootstrap, orders, group, ledger)
    assert ledger.saved == ["0", "1", "2"]
    assert committed(connection, group, orders).committed_offset == 3


@pytest.mark.spec("slides:E15")
def test_a_commit_that_fails_rolls_the_database_back(
    bootstrap: str, connection: Connection, orders: str, group: str, ledger: Ledger
) -> None:
    """A consumer that is no member of its group any more must not keep what it has saved."""
    member = stable_alone(connection, group)
    with pytest.raises(KafkaException) as refusal:
        save_all(bootstrap, orders, group, ledger)
    assert refusal.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
    assert ledger.saved == []
    leave(connection, group, MemberIdentity(member_id=member.member_id))
    save_all(bootstrap, orders, group, ledger)
    assert ledger.saved == ["0", "1", "2"]


def save_all(bootstrap: str, topic: str, group: str, ledger: Ledger) -> None:
    """At least once: what was processed is kept if its offsets could be committed."""
    with worker(bootstrap, group, topic) as consumer, ledger.transaction():
        for message in arriving(consumer, topic):
            ledger.save(message)
        consumer.commit(asynchronous=False)


@pytest.mark.spec("slides:E16")
def test_committing_before_the_database_may_lose(
    bootstrap: str, connection: Connection, orders: str, group: str, ledger: Ledger
) -> None:
    """Commit offsets, process, commit the database: a crash rolls back what nobody reads again."""
    with (
        contextlib.suppress(Crashed),
        worker(bootstrap, group, orders) as consumer,
        ledger.transaction(),
    ):
        batch = list(arriving(consumer, orders))
        consumer.commit(asynchronous=False)
        ledger.save(batch[0])
        raise Crashed
    assert ledger.saved == []
    assert committed(connection, group, orders).committed_offset == 3
    with worker(bootstrap, group, orders) as consumer:
        assert list(arriving(consumer, orders)) == []


Steps = Callable[[Consumer, Ledger, Message, str], None]


def save_then_commit(consumer: Consumer, ledger: Ledger, message: Message, crash: str) -> None:
    with ledger.transaction():
        ledger.save(message)
        fail_at(message, crash)
        consumer.commit(message=message, asynchronous=False)


def commit_then_save(consumer: Consumer, ledger: Ledger, message: Message, crash: str) -> None:
    with ledger.transaction():
        consumer.commit(message=message, asynchronous=False)
        fail_at(message, crash)
        ledger.save(message)


def fail_at(message: Message, value: str) -> None:
    if (message.value() or b"").decode() == value:
        raise Crashed


@pytest.mark.spec("slides:E17")
@pytest.mark.parametrize(
    ("steps", "lost"), [(save_then_commit, []), (commit_then_save, ["b1"])], ids=["ALO", "AMO"]
)
def test_one_record_at_a_time(
    bootstrap: str,
    connection: Connection,
    new_topic: NewTopic,
    group: str,
    ledger: Ledger,
    steps: Steps,
    lost: list[str],
) -> None:
    """Each record commits its own offset + 1 in its own partition; the order decides as before."""
    topic = new_topic(partitions=2)
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    produce(producer, topic, "a0", "a1", partition=0)
    produce(producer, topic, "b0", "b1", "b2", partition=1)

    def work(crash: str) -> None:
        with contextlib.suppress(Crashed), worker(bootstrap, group, topic) as consumer:
            for message in arriving(consumer, topic):
                steps(consumer, ledger, message, crash)
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                found = committed(connection, group, topic, partition).committed_offset
                assert found == offset + 1

    work("b1")
    stopped_at = committed(connection, group, topic, 1).committed_offset
    assert stopped_at == (2 if lost else 1)
    work("nowhere")
    assert sorted(ledger.saved) == sorted({"a0", "a1", "b0", "b1", "b2"} - set(lost))
    ends = [committed(connection, group, topic, index).committed_offset for index in (0, 1)]
    assert ends == [2, 3]
