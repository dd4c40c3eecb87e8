"""The rules of the tree as plain data in memory: every store that is ours applies them here.

`TreeState` checks and applies transactions and can take the last one back; it refuses to know of
sessions that expire, of disks, of watches and of threads. The memory store wraps it as it is, the
SQLite store writes down what it has changed before anybody is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headrace.coordination.tree import (
    ANY_VERSION,
    MAX_DATA_BYTES,
    BadVersion,
    Check,
    Create,
    Delete,
    InvalidNode,
    NoChildrenForEphemerals,
    Node,
    NodeChange,
    NodeEvent,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    Set,
    TreeError,
    check_path,
    parent_of,
)

PERSISTENT = 0


@dataclass(slots=True)
class Entry:
    """A node inside the tree. `owner` is the session that an ephemeral node lives with."""

    data: bytes
    version: int = 0
    owner: int = PERSISTENT
    next_sequence: int = 0
    children: set[str] = field(default_factory=set)

    def node(self) -> Node:
        return Node(self.data, self.version, self.owner != PERSISTENT)


@dataclass(slots=True)
class Applied:
    """What one transaction did: results per operation, changed paths, and the way back."""

    results: list[str | int] = field(default_factory=list)
    events: list[NodeEvent] = field(default_factory=list)
    changed: dict[str, None] = field(default_factory=dict)
    undo: list[Callable[[], None]] = field(default_factory=list)


class TreeState:
    """All nodes by path. The root always exists."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {"/": Entry(b"")}

    def entry(self, path: str) -> Entry:
        entry = self.entries.get(path)
        if entry is None:
            check_path(path)
            raise NoNode(path, "there is no such node")
        return entry

    def subtree(self, path: str) -> dict[str, Node]:
        check_path(path)
        if path not in self.entries:
            return {}
        found: dict[str, Node] = {}
        waiting = [path]
        while waiting:
            current = waiting.pop()
            entry = self.entries[current]
            found[current] = entry.node()
            if entry.children:
                base = "/" if current == "/" else current + "/"
                waiting += [base + name for name in sorted(entry.children, reverse=True)]
        return found

    def owned_by(self, session: int) -> list[str]:
        return [path for path, entry in self.entries.items() if entry.owner == session]

    def apply(self, ops: Sequence[Op], session: int) -> Applied:
        """Do all operations or raise the error of the first that cannot be done."""
        applied = Applied()
        for index, op in enumerate(ops):
            try:
                applied.results.append(self._apply_one(op, session, applied))
            except TreeError as error:
                self.take_back(applied)
                raise error.at(index, len(ops)) from None
        return applied

    def take_back(self, applied: Applied) -> None:
        """Make the transaction not have happened. Only the latest one can be taken back."""
        for step in reversed(applied.undo):
            step()

    def _apply_one(self, op: Op, session: int, applied: Applied) -> str | int:
        match op:
            case Create():
                return self._create(op, session, applied)
            case Set():
                return self._set(op, applied)
            case Delete():
                return self._delete(op, applied)
            case Check():
                return self._versioned(op.path, op.version).version

    def _versioned(self, path: str, version: int) -> Entry:
        entry = self.entry(path)
        if version not in (ANY_VERSION, entry.version):
            raise BadVersion(path, f"the version is {entry.version}, not {version}")
        return entry

    def _create(self, op: Create, session: int, applied: Applied) -> str:
        check_path(op.path)
        if op.path == "/":
            raise NodeExists("/", "the root always exists")
        _check_size(op.path, op.data)
        parent_path = parent_of(op.path)
        parent = self.entries.get(parent_path)
        if parent is None:
            raise NoNode(op.path, f"the parent {parent_path} does not exist")
        if parent.owner != PERSISTENT:
            raise NoChildrenForEphemerals(op.path, f"the parent {parent_path} is ephemeral")
        path = op.path
        if op.sequential:
            path = f"{op.path}{parent.next_sequence:010d}"
        if path in self.entries:
            raise NodeExists(path, "the node is already there")
        name = path[path.rindex("/") + 1 :]
        sequence_before = parent.next_sequence
        parent.next_sequence += 1
        parent.children.add(name)
        self.entries[path] = Entry(op.data, owner=session if op.ephemeral else PERSISTENT)

        def undo() -> None:
            del self.entries[path]
            parent.children.discard(name)
            parent.next_sequence = sequence_before

        applied.undo.append(undo)
        applied.changed[path] = None
        applied.changed[parent_path] = None
        applied.events.append(NodeEvent(NodeChange.CREATED, path))
        applied.events.append(NodeEvent(NodeChange.CHILDREN_CHANGED, parent_path))
        return path

    def _set(self, op: Set, applied: Applied) -> int:
        entry = self._versioned(op.path, op.version)
        _check_size(op.path, op.data)
        before = entry.data

        def undo() -> None:
            entry.data = before
            entry.version -= 1

        entry.data = op.data
        entry.version += 1
        applied.undo.append(undo)
        applied.changed[op.path] = None
        applied.events.append(NodeEvent(NodeChange.CHANGED, op.path))
        return entry.version

    def _delete(self, op: Delete, applied: Applied) -> int:
        entry = self._versioned(op.path, op.version)
        if op.path == "/":
            raise InvalidNode("/", "the root cannot be deleted")
        if entry.children:
            raise NotEmpty(op.path, f"the node has {len(entry.children)} children")
        parent_path = parent_of(op.path)
        parent = self.entries[parent_path]
        name = op.path[op.path.rindex("/") + 1 :]
        del self.entries[op.path]
        parent.children.discard(name)

        def undo() -> None:
            self.entries[op.path] = entry
            parent.children.add(name)

        applied.undo.append(undo)
        applied.changed[op.path] = None
        applied.events.append(NodeEvent(NodeChange.DELETED, op.path))
        applied.events.append(NodeEvent(NodeChange.CHILDREN_CHANGED, parent_path))
        return entry.version


def _check_size(path: str, data: bytes) -> None:
    if len(data) > MAX_DATA_BYTES:
        raise InvalidNode(path, f"{len(data)} bytes of data; a node holds {MAX_DATA_BYTES}")
