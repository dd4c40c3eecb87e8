"""What may be committed for each partition of each group, judged from outside.

A commit that was acknowledged counts, and so does any later one that arrived, acknowledged or not;
nothing else may ever be seen. Offsets of the transforming group come from transactions alone, and
those never go back: who starts from an old position must not get through.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.coordinator.group.shard import GroupShard
from headrace.errors import Error
from headrace.testing.simulated_network import SimulatedCall
from headrace.types import TopicPartition
from headrace.wire.messages.delete_groups import DeleteGroupsRequest
from headrace.wire.messages.offset_commit import OffsetCommitRequest
from headrace.wire.messages.offset_fetch import OffsetFetchRequest
from tests.simulation.catalogue import Catalogue
from tests.simulation.failure import check, fail
from tests.simulation.producers import Attempt

Key = tuple[str, TopicPartition]


@dataclass(slots=True)
class Possible:
    """What may be the committed offset; the first entry is the last one that is certain."""

    commits: list[tuple[int, int | None]] = field(default_factory=lambda: [(0, None)])

    def values(self) -> set[int | None]:
        return {offset for _, offset in self.commits}

    def on_acknowledged(self, number: int) -> None:
        """Everything before this commit is history."""
        for index, (each, _) in enumerate(self.commits):
            if each == number:
                del self.commits[:index]
                return

    def on_refused(self, number: int) -> None:
        self.commits = [entry for entry in self.commits if entry[0] != number]


class OffsetsLedger:
    """See the module."""

    def __init__(self, catalogue: Catalogue, chain_group: str) -> None:
        self._catalogue = catalogue
        self._chain_group = chain_group
        self._possible: dict[Key, Possible] = {}
        # The committed offsets of the transformers: for good, and as this life of the broker
        # has them, which may not be on disk yet.
        self.chain: dict[TopicPartition, int] = {}
        self._live_chain: dict[TopicPartition, int] = {}

    # What goes over the wire.

    def on_arrival(self, call: SimulatedCall) -> None:
        if isinstance(call.request, OffsetCommitRequest):
            for key, offset in self._commits_of(call):
                self._possible.setdefault(key, Possible()).commits.append((call.number, offset))
        elif isinstance(call.request, DeleteGroupsRequest):
            for possible in self._of_groups(call.request.groups_names):
                possible.commits.append((call.number, None))

    def on_answer(self, call: SimulatedCall, response: Any) -> None:
        if isinstance(call.request, OffsetCommitRequest):
            errors = [each.error_code for topic in response.topics for each in topic.partitions]
            for (key, _), error in zip(self._commits_of(call), errors, strict=True):
                if key in self._possible:
                    _settle(self._possible[key], call.number, error)
        elif isinstance(call.request, DeleteGroupsRequest):
            for result in response.results:
                for possible in self._of_groups([result.group_id]):
                    _settle(possible, call.number, result.error_code)
        elif isinstance(call.request, OffsetFetchRequest):
            for group in response.groups:
                for topic in group.topics:
                    for each in topic.partitions:
                        where = TopicPartition(topic.name, each.partition_index)
                        if each.error_code == Error.NONE:
                            self._see(group.group_id, where, each.committed_offset, for_good=True)

    def _commits_of(self, call: SimulatedCall) -> list[tuple[Key, int]]:
        request: OffsetCommitRequest = call.request
        found = []
        for topic in request.topics:
            name = topic.name
            if call.version >= 10:
                name = self._catalogue.topic_name(topic.topic_id) or f"gone {topic.topic_id}"
            found += [
                (
                    (request.group_id, TopicPartition(name, each.partition_index)),
                    each.committed_offset,
                )
                for each in topic.partitions
            ]
        return found

    def _of_groups(self, names: list[str]) -> list[Possible]:
        return [possible for (name, _), possible in self._possible.items() if name in names]

    # What happens beside.

    def on_topic_deleted(self, name: str) -> None:
        """Offsets of a deleted topic go, sooner or later."""
        for (_, where), possible in self._possible.items():
            if where.topic == name:
                possible.commits.append((0, None))

    # What is seen.

    def look(self, shard: GroupShard, names: set[str], *, for_good: bool) -> None:
        """Compare what a shard has committed; `for_good` if all of it is safe by now."""
        for name in names:
            for where, committed in shard.offsets.of_group(name).items():
                self._see(name, where, committed.offset, for_good=for_good)

    def look_after_load(self, shard: GroupShard, names: set[str]) -> None:
        """As `look`, and nothing that must be there may be missing."""
        if self._chain_group in names:
            self._live_chain.clear()
        for (name, where), possible in self._possible.items():
            if name in names and where not in shard.offsets.of_group(name):
                check(
                    None in possible.values(),
                    "commits-survive",
                    f"{name} has lost its offset of {where}: one of {possible.values()}",
                )
        for where, offset in self.chain.items():
            if self._chain_group in names:
                found = shard.offsets.of_group(self._chain_group).get(where)
                check(
                    found is not None and found.offset >= offset,
                    "commits-survive",
                    f"{self._chain_group} had {offset} of {where} and has {found}",
                )
        self.look(shard, names, for_good=True)

    def _see(self, name: str, where: TopicPartition, offset: int, *, for_good: bool) -> None:
        if name == self._chain_group:
            before = max(self.chain.get(where, -1), self._live_chain.get(where, -1))
            if offset < before:
                fail("offsets-go-forward", f"{name} has {offset} of {where} after {before}")
            if offset >= 0:
                self._live_chain[where] = offset
                if for_good:
                    self.chain[where] = offset
            return
        allowed = self._possible.setdefault((name, where), Possible()).values()
        seen = None if offset < 0 else offset
        if seen not in allowed:
            text = f"{name} has committed {seen} of {where}, but only {allowed} may be"
            fail("commits-as-acknowledged", text)

    def check_promised(self, attempt: Attempt) -> None:
        """A committed transaction's offsets must be reached."""
        for where, offset in attempt.offsets.items():
            check(
                self.chain.get(where, -1) >= offset,
                "all-or-nothing",
                f"transaction {attempt.number} committed {offset} of {where}, "
                f"but the group has {self.chain.get(where)}",
            )


def _settle(possible: Possible, number: int, error: int) -> None:
    if error == Error.NONE:
        possible.on_acknowledged(number)
    elif error != Error.COORDINATOR_NOT_AVAILABLE:
        possible.on_refused(number)
