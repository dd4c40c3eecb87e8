"""What a consumer is told when its group changes: first what it loses, then what it gets.

    python -m examples.clients.rebalance_listener [-b HOST:PORT]

Whoever keeps something per partition finishes it in `on_revoke`, where the partitions still belong
to it, and begins anew in `on_assign`.
"""

from __future__ import annotations

from typing import Any, Final

from confluent_kafka import Consumer

from examples.clients.queue_and_broadcast import SETTINGS, read_until
from examples.leaving import leave
from examples.topics import broker, named_servers, provide

TOPIC: Final = "rebalanced"


class DemoRebalancer:
    """Remembers, in order, what one member was told."""

    def __init__(self, servers: str, group: str) -> None:
        self.told: list[tuple[str, tuple[int, ...]]] = []
        self.consumer = Consumer({"bootstrap.servers": servers, "group.id": group, **SETTINGS})
        self.consumer.subscribe([TOPIC], on_assign=self._on_assign, on_revoke=self._on_revoke)

    def _on_assign(self, _consumer: Consumer, partitions: list[Any]) -> None:
        self.told.append(("assigned", tuple(sorted(place.partition for place in partitions))))

    def _on_revoke(self, _consumer: Consumer, partitions: list[Any]) -> None:
        self.told.append(("revoked", tuple(sorted(place.partition for place in partitions))))

    @property
    def partitions(self) -> set[int]:
        return {place.partition for place in self.consumer.assignment()}


def join_and_leave(servers: str, partitions: int = 4) -> list[tuple[str, tuple[int, ...]]]:
    """A second member comes and goes; returns what the first one was told."""
    first = DemoRebalancer(servers, "rebalancers")
    members = {"first": first.consumer}
    read_until(members, lambda _found: len(first.partitions) == partitions)
    second = DemoRebalancer(servers, "rebalancers")
    members["second"] = second.consumer
    read_until(members, lambda _found: bool(second.partitions) and bool(first.partitions))
    leave(second.consumer)
    del members["second"]
    read_until(members, lambda _found: len(first.partitions) == partitions)
    told = list(first.told)
    leave(first.consumer)
    return told


def main() -> None:
    with broker(named_servers(__doc__)) as servers:
        provide(TOPIC, partitions=4)
        for what, partitions in join_and_leave(servers):
            print(f"{what}: {', '.join(map(str, partitions))}")


if __name__ == "__main__":
    main()
