"""A tree that lives in memory: several sessions share one store, and any of them can be expired.

Simulations use it in place of ZooKeeper. `schedule` lets a simulation decide when the watches of a
commit fire, because in a real cluster they fire late.
"""

from __future__ import annotations

from headrace.coordination.local import LocalStore, LocalTree
from headrace.coordination.tree import SessionEvent


class MemoryStore(LocalStore):
    """The nodes that all sessions see; gone with the process."""

    _last_session = 0

    def session(self) -> MemoryTree:
        """Open another session on this store."""
        with self.lock:
            self._last_session += 1
            return MemoryTree(self, self._last_session)

    def expire_session(self, tree: MemoryTree) -> None:
        """End a session as if its client had been silent too long: it hears SessionEvent.LOST."""
        self.end(tree, [SessionEvent.LOST])


class MemoryTree(LocalTree):
    """A session on a `MemoryStore`."""
