"""Sessions on a tree that lives in this process: the half that memory and SQLite share.

`LocalStore` keeps the nodes and commits transactions, `LocalTree` is one session on it. A store
that must survive the process overrides `persist`, which runs before anybody can see the change.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from headrace.coordination.state import Applied, TreeState
from headrace.coordination.tree import (
    ANY_VERSION,
    Callback,
    Cancel,
    Create,
    Delete,
    Event,
    Node,
    Op,
    SessionLost,
    Set,
    check_path,
)
from headrace.coordination.watches import Watches


def _at_once(deliver: Callable[[], None]) -> None:
    deliver()


class LocalStore:
    """The nodes that all sessions see, and who has a session."""

    def __init__(self, schedule: Callable[[Callable[[], None]], None] = _at_once) -> None:
        self._schedule = schedule
        self.state = TreeState()
        self.lock = threading.RLock()
        self.sessions: dict[int, LocalTree] = {}

    def persist(self, applied: Applied) -> None:
        """Make a transaction durable, or raise: then it is taken back."""

    def commit(self, ops: Sequence[Op], session_id: int) -> list[str | int]:
        """Apply, persist, then tell every session."""
        with self.lock:
            if session_id not in self.sessions:
                raise SessionLost(_first_path(ops), "the session has ended; open a new one")
            applied = self._apply(ops, session_id)
            trees = list(self.sessions.values())
        self._deliver(trees)
        return applied.results

    def end(self, tree: LocalTree, farewell: Sequence[Event] = ()) -> None:
        """Remove a session and its ephemeral nodes; ending it twice is harmless."""
        with self.lock:
            if tree.session_id not in self.sessions:
                return
            ephemerals = self.state.owned_by(tree.session_id)
            self._apply([Delete(path) for path in ephemerals], tree.session_id)
            trees = list(self.sessions.values())
            tree.watches.enqueue(farewell)
            del self.sessions[tree.session_id]
        self._deliver(trees)

    def _apply(self, ops: Sequence[Op], session_id: int) -> Applied:
        applied = self.state.apply(ops, session_id)
        try:
            self.persist(applied)
        except BaseException:
            self.state.take_back(applied)
            raise
        for tree in self.sessions.values():
            tree.watches.enqueue(applied.events)
        return applied

    def _deliver(self, trees: Sequence[LocalTree]) -> None:
        for tree in trees:
            self._schedule(tree.watches.deliver)


class LocalTree:
    """One session; see `Tree` for what the methods promise."""

    def __init__(self, store: LocalStore, session_id: int) -> None:
        self._store = store
        self.session_id = session_id
        self.watches = Watches()
        with store.lock:
            store.sessions[session_id] = self

    def get(self, path: str) -> Node:
        with self._store.lock:
            return self._state(path).entry(path).node()

    def exists(self, path: str) -> bool:
        check_path(path)
        with self._store.lock:
            return path in self._state(path).entries

    def children(self, path: str) -> list[str]:
        with self._store.lock:
            return sorted(self._state(path).entry(path).children)

    def subtree(self, path: str) -> dict[str, Node]:
        with self._store.lock:
            return self._state(path).subtree(path)

    def subtrees(self, paths: Sequence[str]) -> list[dict[str, Node]]:
        with self._store.lock:
            return [self._state(path).subtree(path) for path in paths]

    def create(
        self, path: str, data: bytes, *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        return str(self._commit([Create(path, data, ephemeral, sequential)])[0])

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        return int(self._commit([Set(path, data, version)])[0])

    def delete(self, path: str, version: int = ANY_VERSION) -> None:
        self._commit([Delete(path, version)])

    def multi(self, ops: Sequence[Op]) -> None:
        self._commit(ops)

    def watch(self, prefix: str, callback: Callback) -> Cancel:
        with self._store.lock:
            self._state(prefix)
            return self.watches.add(prefix, callback)

    def close(self) -> None:
        self._store.end(self)

    def _commit(self, ops: Sequence[Op]) -> list[str | int]:
        return self._store.commit(ops, self.session_id)

    def _state(self, path: str) -> TreeState:
        if self.session_id not in self._store.sessions:
            raise SessionLost(path, "the session has ended; open a new one")
        return self._store.state


def _first_path(ops: Sequence[Op]) -> str:
    return ops[0].path if ops else "/"
