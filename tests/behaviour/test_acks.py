"""What a producer waits for, and what it loses when it waits for nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Message

from headrace.errors import Error
from headrace.testing import Broker
from tests.behaviour.application import TIMEOUT_SECONDS, new_producer, read, values
from tests.clients.contract import eventually
from tests.clients.raw import Connection, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import (
    LATEST,
    create_topic,
    metadata_request,
    offset_at,
    produce_request,
    produced_bytes,
)

UNANSWERED_SECONDS = 0.3


def freeze(broker: Broker) -> None:
    """Stop the process where it is; it is frozen when this returns."""
    os.kill(broker.pid, signal.SIGSTOP)
    os.waitpid(broker.pid, os.WUNTRACED)


@pytest.mark.spec("slides:C19", "book1:P-23", "book1:P-28", "book1:M-16")
def test_acks_0_counts_a_record_as_sent_when_it_has_left() -> None:
    """A frozen broker confirms nothing; the producer is content, knows no offset, never retries.

    When that broker dies, the record is lost and nobody is told.
    """
    told: list[tuple[KafkaError | None, Message]] = []

    def send(value: bytes) -> int:
        producer.produce(
            "metrics", value, partition=0, on_delivery=lambda *report: told.append(report)
        )
        return producer.flush(TIMEOUT_SECONDS)

    with Broker() as broker:
        with Connection(broker.bootstrap_servers) as connection:
            create_topic(connection, "metrics")
        producer = new_producer(broker.bootstrap_servers, acks=0)
        assert send(b"arrives") == 0
        with Connection(broker.bootstrap_servers) as connection:
            # Nobody says when it has arrived.
            eventually(lambda: offset_at(connection, "metrics", LATEST).offset == 1, "the record")
        freeze(broker)
        assert send(b"is lost") == 0
        broker.kill()
        broker.start()
        with Connection(broker.bootstrap_servers) as connection:
            assert offset_at(connection, "metrics", LATEST).offset == 1
        assert values(read(broker.bootstrap_servers, "metrics", 1)) == [b"arrives"]
    assert [(error, message.offset()) for error, message in told] == [(None, None), (None, None)]


@pytest.mark.spec("admin:RQ-06")
def test_acks_1_waits_for_the_leader() -> None:
    """The same producer with acks=1 holds its record until the leader has it, then knows where."""
    told: list[tuple[KafkaError | None, int | None]] = []

    def note(error: KafkaError | None, message: Message) -> None:
        told.append((error, message.offset()))

    with Broker() as broker:
        with Connection(broker.bootstrap_servers) as connection:
            create_topic(connection, "metrics")
        producer = new_producer(broker.bootstrap_servers, acks=1)
        producer.produce("metrics", b"first", partition=0, on_delivery=note)
        assert producer.flush(TIMEOUT_SECONDS) == 0
        freeze(broker)
        producer.produce("metrics", b"second", partition=0, on_delivery=note)
        assert producer.flush(UNANSWERED_SECONDS) == 1
        assert told == [(None, 0)]
        os.kill(broker.pid, signal.SIGCONT)
        assert producer.flush(TIMEOUT_SECONDS) == 0
        assert told == [(None, 0), (None, 1)]
        assert values(read(broker.bootstrap_servers, "metrics", 2)) == [b"first", b"second"]


@pytest.mark.spec("book2:J-22")
def test_who_must_have_the_record(connection: Connection, new_topic: Callable[..., str]) -> None:
    """Where two replicas must be in sync and one is, acks=all fails; 1 and 0 do not ask for it."""
    topic = new_topic(config={"min.insync.replicas": "2"})
    batch = batch_of(numbered_records(1))
    everybody = produced_bytes(connection, topic, batch, acks=-1)
    assert (everybody.error_code, everybody.base_offset) == (Error.NOT_ENOUGH_REPLICAS, -1)
    leader_only = produced_bytes(connection, topic, batch, acks=1)
    assert (leader_only.error_code, leader_only.base_offset) == (Error.NONE, 0)
    connection.send(produce_request(topic, batch, acks=0), 9)
    connection.ask(metadata_request(topic), 12)  # whose answer is the next one to arrive
    assert offset_at(connection, topic, LATEST).offset == 2
