"""What was promised of each partition, and when a promise may be broken.

A record is committed when the high watermark of its leader has passed it. It must stay as long as
one in-sync replica lives with its disk. To be precise:

- With `flush.messages=1` (a replica counts only what its disk has), or if brokers are only killed
  and never lose power, no committed record is ever lost, however many brokers end at once, as long
  as their disks are there.
- Otherwise a broker that loses power may lose what its disk did not have yet. It is in doubt from
  that moment until it is seen to hold everything committed. While at least one in-sync replica runs
  and is not in doubt, nothing committed may be lost. If there is none, and one of them is in doubt,
  the partition is excused once: the next leader decides what there is.
- A broker that loses its disk is in doubt as well, in every world.
- An unclean election, where the topic allows it, excuses the partition as well.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.types import TopicPartition
from tests.simulation.cluster.law import Law, State


class Promises:
    """See the module."""

    def __init__(self, law: Law, is_up: Callable[[int], bool], *, is_strict: bool) -> None:
        self.excused: dict[TopicPartition, str] = {}  # and why
        self._law = law
        self._is_up = is_up
        self._is_strict = is_strict
        self._doubtful: dict[int, set[TopicPartition]] = {}

    def on_power_cut(self, broker_id: int) -> None:
        """What this broker has on disk is in doubt, unless it counts only what its disk has."""
        if not self._is_strict:
            self._doubtful[broker_id] = set(self._law.states)
        self.on_end(broker_id)

    def on_disk_lost(self, broker_id: int) -> None:
        """This broker has nothing any more."""
        self._doubtful[broker_id] = set(self._law.states)
        self.on_end(broker_id)

    def on_end(self, broker_id: int) -> None:
        """A broker has ended, in whatever way."""
        for where, state in self._law.states.items():
            if broker_id in state.isr:
                self._consider(where, state)

    def on_change(self, where: TopicPartition, before: State | None, after: State | None) -> None:
        if after is None:
            self.excused.pop(where, None)
            for partitions in self._doubtful.values():
                partitions.discard(where)
            return
        if (
            before is not None
            and after.leader not in (-1, before.leader)
            and after.leader not in before.isr
        ):
            self.excused[where] = f"broker {after.leader} was elected out of sync"
        self._consider(where, after)

    def is_doubtful(self, where: TopicPartition, broker_id: int) -> bool:
        return where in self._doubtful.get(broker_id, ())

    def holds_everything(self, where: TopicPartition, broker_id: int) -> None:
        """A broker was seen with all that is committed."""
        partitions = self._doubtful.get(broker_id)
        if partitions is not None:
            partitions.discard(where)

    def _consider(self, where: TopicPartition, state: State) -> None:
        doubtful = [each for each in state.isr if self.is_doubtful(where, each)]
        if doubtful and not any(self._is_up(each) and each not in doubtful for each in state.isr):
            self.excused[where] = f"no in-sync replica of {state.isr} runs beyond doubt"
