"""A broker, a million records in, the same million out, every one checked.

It writes with librdkafka to several partitions, reads everything back and compares each record and
its place in its partition with what was written. It needs no Spark; `make demo` begins with it.

    python -m examples.round_trip [-b HOST:PORT] [--records N] [--partitions N] [--size BYTES]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition

from examples.topics import broker, command_line
from headrace.errors import HeadraceError

TOPIC: Final = "demo"
_STALL_S: Final = 30.0
_LINE_EVERY_S: Final = 2.0
_KEYS: Final = 1000


def value_of(number: int, size: int) -> bytes:
    """The value of a record: its number, filled up to the size."""
    return (b"%d " % number).ljust(size, b".")


def key_of(number: int) -> bytes:
    return b"key-%d" % (number % _KEYS)


@contextmanager
def metered(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Call it with the records that are done: a line now and then, and the rate at the end."""
    began = told = time.monotonic()

    def update(done: int) -> None:
        nonlocal told
        if time.monotonic() - told >= _LINE_EVERY_S:
            told = time.monotonic()
            print(f"{title}: {done:,} of {total:,}", flush=True)

    yield update
    seconds = time.monotonic() - began
    print(f"{title}: {total:,} records in {seconds:.1f} s, {total / seconds:,.0f}/s", flush=True)


def create_topic(servers: str, partitions: int) -> None:
    admin: Any = import_module("confluent_kafka.admin")
    client = admin.AdminClient({"bootstrap.servers": servers, "log_level": 0})
    client.create_topics([admin.NewTopic(TOPIC, partitions, 1)])[TOPIC].result(_STALL_S)


def write(servers: str, records: int, partitions: int, size: int) -> None:
    """Write record n to partition n modulo the number of partitions."""
    settings = {"linger.ms": 20, "batch.size": 262144, "queue.buffering.max.messages": 200_000}
    producer = Producer({"bootstrap.servers": servers, **settings})
    errors: list[str] = []

    def on_delivery(error: Any, _message: Any) -> None:
        if error is not None:
            errors.append(str(error))

    with metered("written", records) as update:
        for number in range(records):
            arguments = (TOPIC, value_of(number, size), key_of(number), number % partitions)
            while not _try(producer.produce, *arguments, on_delivery):
                producer.poll(0.05)
            if not number & 4095:
                producer.poll(0)
                update(number)
        left = producer.flush(_STALL_S)
    if left or errors:
        why = (errors or ["time-out"])[0]
        raise HeadraceError(f"{left + len(errors)} records were rejected: {why}")


def _try(produce: Callable[..., None], *arguments: Any) -> bool:
    try:
        produce(*arguments)
    except BufferError:
        return False
    return True


def read_back(servers: str, records: int, partitions: int, size: int) -> None:
    """Read every partition from its beginning; any difference is a failure."""
    group = {"group.id": "round-trip", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": servers, **group, "fetch.queue.backoff.ms": 10})
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(partitions)])
    expected = list(range(partitions))  # by partition: the number that must come next
    done = 0
    heard = time.monotonic()
    with metered("read and compared", records) as update:
        while done < records:
            messages = consumer.consume(5000, timeout=0.5)
            if not messages and time.monotonic() - heard > _STALL_S:
                raise HeadraceError(f"only {done} of {records} records came back")
            if messages:
                heard = time.monotonic()
            for message in messages:
                _compare(message, expected, partitions, size)
            done += len(messages)
            update(done)
        for message in consumer.consume(1, timeout=0.5):
            raise HeadraceError(f"a record came back that was never written: {message.value()!r}")
    consumer.close()


def _compare(message: Any, expected: list[int], partitions: int, size: int) -> None:
    if message.error() is not None:
        raise HeadraceError(f"reading failed: {message.error()}")
    partition = message.partition()
    number = expected[partition]
    offset = number // partitions
    found = (message.offset(), message.key(), message.value())
    if found != (offset, key_of(number), value_of(number, size)):
        place = f"partition {partition} offset {offset}"
        raise HeadraceError(f"{place} holds {found!r}, not record {number}")
    expected[partition] = number + partitions


def round_trip(servers: str, records: int, partitions: int, size: int) -> None:
    """Write, read back and compare; raises HeadraceError at the first difference."""
    create_topic(servers, partitions)
    write(servers, records, partitions, size)
    read_back(servers, records, partitions, size)
    print(f"all {records:,} records came back as written, in order; {partitions} partitions")


def main() -> int:
    """0 only if every record came back."""
    parser = command_line(__doc__)
    parser.add_argument("--records", type=int, default=1_000_000, help="how many records")
    parser.add_argument("--partitions", type=int, default=4, help="in how many partitions")
    parser.add_argument("--size", type=int, default=100, help="bytes of each value")
    asked = parser.parse_args()
    try:
        with broker(asked.servers) as servers:
            print(f"broker ready on {servers}", flush=True)
            round_trip(servers, asked.records, asked.partitions, asked.size)
    except HeadraceError as failure:
        print(f"round trip: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
