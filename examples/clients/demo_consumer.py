"""Reads a topic as a member of a group: commits as it goes, once more at the end, then leaves.

    python -m examples.clients.demo_consumer [-b HOST:PORT]

Offsets are committed by a timer and, without waiting, after every poll; both together are allowed.
The last commit waits for its answer, and the consumer is closed even if that commit fails. A group
without offsets begins at the end of the topic, so only what is sent later is seen.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Message

from examples.clients.demo_producer import produce
from examples.leaving import leave
from examples.topics import broker, named_servers, provide

TOPIC: Final = "test1"
SETTINGS: Final = {
    "group.id": "Demo_Group",
    "enable.auto.commit": True,
    "auto.commit.interval.ms": 1000,
    "session.timeout.ms": 30000,
}
POLL_S: Final = 0.5
MAX_RECORDS: Final = 500


def consume(
    servers: str,
    handle: Callable[[Message], None],
    stop: Callable[[], bool],
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Hand every record over until told to stop."""
    consumer = Consumer({"bootstrap.servers": servers, **SETTINGS, **(settings or {})})
    consumer.subscribe([TOPIC])
    try:
        while not stop():
            messages = consumer.consume(MAX_RECORDS, POLL_S)
            for message in messages:
                if message.error() is not None:
                    raise KafkaException(message.error())
                handle(message)
            if messages:
                consumer.commit(asynchronous=True)
    finally:
        try:
            if consumer.assignment():
                consumer.commit(asynchronous=False)
        except KafkaException as fault:
            print(f"the last commit failed: {fault}")
        finally:
            leave(consumer)


def print_record(message: Message) -> None:
    value: Any = message.value()
    print(f"offset = {message.offset()}, key = {message.key()!r}, value = {value.decode()}")


def main() -> None:
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopped.set())
    with broker(named_servers(__doc__)) as servers:
        if provide(TOPIC):
            produce(servers)  # a broker of our own: there would be nothing to see
        print("Ctrl-C ends it")
        consume(servers, print_record, stopped.is_set, {"auto.offset.reset": "earliest"})


if __name__ == "__main__":
    main()
