"""ZooKeeper, as brokers meet it: sessions that expire by silence, watches that fire late.

The nodes are those of a `MemoryStore`. Each life of a broker has a `SimulatedTree`, one session
with its own connection. While the connection is cut, reads wait and a write that was on its way may
or may not have happened (`OutcomeUnknown`); changes are heard when the connection comes back soon
enough, otherwise they are missed and the session says CONNECTED, or LOST if it has expired. Who is
cut off, stopped or dead is silent, and who is silent longer than the session lasts has lost it,
without hearing of it before it is connected again.

A call that asks several questions is done at one moment, but the calls of others may come between
its questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, TypeVar

from headrace.coordination.memory import MemoryStore, MemoryTree
from headrace.coordination.tree import (
    ANY_VERSION,
    Callback,
    Cancel,
    Create,
    Delete,
    Event,
    Node,
    Op,
    OutcomeUnknown,
    SessionEvent,
    SessionLost,
    Set,
    Unreachable,
)
from headrace.testing.schedule import Alarm, Schedule
from headrace.testing.simulated_loop import SimulatedLoop, outcome

T = TypeVar("T")

_LONGEST_DELAY_MS: Final = 12
_LONGEST_RECONNECT_MS: Final = 400
_INTERLEAVED: Final = 0.15
_LOOK_AGAIN_MS: Final = 60


class WatchedStore(MemoryStore):
    """Tells whoever listens of every transaction that was committed."""

    def __init__(self) -> None:
        super().__init__()
        self.on_commit: Callable[[Sequence[Op], int], None] = lambda _ops, _session: None

    def commit(self, ops: Sequence[Op], session_id: int) -> list[str | int]:
        results = super().commit(ops, session_id)
        self.on_commit(ops, session_id)
        return results


class Keeper:
    """The ensemble. `is_cut` says whether the way between it and a node is cut now."""

    def __init__(
        self,
        schedule: Schedule,
        rng: Random,
        session_timeout_ms: int,
        is_cut: Callable[[str], bool],
    ) -> None:
        self.store = WatchedStore()
        self.schedule = schedule
        self.rng = rng
        self.session_timeout_ms = session_timeout_ms
        self.is_cut = is_cut
        self.waiting: dict[_Work, None] = {}  # calls that are on their way
        self.current: _Work | None = None
        # What a client sent just before it died may still arrive.
        self.speaks_from_the_grave: SimulatedLoop | None = None
        self.trees: dict[int, SimulatedTree] = {}

    def session(self, loop: SimulatedLoop) -> SimulatedTree:
        """A new session for the broker behind a loop, whose name it has."""
        if self.is_cut(loop.name):
            raise _Blocked
        tree = SimulatedTree(self, loop)
        self.trees[tree.session_id] = tree
        return tree

    def delay_ms(self) -> int:
        return self.rng.randrange(1, _LONGEST_DELAY_MS)

    def look_at_links(self) -> None:
        """Something was cut or mended, stopped, killed or continued."""
        for tree in list(self.trees.values()):
            tree.look_at_link()

    def let_others_go_first(self, loop: SimulatedLoop) -> None:
        """Between two questions of one caller, do now and then what another one asked for."""
        if len(self.waiting) > 1 and self.rng.random() < _INTERLEAVED:
            others = [work for work in self.waiting if work.loop is not loop]
            if others:
                self.rng.choice(others).act()


class SimulatedTree:
    """One session; see `Tree` for what the methods promise."""

    def __init__(self, keeper: Keeper, loop: SimulatedLoop) -> None:
        self.is_connected = True
        self.is_lost = False
        self._keeper = keeper
        self._loop = loop
        self._inner: MemoryTree = keeper.store.session()
        self._callbacks: dict[Callback, None] = {}
        self._held: list[tuple[Event, Callback]] = []  # heard by a connection that is cut
        self._heard: list[tuple[Event, Callback]] = []  # at `_heard_ms`, and on its way
        self._heard_ms = -1
        self._last_delivery_ms = 0
        self._silent_since_ms: int | None = None
        self._expiry: Alarm | None = None
        self._notice: Alarm | None = None

    @property
    def session_id(self) -> int:
        return self._inner.session_id

    @property
    def is_cut(self) -> bool:
        return self._loop.is_dead or self._keeper.is_cut(self._loop.name)

    # The connection.

    def look_at_link(self) -> None:
        is_silent = self.is_cut or self._loop.is_stopped
        if is_silent and self._silent_since_ms is None:
            self._fall_silent()
        elif not is_silent and self._silent_since_ms is not None:
            self._speak_again()

    def _fall_silent(self) -> None:
        keeper = self._keeper
        schedule = keeper.schedule
        self._silent_since_ms = schedule.elapsed_ms
        name = self._loop.name
        # The server counts from the last ping that it heard, and looks now and then.
        lasts_ms = int(keeper.session_timeout_ms * keeper.rng.uniform(0.7, 1.2))
        self._expiry = schedule.after(lasts_ms, f"{name}: its session expires", self._expire)
        if not self._loop.is_dead:
            notices_ms = int(keeper.session_timeout_ms * keeper.rng.uniform(0.1, 0.6))
            self._notice = schedule.after(notices_ms, f"{name} misses ZooKeeper", self._suspend)

    def _speak_again(self) -> None:
        self._silent_since_ms = None
        for alarm in (self._expiry, self._notice):
            if alarm is not None:
                alarm.cancel()
        if self.is_connected and not self.is_expired:
            held, self._held = self._held, []
            for event, callback in held:
                self._deliver(event, callback)
            return
        self._suspend()
        delay_ms = self._keeper.rng.randrange(5, _LONGEST_RECONNECT_MS)
        what = f"{self._loop.name} reaches ZooKeeper"
        self._keeper.schedule.after(delay_ms, what, self._reconnect)

    def reset(self) -> None:
        """The connection breaks and is made anew; what was on its way is in doubt."""
        if self.is_connected and not self.is_cut and not self._loop.is_stopped:
            self._suspend()
            delay_ms = self._keeper.rng.randrange(5, _LONGEST_RECONNECT_MS)
            what = f"{self._loop.name} reaches ZooKeeper"
            self._keeper.schedule.after(delay_ms, what, self._reconnect)

    def expire(self) -> None:
        """The ensemble ends the session of a client that is well: it hears of it when it asks."""
        if not self.is_expired:
            self._expire()
            self.reset()

    def _suspend(self) -> None:
        """The client sees that its connection is gone."""
        if not self.is_connected or self._loop.is_dead:
            return
        self.is_connected = False
        self._held.clear()
        self._tell(SessionEvent.SUSPENDED)

    def _reconnect(self) -> None:
        if self._loop.is_dead or self.is_connected or self.is_lost or self._is_silent():
            return
        if self.is_expired:
            self.is_lost = True
            self._keeper.trees.pop(self.session_id, None)
            self._tell(SessionEvent.LOST)
        else:
            self.is_connected = True
            self._tell(SessionEvent.CONNECTED)

    def _is_silent(self) -> bool:
        return self._silent_since_ms is not None

    @property
    def is_expired(self) -> bool:
        return self.session_id not in self._keeper.store.sessions

    def _expire(self) -> None:
        self._keeper.store.expire_session(self._inner)
        if self._loop.is_dead:
            self._keeper.trees.pop(self.session_id, None)

    def _tell(self, event: SessionEvent) -> None:
        for callback in list(self._callbacks):
            callback(event)

    # Watches.

    def watch(self, prefix: str, callback: Callback) -> Cancel:
        self._check()
        cancel = self._inner.watch(prefix, lambda event: self._hear(event, callback))
        self._callbacks[callback] = None

        def stop() -> None:
            cancel()
            self._callbacks.pop(callback, None)

        return stop

    def _hear(self, event: Event, callback: Callback) -> None:
        if isinstance(event, SessionEvent) or not self.is_connected or self._loop.is_dead:
            return
        if self._is_silent():
            self._held.append((event, callback))
        else:
            self._deliver(event, callback)

    def _deliver(self, event: Event, callback: Callback) -> None:
        """What is heard at one moment arrives together."""
        schedule = self._keeper.schedule
        if self._heard and self._heard_ms == schedule.elapsed_ms:
            self._heard.append((event, callback))
            return
        heard = self._heard = [(event, callback)]
        self._heard_ms = schedule.elapsed_ms
        at_ms = max(schedule.elapsed_ms + self._keeper.delay_ms(), self._last_delivery_ms)
        self._last_delivery_ms = at_ms

        def arrive() -> None:
            if self._loop.is_dead or not self.is_connected:
                return
            if self._is_silent():
                self._held += heard
                return
            self._loop.call_soon_threadsafe(tell)

        def tell() -> None:
            for each, listener in heard:
                listener(each)

        schedule.after(at_ms - schedule.elapsed_ms, f"{self._loop.name} hears of the tree", arrive)

    # Calls.

    def _check(self, path: str = "/") -> None:
        if self.is_lost or (self.is_expired and not self.is_cut):
            raise SessionLost(path, "the session has ended; open a new one")
        if self._keeper.speaks_from_the_grave is self._loop:
            return
        if not self.is_connected or self._is_silent():
            raise _Blocked
        self._keeper.let_others_go_first(self._loop)

    def get(self, path: str) -> Node:
        self._check(path)
        return self._inner.get(path)

    def exists(self, path: str) -> bool:
        self._check(path)
        return self._inner.exists(path)

    def children(self, path: str) -> list[str]:
        self._check(path)
        return self._inner.children(path)

    def subtree(self, path: str) -> dict[str, Node]:
        self._check(path)
        return self._inner.subtree(path)

    def subtrees(self, paths: Sequence[str]) -> list[dict[str, Node]]:
        self._check()
        return self._inner.subtrees(paths)

    def create(
        self, path: str, data: bytes, *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        return str(self._write([Create(path, data, ephemeral, sequential)])[0])

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        return int(self._write([Set(path, data, version)])[0])

    def delete(self, path: str, version: int = ANY_VERSION) -> None:
        self._write([Delete(path, version)])

    def multi(self, ops: Sequence[Op]) -> None:
        self._write(ops)

    def _write(self, ops: Sequence[Op]) -> list[str | int]:
        try:
            self._check(ops[0].path)
        except _Blocked:
            work = self._keeper.current
            if work is None or not work.was_sent(self._keeper.rng) or self.is_connected:
                raise
            if self._keeper.rng.random() < 0.5:
                outcome(lambda: self._keeper.store.commit(ops, self.session_id))
            raise OutcomeUnknown(ops[0].path, "the connection broke; read anew") from None
        return self._keeper.store.commit(ops, self.session_id)

    def close(self) -> None:
        self._inner.close()
        self.is_lost = True
        self._keeper.trees.pop(self.session_id, None)


class _Blocked(BaseException):
    """The connection is cut: the call waits."""


class _Work:
    """A call on its way to the ensemble and back."""

    def __init__(
        self, keeper: Keeper, loop: SimulatedLoop, work: Callable[[], Any], done: Any
    ) -> None:
        self.loop = loop
        self._keeper = keeper
        self._work = work
        self._done = done
        self._sent: bool | None = None
        self._deadline_ms = keeper.schedule.elapsed_ms + keeper.session_timeout_ms

    def was_sent(self, rng: Random) -> bool:
        """Whether the connection broke behind it, and not before it."""
        if self._sent is None:
            self._sent = rng.random() < 0.5
        return self._sent

    def send(self, delay_ms: int) -> None:
        self._keeper.waiting[self] = None
        self._keeper.schedule.after(delay_ms, f"{self.loop.name} asks the tree", self.act)

    def act(self) -> None:
        """The ensemble does what it was asked; only once, whoever lets it."""
        keeper = self._keeper
        if keeper.waiting.pop(self, self) is self:
            return
        if self.loop.is_dead:
            if keeper.rng.random() < 0.5:
                keeper.speaks_from_the_grave = self.loop
                self.loop.outcome_of(self._work)
                keeper.speaks_from_the_grave = None
            return
        before, keeper.current = keeper.current, self
        result, fault = self.loop.outcome_of(self._work)
        keeper.current = before
        if isinstance(fault, _Blocked):
            if keeper.schedule.elapsed_ms < self._deadline_ms:
                self.send(_LOOK_AGAIN_MS)
                return
            fault = Unreachable("/", "ZooKeeper could not be asked")
        answer = f"{self.loop.name} is answered by the tree"
        keeper.schedule.after(
            keeper.delay_ms(), answer, lambda: self.loop.finish(self._done, result, fault)
        )


class TreeThreads:
    """Threads that wait for the tree."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def run(self, loop: SimulatedLoop, work: Callable[[], T], done: asyncio.Future[T]) -> None:
        _Work(self._keeper, loop, work, done).send(self._keeper.delay_ms())

    def shutdown(self) -> None:
        """As a thread pool has it; there is nothing to end."""
