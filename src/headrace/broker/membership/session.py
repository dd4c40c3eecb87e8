"""The cluster's tree as the event loop sees it: calls run in threads, sessions come and go.

Whoever needs the tree asks here, so nobody keeps one whose session has ended. With SQLite the
first session is the only one. The threads are not those that bring logs to their disks: a tree that
cannot be reached lets its callers wait, and must not let producers wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from headrace.coordination.tree import SessionLost, Tree

T = TypeVar("T")


class TreeSession:
    """The present session, or none while a new one is being opened."""

    def __init__(self, tree: Tree, executor: Executor) -> None:
        self._tree: Tree | None = tree
        self._executor = executor

    @property
    def tree(self) -> Tree | None:
        return self._tree

    async def call(self, work: Callable[[Tree], T]) -> T:
        """Let a thread work on the tree; raises what the work raises, SessionLost above all."""
        tree = self._tree
        if tree is None:
            raise SessionLost("/", "the session has ended, and a new one is being opened")
        return await self.in_thread(lambda: work(tree))

    async def in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def lose(self) -> None:
        """The session has ended: from now on nothing is read or written."""
        self._tree = None

    def renew(self, tree: Tree) -> None:
        self._tree = tree

    async def close(self) -> None:
        """End the session; what it announced goes at once."""
        tree, self._tree = self._tree, None
        if tree is not None:
            await self.in_thread(tree.close)
