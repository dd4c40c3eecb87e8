"""Drills in delivery: at most once, at least once, exactly once, with a crash in the worst place.

    python -m examples.labs.delivery_semantics

A consumer that commits first and then works loses what it was working on; one that works first
repeats it. Which one a program is depends on the order of two lines, not on its name. Exactly once
needs the result and the offset in one place: both in a database, or both in a transaction.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from examples.cluster.lab import PATIENCE_S, LabFailed, say
from examples.labs.reading import MEMBER_SETTINGS
from examples.labs.staging import expect, on_broker
from examples.leaving import leave
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

TOPIC: Final = "deliveries"
RECORDS: Final = 20
CRASH_AT: Final = 10  # while the record with this number is in hand

Step = Callable[[Message], None]
Deliver = Callable[[Consumer, Message, Step, Step], None]


class Crash(Exception):
    """The program ends between two of its lines."""


class CrashOnce:
    """Between the lines: ends the program at one record; the restarted program gets over it."""

    def __init__(self) -> None:
        self._happened = False

    def __call__(self, message: Message) -> None:
        if message.offset() == CRASH_AT and not self._happened:
            self._happened = True
            raise Crash


def process_then_commit(consumer: Consumer, message: Message, work: Step, between: Step) -> None:
    """At least once."""
    work(message)
    between(message)
    consumer.commit(offsets=[behind(message)], asynchronous=False)


def commit_then_process(consumer: Consumer, message: Message, work: Step, between: Step) -> None:
    """At most once."""
    consumer.commit(offsets=[behind(message)], asynchronous=False)
    between(message)
    work(message)


def behind(message: Message) -> TopicPartition:
    """What is committed is the next offset to read: that of the message and one more."""
    offset = message.offset()
    assert offset is not None
    return TopicPartition(TOPIC, message.partition() or 0, offset + 1)


def run_program(servers: str, group: str, deliver: Deliver, work: Step, between: Step) -> None:
    """Read up to the last record, or to the crash."""
    settings = {**MEMBER_SETTINGS, "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, **settings})
    consumer.subscribe([TOPIC])
    deadline = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is None:
                continue
            if (error := message.error()) is not None:
                raise KafkaException(error)
            deliver(consumer, message, work, between)
            if message.offset() == RECORDS - 1:
                return
        raise LabFailed("the records did not come")
    finally:
        leave(consumer)


def drill(servers: str, group: str, deliver: Deliver) -> list[str]:
    """Run, crash, run again; what was worked on, in order."""
    between = CrashOnce()
    worked: list[str] = []

    def work(message: Message) -> None:
        worked.append((message.value() or b"").decode())

    try:
        run_program(servers, group, deliver, work, between)
        raise LabFailed("the program did not crash")
    except Crash:
        print(f"crash with record {CRASH_AT} in hand, {len(worked)} done")
    run_program(servers, group, deliver, work, between)
    return worked


def exactly_once(servers: str, database: sqlite3.Connection) -> list[str]:
    """Result and offset in one transaction of a database; the group's offsets do not count."""
    database.execute("CREATE TABLE results (value TEXT)")
    database.execute("CREATE TABLE offsets (next INTEGER)")
    database.execute("INSERT INTO offsets VALUES (0)")
    for attempt in range(2):
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "by-hand"})
        start = database.execute("SELECT next FROM offsets").fetchone()[0]
        consumer.assign([TopicPartition(TOPIC, 0, start)])
        try:
            while database.execute("SELECT next FROM offsets").fetchone()[0] < RECORDS:
                message = consumer.poll(PATIENCE_S)
                if message is None or message.error() is not None:
                    raise LabFailed("the records did not come")
                with database:
                    value = (message.value() or b"").decode()
                    database.execute("INSERT INTO results VALUES (?)", (value,))
                    if message.offset() == CRASH_AT and attempt == 0:
                        raise Crash
                    database.execute("UPDATE offsets SET next = ?", (behind(message).offset,))
        except Crash:
            print(f"crash with record {CRASH_AT} in hand: the transaction is rolled back")
        finally:
            consumer.close()
    return [row[0] for row in database.execute("SELECT value FROM results")]


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    create_topic(servers, TOPIC)
    sent = [f"delivery {number}" for number in range(RECORDS)]
    send(servers, TOPIC, [Draft(text) for text in sent])
    say("Process, then commit")
    worked = drill(servers, "at-least-once", process_then_commit)
    repeated = [*sent[: CRASH_AT + 1], *sent[CRASH_AT:]]
    expect(worked, repeated, f"at least once: {sent[CRASH_AT]!r} was done twice, nothing is lost")
    say("Commit, then process")
    worked = drill(servers, "at-most-once", commit_then_process)
    without = [text for text in sent if text != sent[CRASH_AT]]
    expect(worked, without, f"at most once: {sent[CRASH_AT]!r} is lost, nothing was done twice")
    say("Result and offset in one transaction of a database")
    with closing(sqlite3.connect(":memory:")) as database:
        expect(exactly_once(servers, database), sent, "exactly once")


if __name__ == "__main__":
    on_broker(story)
