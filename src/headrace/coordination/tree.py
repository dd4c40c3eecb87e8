"""What every store of cluster state promises: nodes with versions, transactions, watches.

The shape is ZooKeeper's, because several brokers will share one; the calls block, because the
broker makes them from a worker thread. Two choices differ from ZooKeeper's own client: a watch
stays until it is cancelled and covers everything below its path, so that no change is missed
between two one-shot watches; and `subtree` reads a whole branch at once, because a broker reads all
of it at start.

A connection that breaks inside a call leaves a question open. A read is asked again until there is
an answer or the session is over. A write is never repeated: if nobody can say whether it happened,
the call raises `OutcomeUnknown`, and the caller does what it does after `BadVersion`: read anew,
decide again. Such a read waits for the new connection and then shows everything that was committed
before it, the unanswered write included if it happened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, Protocol, TypeAlias

from headrace.errors import HeadraceError

ANY_VERSION: Final = -1
MAX_DATA_BYTES: Final = (1 << 20) - (8 << 10)
"""A server of ZooKeeper takes requests of a mebibyte; a path and what else there is needs room."""
MAX_PATH_LENGTH: Final = 1024

# ZooKeeper refuses control characters, surrogates, private-use characters and the specials block.
_FORBIDDEN = re.compile("[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]")


class Node(NamedTuple):
    """One node as it was when it was read; a broker reads tens of thousands at start."""

    data: bytes
    version: int
    ephemeral: bool = False


@dataclass(frozen=True, slots=True)
class Create:
    """Make a node; its parent must exist and must not be ephemeral."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class Set:
    """Replace a node's data if its version is the expected one."""

    path: str
    data: bytes
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a node that has no children."""

    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """Let the transaction fail unless the node exists with this version."""

    path: str
    version: int = ANY_VERSION


Op: TypeAlias = Create | Set | Delete | Check


class NodeChange(Enum):
    """What happened to a node."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    CHILDREN_CHANGED = "children changed"


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """A committed change. It carries no data: whoever cares reads the tree, which may be newer."""

    change: NodeChange
    path: str


class SessionEvent(Enum):
    """What happened to the connection behind the tree."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    LOST = "lost"


Event: TypeAlias = NodeEvent | SessionEvent
Callback: TypeAlias = Callable[[Event], None]
Cancel: TypeAlias = Callable[[], None]


class TreeError(HeadraceError):
    """An operation was refused; nothing was changed, unless it is an `OutcomeUnknown`."""

    def __init__(self, path: str, reason: str, op_index: int = 0, op_count: int = 1) -> None:
        place = f"operation {op_index + 1} of {op_count}, " if op_count > 1 else ""
        super().__init__(f"{place}{path}: {reason}")
        self.path = path
        self.reason = reason
        self.op_index = op_index

    def at(self, op_index: int, op_count: int) -> TreeError:
        """The same error, naming its place in a transaction."""
        return type(self)(self.path, self.reason, op_index, op_count)


class NoNode(TreeError):
    """The node, or the parent of a node to create, does not exist."""


class NodeExists(TreeError):
    """The node to create is already there."""


class BadVersion(TreeError):
    """Somebody else has changed the node since it was read."""


class NotEmpty(TreeError):
    """The node to delete still has children."""


class NoChildrenForEphemerals(TreeError):
    """An ephemeral node cannot be a parent."""


class InvalidNode(TreeError):
    """The path or the size of the data breaks the rules of the tree."""


class SessionLost(TreeError):
    """The session has ended, and with it every ephemeral node it made."""


class Unreachable(TreeError):
    """No server could be asked for as long as a session lasts. The session may still be alive."""


class StoreFailed(TreeError):
    """The store cannot be opened or written, on a full disk for one; it did not happen."""


class OutcomeUnknown(TreeError):
    """The connection broke before a write was answered: it may have happened. Read anew."""


class Tree(Protocol):
    """One session on a tree. Every method may block; a callback must not."""

    @property
    def session_id(self) -> int:
        """Who owns the ephemeral nodes made here; no two sessions of a store share it."""
        ...

    def get(self, path: str) -> Node:
        """The node at `path`, or NoNode."""
        ...

    def exists(self, path: str) -> bool: ...

    def children(self, path: str) -> list[str]:
        """Names (not paths) of a node's children, sorted."""
        ...

    def subtree(self, path: str) -> dict[str, Node]:
        """The node and everything below it, parents first; empty if there is no such node."""
        ...

    def subtrees(self, paths: Sequence[str]) -> list[dict[str, Node]]:
        """`subtree` of each path, in that order, for little more than the price of one."""
        ...

    def create(
        self, path: str, data: bytes, *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        """Make a node. A sequential one gets ten digits appended; returns the path as made."""
        ...

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        """Replace a node's data; returns the new version."""
        ...

    def delete(self, path: str, version: int = ANY_VERSION) -> None: ...

    def multi(self, ops: Sequence[Op]) -> None:
        """All operations or none. The error carries the index of the operation that failed."""
        ...

    def watch(self, prefix: str, callback: Callback) -> Cancel:
        """Call back for every committed change at or below `prefix` and for session events.

        Events arrive in the order of the commits, after the write has returned or from another
        thread. The callback must hand the event on and return: it must not block or write.

        SUSPENDED: the connection is gone, calls wait. CONNECTED: it is back, the session has lived
        on, and the watch is armed again; changes in between may not have been heard, so whoever
        follows the tree reads all of it anew. LOST: the session is over, it is the last event and
        every later call raises SessionLost; close this tree and open another session.
        """
        ...

    def close(self) -> None:
        """End the session: its ephemeral nodes go, later calls raise SessionLost."""
        ...


def check_path(path: str) -> None:
    """Refuse a path that ZooKeeper would refuse."""
    if path == "/":
        return
    if len(path) > MAX_PATH_LENGTH:
        raise InvalidNode(path[:40] + "…", f"a path has at most {MAX_PATH_LENGTH} characters")
    if not path.startswith("/"):
        raise InvalidNode(path, "a path begins with '/'")
    if _FORBIDDEN.search(path):
        raise InvalidNode(ascii(path), "a path must not contain control or private characters")
    for part in path[1:].split("/"):
        if part in ("", ".", ".."):
            raise InvalidNode(path, f"{part!r} is not a name that a node can have")


def parent_of(path: str) -> str:
    """The path one level up; the root is its own parent."""
    return path[: path.rindex("/")] or "/"


def is_below(path: str, prefix: str) -> bool:
    """Whether a path is the prefix itself or lies under it."""
    return prefix == "/" or path == prefix or path.startswith(prefix + "/")
