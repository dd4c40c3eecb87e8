"""Two slips of librdkafka 2.x that would cost records or bring them twice (decision 0011).

Both are its own, and happen with Apache Kafka too. Our answers keep them from doing harm.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from headrace.errors import Error
from tests.clients.groups.raw_members import commit
from tests.clients.producer.gateway import Api, Gateway, Loss, gateway
from tests.clients.raw import Connection
from tests.clients.transactions.application import (
    TIMEOUT_SECONDS,
    produce,
    transactional,
    visible,
)
from tests.clients.transactions.raw_producer import RawProducer

NewTopic = Callable[..., str]


@pytest.fixture
def between(bootstrap: str) -> Iterator[Gateway]:
    with gateway(bootstrap) as standing:
        yield standing


def test_numbers_of_an_aborted_transaction_are_not_used_again(
    connection: Connection, topic: str
) -> None:
    """Neither as a retry, which they look like, nor as something new."""
    producer = RawProducer.start(connection)
    producer.transact(topic, 2, commit=False)
    producer.sequences.clear()
    assert producer.add({topic: [0]}) == {(topic, 0): Error.NONE}
    assert producer.write(topic, 2) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_who_has_lost_count_is_told(
    between: Gateway, bootstrap: str, topic: str, transactional_id: str
) -> None:
    """The answer to a write is lost, the transaction is aborted before the retry: librdkafka takes
    the records for unwritten and gives their numbers to the next transaction. That one must not
    pass for committed without its records.
    """
    producer = transactional(
        between.bootstrap,
        transactional_id,
        metadata_recovery_strategy="none",
        reconnect_backoff_ms=1000,
    )
    between.fail_next(Loss.ANSWER)
    producer.begin_transaction()
    for value in ("lost 1", "lost 2"):
        producer.produce(topic, value, partition=0)
    between.await_requests(Api.PRODUCE, 1)
    abort(producer)
    producer.begin_transaction()
    for value in ("new 1", "new 2"):
        producer.produce(topic, value, partition=0)
    with pytest.raises(KafkaException) as refusal:
        producer.commit_transaction(TIMEOUT_SECONDS)
    assert refusal.value.args[0].code() == KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert visible(bootstrap, topic) == []


def abort(producer: Producer) -> None:
    """As applications do: again, if it says that it may be tried again."""
    for _ in range(TIMEOUT_SECONDS):
        try:
            return producer.abort_transaction(1)
        except KafkaException as fault:
            if not fault.args[0].retriable():
                raise
    raise AssertionError("the abort was tried too often")


class Member:
    """A consumer of a group, polled by a thread of its own."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self.assigned = threading.Event()
        self.first_offsets: dict[int, int] = {}
        self._has_read = threading.Condition()
        self._ending = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "log_level": 0,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "heartbeat.interval.ms": 100,
            }
        )
        self._consumer.subscribe([topic], on_assign=lambda *_: self.assigned.set())
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ending.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                with self._has_read:
                    self.first_offsets.setdefault(message.partition() or 0, message.offset() or 0)
                    self._has_read.notify_all()
        self._consumer.close()

    def await_first(self) -> dict[int, int]:
        with self._has_read:
            assert self._has_read.wait_for(lambda: self.first_offsets, TIMEOUT_SECONDS)
            return self.first_offsets

    def close(self) -> None:
        self._ending.set()
        self._thread.join(TIMEOUT_SECONDS)


@pytest.fixture
def join(between: Gateway) -> Iterator[Callable[..., Member]]:
    with contextlib.ExitStack() as running:

        def start(*arguments: Any) -> Member:
            member = Member(between.bootstrap, *arguments)
            running.callback(member.close)
            assert member.assigned.wait(TIMEOUT_SECONDS)
            return member

        yield start


def test_a_rebalance_does_not_forget_unstable_offsets(
    bootstrap: str,
    connection: Connection,
    new_topic: NewTopic,
    group: str,
    between: Gateway,
    join: Callable[..., Member],
) -> None:
    """The assignment changes while a member asks for offsets that a transaction is about to change:
    librdkafka takes the offset beside the error for the answer.
    """
    topic = new_topic(partitions=2)
    writer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for partition in (0, 1):
        produce(writer, topic, *map(str, range(9)), partition=partition)
        assert commit(connection, group, topic, 3, partition=partition) == Error.NONE
    transaction = RawProducer.start(connection)
    assert transaction.add_offsets(group) == Error.NONE
    for partition in (0, 1):
        assert transaction.commit_offset(group, topic, 7, partition=partition) == Error.NONE
    members = [join(group, topic)]
    members[0].assigned.clear()
    members.append(join(group, topic))
    assert members[0].assigned.wait(TIMEOUT_SECONDS)
    asked = len(between.of(Api.OFFSET_FETCH))
    between.await_requests(Api.OFFSET_FETCH, asked + 6)  # both have had their answers meanwhile
    assert transaction.end(commit=True).error_code == Error.NONE
    first = members[0].await_first() | members[1].await_first()
    assert first == {0: 7, 1: 7}
