"""SeekTo: where a consumer begins when it is given partitions.

    python -m examples.labs.stock.seeking

At the start, at the end, or at a location: the listener says so when partitions are assigned, and
only in the first 30 seconds, so that a later rebalance does not send the reader back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, TopicPartition

from examples.cluster.lab import say
from examples.labs.reading import MEMBER_SETTINGS, Record, record_of
from examples.labs.staging import await_so, check, expect, on_broker
from examples.labs.stock.market import open_market, trade
from examples.labs.stock.price import PARTITIONS
from examples.leaving import leave
from headrace.testing import Broker

TOPIC: Final = "stock-prices-seek"
PRICES: Final = 300
LOCATION: Final = 20
WINDOW_S: Final = 30.0


class SeekTo:
    """A listener of assignments: begins at `offset`, while the consumer is young."""

    def __init__(
        self, offset: int, window_s: float = WINDOW_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._offset = offset
        self._clock = clock
        self._until = clock() + window_s

    def on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._clock() < self._until:
            for place in partitions:
                place.offset = self._offset
        consumer.assign(partitions)


class Reader:
    """A consumer with such a listener."""

    def __init__(self, servers: str, group: str, listener: SeekTo) -> None:
        self.records: list[Record] = []
        settings: dict[str, Any] = {**MEMBER_SETTINGS, "enable.auto.commit": False}
        self.consumer = Consumer({"bootstrap.servers": servers, "group.id": group, **settings})
        self.consumer.subscribe([TOPIC], on_assign=listener.on_assign)

    def has_read(self, count: int) -> bool:
        self.records += [record_of(each) for each in self.consumer.consume(500, 0.1)]
        return len(self.records) >= count


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    open_market(servers, TOPIC, PRICES)
    say("START: everything that is there")
    start = Reader(servers, "seek-start", SeekTo(OFFSET_BEGINNING))
    await_so(lambda: start.has_read(PRICES), f"all {PRICES} prices are read")
    start.consumer.commit(asynchronous=False)
    leave(start.consumer)

    say("START again, in the same group: its committed offsets do not matter")
    again = Reader(servers, "seek-start", SeekTo(OFFSET_BEGINNING))
    await_so(lambda: again.has_read(PRICES), "they are read once more")
    leave(again.consumer)

    say(f"LOCATION: from offset {LOCATION} on, in each partition")
    located = Reader(servers, "seek-location", SeekTo(LOCATION))
    wanted = sum(record.offset >= LOCATION for record in start.records)
    await_so(lambda: located.has_read(wanted), f"{wanted} prices are read")
    check(
        {r.partition: r.offset for r in reversed(located.records)}
        == dict.fromkeys({r.partition for r in located.records}, LOCATION),
        f"the first of each partition has the offset {LOCATION}",
    )
    leave(located.consumer)

    say("END: only what is written from now on")
    end = Reader(servers, "seek-end", SeekTo(OFFSET_END))
    await_so(lambda: not end.has_read(1) and _known_ends(end) == PARTITIONS, "it is at the end")
    later = trade(servers, TOPIC, 12, seed=2)
    await_so(lambda: end.has_read(len(later)), f"{len(later)} new prices are read")
    leave(end.consumer)

    say("After 30 seconds an assignment is left as it is: the group goes on where it was")
    now_s = 0.0
    listener = SeekTo(OFFSET_BEGINNING, clock=lambda: now_s)
    now_s = WINDOW_S + 1
    late = Reader(servers, "seek-start", listener)
    await_so(lambda: late.has_read(len(later)), "what came after its commit is read")
    expect(len(late.records), len(later), "and nothing else")
    leave(late.consumer)


def _known_ends(reader: Reader) -> int:
    """Of how many partitions the consumer has been told the end: it reads from there on."""
    places = reader.consumer.assignment()
    return sum(reader.consumer.get_watermark_offsets(p, cached=True)[1] >= 0 for p in places)


if __name__ == "__main__":
    on_broker(story)
