"""The load itself: records written, read, or sent around, by librdkafka's clients.

A loop stops when it is done, or when nothing has moved for a while: a broker that is gone fails the
run with a cause. Progress goes to a bar; what is measured is left in a `Run`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.bench.figures import Run
from headrace.cli.failures import Failure
from headrace.cli.kafka import explain, open_consumer, open_producer
from headrace.cli.target import Target

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

Tell = Callable[[int], None]
_STALLED_S: Final = 30.0
_POLL_S: Final = 0.1
_BATCH: Final = 10_000
_TELL_EVERY: Final = 4096
_TIMEOUT_S: Final = 10.0
_STAMP_BYTES: Final = 8
_POOL_BYTES: Final = 8 << 20
_LINE: Final = b'{"symbol": "HDRC", "price": %d.25, "volume": %d, "exchange": "XETRA"} '


class Payload(StrEnum):
    """What records are made of: bytes that no codec makes smaller, or text that all do."""

    RANDOM = "random"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done."""

    target: Target
    topic: str
    partitions: int
    records: int
    record_bytes: int
    payload: Payload
    rate: float | None  # records a second; None: as fast as it goes
    settings: dict[str, Any]  # of the producer


def payloads(kind: Payload, size: int) -> Callable[[int], bytes]:
    """Values by number. They repeat only after megabytes: no codec looks back that far."""
    pool = os.urandom(max(_POOL_BYTES, 2 * size))
    if kind is Payload.TEXT:
        # Digits change and words do not, as in the records of most applications.
        lines = (_LINE % (each, each * 7919) for each in pool[: _POOL_BYTES // len(_LINE)])
        pool = b"".join(lines).ljust(2 * size, b" ")
    count = len(pool) // max(size, 1)
    return lambda number: pool[number % count * size : (number % count + 1) * size]


def produce(work: Work, tell: Tell) -> Run:
    """Write the records and wait until the last is acknowledged."""
    from confluent_kafka import KafkaException

    run = Run("produce", work.record_bytes)
    failures: list[KafkaError] = []
    producer = open_producer(work.target, work.settings)
    value = payloads(work.payload, work.record_bytes)
    began = time.perf_counter()

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)
            return
        run.latencies_s.append(message.latency() or 0.0)
        run.done_at_s.append(time.perf_counter() - began)

    try:
        for number in range(work.records):
            if work.rate:
                _keep_pace(began + number / work.rate, producer.poll)
            while True:
                try:
                    producer.produce(work.topic, value(number), on_delivery=on_delivery)
                    break
                except BufferError:
                    producer.poll(_POLL_S)
            if number % _TELL_EVERY == 0:
                producer.poll(0)
                tell(len(run.latencies_s))
                _raise_for(failures, work)
    except KafkaException as error:
        raise explain(error.args[0], work.target, f'topic "{work.topic}"') from error
    _drain(producer.flush, run, tell)
    run.seconds = time.perf_counter() - began
    run.records, run.failed = len(run.latencies_s), len(failures)
    if not run.records:
        _raise_for(failures, work)
    return run


def _keep_pace(at: float, poll: Callable[[float], int]) -> None:
    """Serve the client until it is time for the next record."""
    while (left := at - time.perf_counter()) > 0:
        poll(min(left, _POLL_S))


def _drain(flush: Callable[[float], int], run: Run, tell: Tell) -> None:
    moved, left = time.monotonic(), -1
    while now_left := flush(_POLL_S):
        if now_left != left:
            moved, left = time.monotonic(), now_left
        elif time.monotonic() - moved > _STALLED_S:
            raise Failure(f"{left} records are not acknowledged", "check the logs of the brokers")
        tell(len(run.latencies_s))


def _raise_for(failures: list[KafkaError], work: Work) -> None:
    if failures:
        raise explain(failures[0], work.target, f'topic "{work.topic}"')


def consume(work: Work, tell: Tell) -> Run:
    """Read the topic from its beginning until all records have come."""
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    run = Run("consume", work.record_bytes)
    consumer = open_consumer(work.target, {"enable.partition.eof": False})
    try:
        places = range(work.partitions)
        consumer.assign([TopicPartition(work.topic, each, OFFSET_BEGINNING) for each in places])
        began = moved = time.perf_counter()
        while run.records < work.records:
            # The first one alone: finding the leader and connecting is not what is measured.
            room = min(_BATCH, work.records - run.records) if run.records else 1
            messages = consumer.consume(room, _POLL_S)
            now = time.perf_counter()
            if messages:
                began = began if run.records else now
                moved = now
                for message in messages:
                    _raise_for([error] if (error := message.error()) else [], work)
                run.records += len(messages)
                run.done_at_s.extend([now - began] * len(messages))
                tell(run.records)
            elif now - moved > _STALLED_S:
                raise Failure(
                    f"only {run.records} of {work.records} records came back",
                    "name a topic of its own for the benchmark",
                )
        run.seconds = time.perf_counter() - began
    finally:
        consumer.close()
    return run


def around(work: Work, tell: Tell) -> Run:
    """Send records one after another and time each until a consumer has it."""
    from confluent_kafka import OFFSET_END, TopicPartition

    run = Run("end to end", work.record_bytes)
    consumer = open_consumer(work.target, {"enable.partition.eof": False, "fetch.wait.max.ms": 50})
    producer = open_producer(work.target, {"linger.ms": 0, **work.settings})
    filler = payloads(work.payload, work.record_bytes - _STAMP_BYTES)
    try:
        consumer.assign(
            [TopicPartition(work.topic, each, OFFSET_END) for each in range(work.partitions)]
        )
        _await_ends(consumer, work)
        began = time.perf_counter()
        for number in range(work.records):
            if work.rate:
                time.sleep(max(began + number / work.rate - time.perf_counter(), 0))
            sent = time.perf_counter()
            stamp = time.monotonic_ns().to_bytes(_STAMP_BYTES, "big")
            producer.produce(work.topic, stamp + filler(number), partition=number % work.partitions)
            producer.poll(0)
            _await_record(consumer, stamp, sent + _STALLED_S, work)
            done = time.perf_counter()
            run.latencies_s.append(done - sent)
            run.done_at_s.append(done - began)
            tell(number + 1)
        run.seconds = time.perf_counter() - began
        run.records = work.records
        producer.flush(_TIMEOUT_S)
    finally:
        consumer.close()
    return run


def _await_ends(consumer: Any, work: Work) -> None:
    """Until the consumer stands at the end of every partition, so that no record passes it by."""
    from confluent_kafka import TopicPartition

    for partition in range(work.partitions):
        where = TopicPartition(work.topic, partition)
        _, end = consumer.get_watermark_offsets(where, timeout=_TIMEOUT_S)
        consumer.seek(TopicPartition(work.topic, partition, end))


def _await_record(consumer: Any, stamp: bytes, deadline: float, work: Work) -> None:
    while time.perf_counter() < deadline:
        message = consumer.poll(_POLL_S)
        if message is None:
            continue
        _raise_for([message.error()] if message.error() else [], work)
        if message.value()[:_STAMP_BYTES] == stamp:
            return
    raise Failure(
        f"a record did not arrive within {_STALLED_S:.0f} s", "check the logs of the brokers"
    )
