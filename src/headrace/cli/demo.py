"""A broker, a million records in, the same million out, every one checked.

It starts a real broker in a temporary folder, writes with librdkafka to several partitions, reads
everything back and compares each record and its place in its partition with what was written. It
needs no Spark; `make demo` begins with it.

    python -m headrace.cli.demo [--records N] [--partitions N] [--size BYTES]
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from headrace.cli.failures import FAILED, Failure
from headrace.cli.progress import Progress
from headrace.cli.target import parse_target
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


class Meter:
    """Progress for a person as a bar, for a log as a line every now and then."""

    def __init__(self, title: str, total: int) -> None:
        self._title = title
        self._total = total
        self._watched = sys.stderr.isatty()
        self._bar = Progress(title, total, watched=self._watched)
        self._began = self._told = time.monotonic()

    def __enter__(self) -> Meter:
        self._bar.__enter__()
        self._began = self._told = time.monotonic()
        return self

    def update(self, done: int) -> None:
        self._bar.update(done)
        now = time.monotonic()
        if not self._watched and now - self._told >= _LINE_EVERY_S:
            self._told = now
            print(f"{self._title}: {done:,} of {self._total:,}", flush=True)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._bar.__exit__(kind, error, traceback)
        if kind is None:
            seconds = time.monotonic() - self._began
            rate = self._total / seconds
            print(f"{self._title}: {self._total:,} records in {seconds:.1f} s, {rate:,.0f}/s")


def write(servers: str, records: int, partitions: int, size: int) -> None:
    """Write record n to partition n modulo the number of partitions."""
    from headrace.cli.kafka import open_producer

    settings = {"linger.ms": 20, "batch.size": 262144, "queue.buffering.max.messages": 200_000}
    producer = open_producer(parse_target(servers, []), settings)
    errors: list[str] = []

    def on_delivery(error: Any, _message: Any) -> None:
        if error is not None:
            errors.append(str(error))

    with Meter("written", records) as meter:
        for number in range(records):
            arguments = (TOPIC, value_of(number, size), key_of(number), number % partitions)
            while not _try(producer.produce, *arguments, on_delivery):
                producer.poll(0.05)
            if not number & 4095:
                producer.poll(0)
                meter.update(number)
        left = producer.flush(_STALL_S)
    if left or errors:
        raise Failure(f"{left + len(errors)} records were rejected: {(errors or ['time-out'])[0]}")


def _try(produce: Callable[..., None], *arguments: Any) -> bool:
    try:
        produce(*arguments)
    except BufferError:
        return False
    return True


def read_back(servers: str, records: int, partitions: int, size: int) -> None:
    """Read every partition from its beginning; any difference is a failure."""
    from confluent_kafka import TopicPartition

    from headrace.cli.kafka import open_consumer

    consumer = open_consumer(parse_target(servers, []), {"enable.partition.eof": False})
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(partitions)])
    expected = list(range(partitions))  # by partition: the number that must come next
    done = 0
    heard = time.monotonic()
    with Meter("read and compared", records) as meter:
        while done < records:
            messages = consumer.consume(5000, timeout=0.5)
            if not messages and time.monotonic() - heard > _STALL_S:
                raise Failure(f"only {done} of {records} records came back")
            if messages:
                heard = time.monotonic()
            for message in messages:
                _compare(message, expected, partitions, size)
            done += len(messages)
            meter.update(done)
        for message in consumer.consume(1, timeout=0.5):
            raise Failure(f"a record came back that was never written: {message.value()!r}")
    consumer.close()


def _compare(message: Any, expected: list[int], partitions: int, size: int) -> None:
    if message.error() is not None:
        raise Failure(f"reading failed: {message.error()}")
    partition = message.partition()
    number = expected[partition]
    offset = number // partitions
    found = (message.offset(), message.key(), message.value())
    if found != (offset, key_of(number), value_of(number, size)):
        raise Failure(f"partition {partition} offset {offset} holds {found!r}, not record {number}")
    expected[partition] = number + partitions


def create_topic(servers: str, partitions: int) -> None:
    from headrace.cli.kafka import TIMEOUT_S, admin_api, open_admin, raise_all, settle

    target = parse_target(servers, [])
    admin = open_admin(target)
    topic = admin_api().NewTopic(TOPIC, partitions, 1)
    futures = admin.create_topics([topic], request_timeout=TIMEOUT_S)
    raise_all(settle(futures, target, "topic")[1])


def demo(
    records: Annotated[int, typer.Option(min=1, help="How many records.")] = 1_000_000,
    partitions: Annotated[int, typer.Option(min=1, max=100, help="In how many partitions.")] = 4,
    size: Annotated[int, typer.Option(min=8, max=100_000, help="Bytes of each value.")] = 100,
) -> None:
    """Start a broker, write records, read them back, compare every one, stop."""
    from headrace.testing import Broker

    began = time.monotonic()
    with Broker() as broker:
        print(f"broker ready on {broker.bootstrap_servers} in {time.monotonic() - began:.2f} s")
        round_trip(broker.bootstrap_servers, records, partitions, size)
        stopping = time.monotonic()
    print(f"broker stopped cleanly in {time.monotonic() - stopping:.2f} s")


def round_trip(servers: str, records: int, partitions: int, size: int) -> None:
    """Write, read back and compare; raises Failure at the first difference."""
    create_topic(servers, partitions)
    write(servers, records, partitions, size)
    read_back(servers, records, partitions, size)
    print(f"all {records:,} records came back as written, in order; {partitions} partitions")


def main() -> int:
    """Run the demonstration; 0 only if every record came back and the broker stopped in order."""
    from headrace.testing import BrokerFailed

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # so that a pipe shows progress too
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(demo)
    try:
        app()
    except (HeadraceError, BrokerFailed) as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
