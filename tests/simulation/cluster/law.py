"""What may be written to the tree: checked with every transaction, whoever commits it.

one-leader           a leader epoch has one leader; a new leader has a new and higher epoch
isr-of-replicas      in-sync replicas are replicas, and the leader is one of them
elects-in-sync       a leader was in sync before, unless its topic allows otherwise
controllers-epochs   controller epochs grow by one, and each belongs to one broker
controller-acts      only the controller of the present epoch writes as the controller
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from headrace.cluster import layout
from headrace.cluster.controller import Controllership
from headrace.coordination.tree import Op
from headrace.types import TopicPartition
from tests.simulation.cluster.keeper import WatchedStore
from tests.simulation.failure import check, fail

_MOST_DECIDED: Final = 5_000


@dataclass(frozen=True, slots=True)
class State:
    """A partition as the tree has it."""

    topic_id: UUID
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    version: int


class Law:
    """See the module. `on_change` hears of every partition that is another one afterwards."""

    def __init__(self, store: WatchedStore, allows_unclean: Callable[[str], bool]) -> None:
        self.states: dict[TopicPartition, State] = {}
        self.topics: dict[str, UUID] = {}
        self.on_change: Callable[[TopicPartition, State | None, State | None], None]
        self.on_change = lambda *_: None
        self.elections = 0
        self._store = store
        self._allows_unclean = allows_unclean
        self._controllers: dict[int, int] = {}  # epoch: broker
        self._decided: dict[int, tuple[Op, Controllership]] = {}  # by the id of the operation

    def on_decision(self, ops: Sequence[Op], controllership: Controllership) -> None:
        """A controller is about to write this."""
        if len(self._decided) > _MOST_DECIDED:
            self._decided.clear()
        for op in ops:
            self._decided[id(op)] = (op, controllership)

    def on_commit(self, ops: Sequence[Op], _session_id: int) -> None:
        entries = self._store.state.entries
        for op in ops:
            known = self._decided.pop(id(op), None)
            if known is not None:
                version = entries[layout.CONTROLLER_EPOCH].version
                check(
                    version == known[1].epoch_version,
                    "controller-acts",
                    f"{known[1]} writes {op}, but the controller epoch has version {version}",
                )
        names: dict[str, None] = {}
        for op in ops:
            if op.path.startswith(layout.TOPICS + "/"):
                names[op.path[len(layout.TOPICS) + 1 :].partition("/")[0]] = None
            elif op.path == layout.CONTROLLER_EPOCH and type(op).__name__ == "Set":
                self._on_controller(int(entries[op.path].data))
        for name in names:
            self._look_at_topic(name)

    def _on_controller(self, epoch: int) -> None:
        holder = self._store.state.entries.get(layout.CONTROLLER)
        check(holder is not None, "controllers-epochs", f"epoch {epoch} has no controller")
        assert holder is not None
        broker = int(json.loads(holder.data)["brokerid"])
        latest = max(self._controllers, default=0)
        check(
            epoch == latest + 1,
            "controllers-epochs",
            f"controller epoch {latest} is followed by {epoch}",
        )
        self._controllers[epoch] = broker
        self.elections += 1

    @property
    def controller_epoch(self) -> int:
        return max(self._controllers, default=0)

    def _look_at_topic(self, name: str) -> None:
        entries = self._store.state.entries
        node = entries.get(layout.topic_path(name))
        if node is None:
            self.topics.pop(name, None)
            for where in [each for each in self.states if each.topic == name]:
                before = self.states.pop(where)
                self.on_change(where, before, None)
            return
        value: dict[str, Any] = json.loads(node.data)
        topic_id = layout.parse_id(value["topic_id"])
        self.topics[name] = topic_id
        for number, replicas in value["partitions"].items():
            where = TopicPartition(name, int(number))
            entry = entries.get(layout.state_path(name, int(number)))
            if entry is None:
                fail("isr-of-replicas", f"{where} has no state")
            state: dict[str, Any] = json.loads(entry.data)
            after = State(
                topic_id,
                tuple(replicas),
                tuple(state["isr"]),
                int(state["leader"]),
                int(state["leader_epoch"]),
                entry.version,
            )
            known = self.states.get(where)
            if known == after:
                continue
            self.states[where] = after
            if known is not None and known.topic_id != topic_id:
                self.on_change(where, known, None)
                known = None
            self._check(where, known, after)
            self.on_change(where, known, after)

    def _check(self, where: TopicPartition, before: State | None, after: State) -> None:
        told = f"{where}: {before} becomes {after}"
        check(bool(after.isr), "isr-of-replicas", told)
        check(set(after.isr) <= set(after.replicas), "isr-of-replicas", told)
        check(after.leader == -1 or after.leader in after.isr, "isr-of-replicas", told)
        if before is None:
            return
        check(after.leader_epoch >= before.leader_epoch, "one-leader", told)
        if after.leader != before.leader:
            check(after.leader_epoch > before.leader_epoch, "one-leader", told)
            if after.leader != -1 and after.leader not in before.isr:
                check(self._allows_unclean(where.topic), "elects-in-sync", told)
