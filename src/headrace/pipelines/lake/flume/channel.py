"""The memory channel: a bounded queue with transactions.

`put` takes all events or none. What `take` hands out stays counted until `commit`; `rollback` puts
it back where it was, at the head.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Final

from headrace.errors import HeadraceError
from headrace.pipelines.lake.flume.event import Event
from headrace.pipelines.lake.jobs.properties import Properties

KNOWN: Final = frozenset({"type", "capacity", "transactionCapacity", "keep-alive"})
WITHOUT_EFFECT: Final = frozenset({"byteCapacity", "byteCapacityBufferPercentage"})


class ChannelFull(HeadraceError):
    """There was no room within the time that a put may wait."""


class Taking:
    """The events of one transaction of a sink."""

    def __init__(self, channel: MemoryChannel, events: list[Event]) -> None:
        self._channel = channel
        self.events = events

    def commit(self) -> None:
        """They leave the channel."""
        self._channel.taken(len(self.events))

    def rollback(self) -> None:
        """They are as if they had not been taken."""
        self._channel.given_back(self.events)


class MemoryChannel:
    """For any number of sources and sinks."""

    def __init__(self, name: str, settings: Properties) -> None:
        self.name = name
        self.remarks = settings.remarks(KNOWN, WITHOUT_EFFECT)
        self.capacity = settings.number("capacity", 100, at_least=1)
        self.transaction_capacity = settings.number("transactionCapacity", 100, at_least=1)
        if self.transaction_capacity > self.capacity:
            raise settings.wrong(
                "transactionCapacity", f"a number up to the capacity, {self.capacity},"
            )
        self._wait_s = settings.number("keep-alive", 3)
        self._events: deque[Event] = deque()
        self._in_sinks = 0
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return len(self._events) + self._in_sinks

    def put(self, events: Sequence[Event]) -> None:
        """Add all of them, or raise `ChannelFull` and add none."""
        if len(events) > self.transaction_capacity:
            raise HeadraceError(
                f"channel {self.name}: a transaction of {len(events)} events is larger than "
                f"transactionCapacity={self.transaction_capacity}: raise it, or lower batchSize"
            )
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_room(len(events)), self._wait_s):
                raise ChannelFull(
                    f"channel {self.name} has had no room for {len(events)} events in "
                    f"{self._wait_s} s: its sinks are slower than its sources, or have failed"
                )
            self._events.extend(events)
            self._changed.notify_all()

    def take(self, most: int, wait_s: float) -> Taking:
        """Begin a transaction with up to `most` events; none if none came in time."""
        most = min(most, self.transaction_capacity)
        with self._changed:
            self._changed.wait_for(lambda: len(self._events) > 0, wait_s)
            events = [self._events.popleft() for _ in range(min(most, len(self._events)))]
            self._in_sinks += len(events)
        return Taking(self, events)

    def taken(self, events: int) -> None:
        """The end of a transaction."""
        with self._changed:
            self._in_sinks -= events
            self._changed.notify_all()

    def given_back(self, events: Sequence[Event]) -> None:
        """The end of a transaction that failed."""
        with self._changed:
            self._in_sinks -= len(events)
            self._events.extendleft(reversed(events))
            self._changed.notify_all()

    def _has_room(self, events: int) -> bool:
        return len(self) + events <= self.capacity
