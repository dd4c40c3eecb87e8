"""A worker: reads a batch, writes what it made of it, commits both in one transaction.

The consumer is a member of a group, so partitions move between workers while they work; the
transactional id belongs to the worker's slot, so each life fences the one before. One
transaction in ten is aborted on purpose. A fatal error ends the process; the next life goes on.

librdkafka's send_offsets_to_transaction can forget its time-out when the broker dies meanwhile,
and then waits for minutes. An alarm ends such a process, as an operator would.
"""

from __future__ import annotations

import functools
import random
import signal
import sys
from collections.abc import Callable

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

from tests.chaos.exactly_once.client import (
    IMPATIENT,
    SESSION_TIMEOUT_MS,
    TRANSACTION_TIMEOUT_MS,
    Deliveries,
    Life,
    begin_life,
    now_ms,
    record_of,
)
from tests.chaos.exactly_once.values import (
    INPUT,
    OUTPUT,
    echo_value,
    key_of,
    output_value,
    split_key,
)
from tests.chaos.history.operation import Kind, Outcome, Record

GROUP = "workers"
BATCH = 25
POLL_SECONDS = 0.2
CALL_SECONDS = 3
STUCK_SECONDS = 2 * CALL_SECONDS
MOST_RETRIES = 20
MOST_SECONDS_PER_BATCH = 20  # a worker that takes longer has lost its partitions
ABORT_ONE_IN = 10


class Abandoned(Exception):
    """The transaction must be aborted; the worker then goes on from the last commit."""


class Worker:
    """One life of a worker."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._rng = random.Random(life.process)
        self._attempts = 0
        self._moved: set[str] = set()  # keys that changed hands since the last batch
        session = {} if life.protocol == "consumer" else {"session.timeout.ms": SESSION_TIMEOUT_MS}
        if life.protocol == "classic":
            session["heartbeat.interval.ms"] = SESSION_TIMEOUT_MS // 4
        self._consumer = Consumer(
            {
                **IMPATIENT,
                **session,
                "bootstrap.servers": life.bootstrap,
                "group.id": GROUP,
                "group.protocol": life.protocol,
                "max.poll.interval.ms": MOST_SECONDS_PER_BATCH * 1000,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            }
        )
        self._producer = Producer(
            {
                **IMPATIENT,
                "bootstrap.servers": life.bootstrap,
                "transactional.id": life.slot,
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "linger.ms": 1,
            }
        )

    def run(self) -> None:
        self._insist(lambda: self._producer.init_transactions(CALL_SECONDS))
        began_ms = now_ms()
        moved = self._on_moved
        self._consumer.subscribe([INPUT], on_assign=moved, on_revoke=moved, on_lost=moved)
        self._life.journal.note(Kind.SUBSCRIBE, began_ms, now_ms())
        while not self._life.asked_to_end.is_set():
            messages = self._consumer.consume(BATCH, POLL_SECONDS)
            batch = [record_of(message) for message in messages if message.error() is None]
            if batch:
                self._process(batch)
        self._consumer.close()

    def _on_moved(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        keys = {f"{place.topic}/{place.partition}" for place in partitions}
        self._moved |= keys
        self._life.journal.note(Kind.REBALANCE, now_ms(), now_ms(), keys=sorted(keys))

    def _process(self, batch: list[Record]) -> None:
        journal, moved = self._life.journal, sorted(self._moved)
        self._moved.clear()
        deliveries = Deliveries(self._transform(batch))
        number = journal.begin(
            Kind.TXN, now_ms(), sent=deliveries.records, polled=batch, rebalanced=moved
        )
        asked_to_commit = False
        try:
            self._write(batch, deliveries)
            if self._rng.randrange(ABORT_ONE_IN) == 0:
                raise Abandoned
            journal.commit(number)
            asked_to_commit = True
            self._insist(lambda: self._producer.commit_transaction(CALL_SECONDS))
            outcome = Outcome.OK
        except Abandoned:
            self._insist(lambda: self._producer.abort_transaction(CALL_SECONDS))
            outcome = Outcome.INFO if asked_to_commit else Outcome.FAIL
        journal.end(number, outcome, now_ms(), sent=deliveries.records)
        if outcome is not Outcome.OK:
            self._go_back()

    def _transform(self, batch: list[Record]) -> list[Record]:
        """One output for each input, and for some an echo that becomes an input itself."""
        made: list[Record] = []
        for record in batch:
            self._attempts += 1
            ours = (record.value, self._life.process, self._attempts)
            value = output_value(*ours)
            made.append(Record(key_of(OUTPUT, value), None, value))
            echo = echo_value(*ours)
            if echo is not None:
                made.append(Record(key_of(INPUT, echo), None, echo))
        return made

    def _write(self, batch: list[Record], deliveries: Deliveries) -> None:
        self._producer.begin_transaction()
        for at, record in enumerate(list(deliveries.records)):
            topic, partition = split_key(record.key)
            on_delivery = functools.partial(deliveries.on_delivery, at)
            try:
                self._producer.produce(
                    topic, record.value.encode(), partition=partition, on_delivery=on_delivery
                )
            except KafkaException as fault:  # an earlier record of the transaction failed
                raise Abandoned from fault
        ends = {record.key: record.offset for record in batch}  # the last of each key stays
        offsets = [
            TopicPartition(*split_key(key), offset + 1)
            for key, offset in ends.items()
            if offset is not None
        ]
        member = self._consumer.consumer_group_metadata()
        self._insist(
            lambda: self._producer.send_offsets_to_transaction(offsets, member, CALL_SECONDS)
        )

    def _go_back(self) -> None:
        """Continue where the group's last commit is."""
        held = self._consumer.assignment()
        found: list[TopicPartition] = []

        def ask() -> None:
            found[:] = self._consumer.committed(held, timeout=CALL_SECONDS) if held else []

        self._insist(ask)
        for place in found:
            start = place.offset if place.offset >= 0 else OFFSET_BEGINNING
            self._consumer.seek(TopicPartition(place.topic, place.partition, start))

    def _insist(self, call: Callable[[], None]) -> None:
        """Repeat a call that may be repeated; tell an abort that is due from a fatal error."""
        for _ in range(MOST_RETRIES):
            signal.alarm(STUCK_SECONDS)
            try:
                return call()
            except KafkaException as fault:
                error: KafkaError = fault.args[0]
                sys.stderr.write(f"{now_ms()} {self._life.process}: {error}\n")
                if error.txn_requires_abort():
                    raise Abandoned from fault
                timed_out = error.code() == KafkaError._TIMED_OUT
                if not (error.retriable() or timed_out) or error.fatal():
                    raise
            finally:
                signal.alarm(0)
        raise TimeoutError("the broker did not come back")


def main() -> None:
    life = begin_life()
    try:
        Worker(life).run()
    except (KafkaException, TimeoutError, Abandoned) as fault:
        life.journal.note(Kind.CRASH, now_ms(), now_ms())
        sys.exit(f"{life.process}: {fault!r}")


if __name__ == "__main__":
    main()
