"""Guards of writes that wait for the answer of a transaction coordinator elsewhere (KIP-890).

A producer of transactions v1 keeps its epoch from one transaction to the next. If its transaction
ends in a partition after the coordinator has said yes and before the write is there, the write
would open a transaction that nobody ends. A marker therefore breaks every guard of its producer in
that partition. A change of leadership in between is the other way to miss a marker: the guard
remembers the leader epoch that it was opened in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import Error

if TYPE_CHECKING:
    from headrace.replica.partition import Partition
    from headrace.types import TopicPartition


class Guard:
    """One write that waits; close it when it has been written or given up."""

    __slots__ = ("_guards", "_key", "_leader_epoch", "_partition", "is_broken")

    def __init__(self, guards: Guards, partition: Partition, producer_id: int) -> None:
        self._guards = guards
        self._key = (partition.topic_partition, producer_id)
        self._partition = partition
        self._leader_epoch = partition.leader_epoch
        self.is_broken = False

    @property
    def fault(self) -> Error:
        """Why the answer is void. After a change of leadership the client shall ask again, which
        costs it nothing; a transaction that has ended is for the application to know.
        """
        if self.is_broken:
            return Error.INVALID_TXN_STATE
        if self._partition.leader_epoch != self._leader_epoch:
            return Error.NOT_LEADER_OR_FOLLOWER
        return Error.NONE

    def close(self) -> None:
        self._guards.forget(self._key, self)


class Guards:
    """Every guard that is open on this broker."""

    def __init__(self) -> None:
        self._open: dict[tuple[TopicPartition, int], list[Guard]] = {}

    def open(self, partition: Partition, producer_id: int) -> Guard:
        guard = Guard(self, partition, producer_id)
        self._open.setdefault((partition.topic_partition, producer_id), []).append(guard)
        return guard

    def on_marker(self, topic_partition: TopicPartition, producer_id: int) -> None:
        """The end of a transaction of this producer is about to be written here."""
        for guard in self._open.get((topic_partition, producer_id), ()):
            guard.is_broken = True

    def forget(self, key: tuple[TopicPartition, int], guard: Guard) -> None:
        guards = self._open[key]
        guards.remove(guard)
        if not guards:
            del self._open[key]
