"""Reading as a member of a group: partitions come and go, and what was printed is committed.

librdkafka commits by itself, every second, before a partition is given away and on leaving; it is
told an offset only once the records before it are out of our hands. Whoever continues repeats at
most what was printed in the last second, and misses nothing.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.group.describe import show_parts
from headrace.cli.kafka import explain
from headrace.cli.target import Target
from headrace.types import TopicPartition as Place

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_BATCH: Final = 1000
_POLL_S: Final = 0.2
# A member that joins late waits for others to give up partitions, and dead ones to be missed.
_UNASSIGNED_S: Final = 60.0
_PARTITION_EOF: Final = -191  # librdkafka's code for "nothing more for now"


class Protocol(StrEnum):
    """How members agree who reads what: among themselves, or by the coordinator (KIP-848)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


def settings_of(group: str, protocol: Protocol, reset: str) -> dict[str, Any]:
    """The consumer's settings; `reset` is where a group without offsets begins."""
    return {
        "group.id": group,
        "group.protocol": protocol.value,
        "auto.offset.reset": reset,
        "enable.auto.commit": True,
        "enable.auto.offset.store": False,
        "auto.commit.interval.ms": 1000,
    }


@contextmanager
def _ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Let the first Ctrl-C inside the block call `stop`, so that no record is printed by half.

    The second is again the exception that breaks off whatever blocks.
    """

    def on_interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, previous)
        stop()

    previous = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


class Membership:
    """One run as a member; `count` is the number of records printed."""

    def __init__(
        self,
        consumer: Consumer,
        target: Target,
        group: str,
        write: Callable[[Message], object],
        flush: Callable[[], object],
        *,
        told: bool,
    ) -> None:
        self._consumer = consumer
        self._target = target
        self._group = group
        self._write = write
        self._flush = flush
        self._told = told
        self._owned: set[Place] = set()
        self._caught_up: set[Place] = set()
        self._printed: dict[Place, int] = {}
        self._stopped = False
        self.count = 0

    def run(self, topics: list[str], *, max_messages: int | None, follow: bool) -> None:
        """Print until every partition that it owns is read, or for ever with `follow`."""
        deadline = time.monotonic() + _UNASSIGNED_S
        self._consumer.subscribe(
            topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
        )
        with _ctrl_c(self._stop):
            while self._goes_on(max_messages) and (follow or not self._is_done(deadline)):
                room = _BATCH if max_messages is None else min(max_messages - self.count, _BATCH)
                for message in self._consumer.consume(room, timeout=_POLL_S):
                    self._take(message)
                self._hand_over()

    def _stop(self) -> None:
        self._stopped = True

    def _goes_on(self, max_messages: int | None) -> bool:
        return not self._stopped and self.count != max_messages

    def _is_done(self, deadline: float) -> bool:
        if self._owned:
            return self._owned <= self._caught_up
        if time.monotonic() < deadline:
            return False
        print(
            f'headrace: group "{self._group}" has no partition left for this member',
            file=sys.stderr,
        )
        return True

    def _take(self, message: Message) -> None:
        part = Place(message.topic() or "", message.partition() or 0)
        error = message.error()
        if error is None:
            self._write(message)
            self._caught_up.discard(part)
            self._printed[part] = (message.offset() or 0) + 1
            self.count += 1
        elif error.code() == _PARTITION_EOF:
            self._caught_up.add(part)
            # Behind the last record there may be markers of transactions, which nobody prints.
            self._printed[part] = message.offset() or 0
        else:
            raise explain(error, self._target, f'group "{self._group}"')

    def _hand_over(self) -> None:
        """Let go of what was printed, then let it be committed."""
        from confluent_kafka import TopicPartition

        self._flush()
        offsets = [
            TopicPartition(*part, offset)
            for part, offset in self._printed.items()
            if part in self._owned
        ]
        self._printed.clear()
        if offsets:
            self._consumer.store_offsets(offsets=offsets)

    def _on_assign(self, _consumer: Consumer, partitions: list[Any]) -> None:
        parts = {Place(each.topic, each.partition) for each in partitions}
        self._owned |= parts
        self._tell("assigned", parts)

    def _on_revoke(self, _consumer: Consumer, partitions: list[Any]) -> None:
        parts = {Place(each.topic, each.partition) for each in partitions}
        self._owned -= parts
        self._caught_up -= parts
        self._tell("revoked", parts)

    def _tell(self, what: str, parts: set[Place]) -> None:
        if self._told and parts:
            shown = " ".join(show_parts(tuple(parts)))
            print(f'group "{self._group}": {what} {shown}', file=sys.stderr)
