"""One topic, two ways to share it: members of one group split it, groups each get all of it.

    python -m examples.clients.queue_and_broadcast [-b HOST:PORT]

As a queue: two senders, two receivers in one group, every message goes to one receiver. As a
broadcast: an application publishes its exceptions, and whoever cares (mail, pager, a dashboard)
reads all of them in a group of its own, unknown to the application.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException

from examples.leaving import leave
from examples.topics import Draft, broker, named_servers, provide, write

QUEUE: Final = "Q1"
EXCEPTIONS: Final = "exceptions"
TIMEOUT_S: Final = 30.0
# A member that joins is noticed by the others at their next heartbeat.
SETTINGS: Final = {
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 200,
}


def member(
    servers: str, group: str, topic: str, settings: Mapping[str, Any] = SETTINGS
) -> Consumer:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, **settings})
    consumer.subscribe([topic])
    return consumer


def read_until(
    consumers: Mapping[str, Consumer], enough: Callable[[dict[str, list[str]]], bool]
) -> dict[str, list[str]]:
    """Poll all of them in turn until enough was read, by reader."""
    found: dict[str, list[str]] = {name: [] for name in consumers}
    until = time.monotonic() + TIMEOUT_S
    while not enough(found):
        if time.monotonic() > until:
            raise TimeoutError(f"after {TIMEOUT_S} s only this was read: {found}")
        for name, consumer in consumers.items():
            message = consumer.poll(0.05)
            if message is None:
                continue
            if message.error() is not None:
                raise KafkaException(message.error())
            found[name].append((message.value() or b"").decode())
    return found


def await_shares(consumers: Mapping[str, Consumer]) -> None:
    """Return when every member of the group has partitions."""
    read_until(
        consumers, lambda _found: all(consumer.assignment() for consumer in consumers.values())
    )


def point_to_point(servers: str) -> dict[str, list[str]]:
    """S1 and S2 send to the queue, R1 and R2 receive: each message once."""
    receivers = {name: member(servers, "receivers", QUEUE) for name in ("R1", "R2")}
    await_shares(receivers)
    write(QUEUE, [Draft(f"message {n} of S{1 + n % 2}", partition=n % 2) for n in range(10)])
    found = read_until(receivers, lambda found: sum(map(len, found.values())) >= 10)
    for consumer in receivers.values():
        leave(consumer)
    return found


def broadcast(servers: str, subscribers: tuple[str, ...]) -> dict[str, list[str]]:
    """Every subscriber is a group of its own."""
    write(EXCEPTIONS, [Draft(f"exception {number}") for number in range(10)])
    groups = {name: member(servers, name, EXCEPTIONS) for name in subscribers}
    found = read_until(groups, lambda found: all(len(read) >= 10 for read in found.values()))
    for consumer in groups.values():
        leave(consumer)
    return found


def main() -> None:
    with broker(named_servers(__doc__)) as servers:
        provide(QUEUE, partitions=2)
        provide(EXCEPTIONS)
        for receiver, messages in point_to_point(servers).items():
            print(f"{receiver}: {', '.join(messages)}")
        for subscriber, messages in broadcast(servers, ("mail", "pager")).items():
            print(f"{subscriber}: {len(messages)} exceptions")


if __name__ == "__main__":
    main()
