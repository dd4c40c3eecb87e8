"""This broker as a member of its cluster: it joins, follows the tree, and joins again if it must.

A broker that joins first steps down, because its earlier life may have ended with records that its
disk never got: it leaves the in-sync replicas where others are, and what it alone has waits without
a leader. Then it registers, and the controller gives it what it may have. When its session is lost
(it was silent for too long) the cluster goes on without it: it does all of this again.

Events of the tree carry no data. They are gathered while one read is under way, and then read
together, so that a thousand changes cost a few reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from headrace.broker.watching import logs
from headrace.cluster import layout, store
from headrace.cluster.image import BrokerRegistered, BrokerRegistration
from headrace.cluster.partitions import shut_down, step_down
from headrace.coordination.tree import (
    NodeEvent,
    NodeExists,
    SessionEvent,
    SessionLost,
    Tree,
    TreeError,
    Unreachable,
)
from headrace.errors import ClientFault, ConfigError, HeadraceError

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.membership.session import TreeSession
    from headrace.coordination.tree import Event
    from headrace.runtime.clock import Clock

_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 5.0
_REGISTER_PAUSE_S: Final = 0.25


class Membership:
    """See the module."""

    def __init__(
        self,
        session: TreeSession,
        metadata: Metadata,
        clock: Clock,
        *,
        broker_id: int,
        open_tree: Callable[[], Tree],
        registration: Callable[[int], BrokerRegistration],
        patience_ms: int,
    ) -> None:
        """`registration` gives this broker's with an epoch; `patience_ms` is how long to wait for
        a dead namesake to vanish.
        """
        self.epoch = -1
        # Told of every session: that it is lost, and the broker epoch of the next one.
        self.on_lost: list[Callable[[], None]] = []
        self.on_joined: list[Callable[[int], None]] = []
        self._session = session
        self._metadata = metadata
        self._clock = clock
        self._broker_id = broker_id
        self._open_tree = open_tree
        self._registration = registration
        self._patience_ms = patience_ms
        self._loop = asyncio.get_running_loop()
        self._events: list[NodeEvent] = []
        self._is_behind = False  # changes may have happened that no event told
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # -- joining ----------------------------------------------------------------------------------

    async def join(self) -> None:
        """Become a member; raises ConfigError if another broker has this id."""
        tree = self._session.tree
        assert tree is not None
        await self._session.in_thread(lambda: tree.watch("/", self._listener(tree)))
        # From now on nobody adds us to an ISR for what our last life had fetched.
        epoch = await self._begin_life()
        # The watch is older than the read, so nothing falls between them.
        await self._metadata.refresh()
        await self._metadata.change(lambda image: step_down(image, self._broker_id))
        await self._register(epoch)

    async def _begin_life(self) -> int:
        """A new broker epoch; waits for a dead namesake with other directories to vanish."""
        directories = self._registration(0).directories
        deadline_ms = self._clock.monotonic_ms() + self._patience_ms
        while True:
            try:
                return await self._session.call(
                    lambda tree: store.next_broker_epoch(tree, self._broker_id, directories)
                )
            except NodeExists:
                if self._clock.monotonic_ms() > deadline_ms:
                    raise ConfigError(
                        f"broker id {self._broker_id} is taken by a running broker with other "
                        "log.dirs; give this one another broker.id"
                    ) from None
                await asyncio.sleep(_REGISTER_PAUSE_S)

    async def _register(self, epoch: int) -> None:
        broker = self._registration(epoch)
        now_ms = self._clock.now_ms()
        await self._session.call(lambda tree: store.register(tree, broker, now_ms))
        self.epoch = epoch
        await self._metadata.learn([BrokerRegistered(broker)])
        logs.SERVER.info("Registered broker %d with epoch %d", self._broker_id, epoch)

    def follow(self) -> None:
        """Begin to follow the tree."""
        self._task = self._loop.create_task(self._run())

    # -- events -----------------------------------------------------------------------------------

    def _listener(self, tree: Tree) -> Callable[[Event], None]:
        """What the tree calls, from a thread of its own."""

        def on_event(event: Event) -> None:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._on_event, tree, event)

        return on_event

    def _on_event(self, tree: Tree, event: Event) -> None:
        if tree is not self._session.tree:
            return  # An echo of a session that is over.
        if isinstance(event, NodeEvent):
            self._events.append(event)
        elif event is SessionEvent.SUSPENDED:
            logs.SERVER.warning("The connection to the cluster's tree is gone; waiting for it")
            return
        elif event is SessionEvent.CONNECTED:
            logs.SERVER.info("The connection to the cluster's tree is back")
            self._is_behind = True
        else:
            logs.SERVER.warning("The session has expired: this broker rejoins the cluster")
            self._session.lose()
            for call in self.on_lost:
                call()
        self._woken.set()

    async def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            await self._woken.wait()
            self._woken.clear()
            try:
                await self._catch_up()
                pause_s = _FIRST_PAUSE_S
            except SessionLost:
                if self._session.tree is None:
                    # The new session was over before we had joined: nobody will tell, open another.
                    self._woken.set()
                    await asyncio.sleep(_FIRST_PAUSE_S)
                continue  # Otherwise the event that says so is on its way.
            except Exception as fault:
                level = logs.SERVER.warning if isinstance(fault, HeadraceError) else None
                (level or logs.SERVER.exception)("Following the cluster failed: %s", fault)
                self._is_behind = True
                self._woken.set()
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _catch_up(self) -> None:
        if self._session.tree is None:
            await self._rejoin()
        events, self._events = self._events, []
        if self._is_behind:
            self._is_behind = False
            await self._metadata.refresh()
        else:
            await self._metadata.catch_up(events)

    async def _rejoin(self) -> None:
        tree = await self._session.in_thread(self._open_tree)
        self._events.clear()
        self._session.renew(tree)
        try:
            await self.join()
        except BaseException:
            self._session.lose()
            await self._session.in_thread(tree.close)
            raise
        for call in self.on_joined:
            call(self.epoch)

    # -- leaving ----------------------------------------------------------------------------------

    async def hand_over(self, *, tries: int, pause_ms: int) -> None:
        """Give every leadership to somebody else, where there is somebody (controlled shutdown)."""
        for attempt in range(max(tries, 1)):
            try:
                changes = await self._metadata.change(
                    lambda image: shut_down(image, self._broker_id)
                )
            except (ClientFault, TreeError) as fault:
                logs.SERVER.warning("Leaderships could not be handed over: %s", fault)
            else:
                logs.SERVER.info("Handed over, or left, %d partitions", len(changes))
                return
            if attempt + 1 < tries:
                await asyncio.sleep(pause_ms / 1000)

    async def unregister(self) -> None:
        """Tell the cluster that this broker is gone; it may still have to write to its disks."""
        try:
            await self._session.call(lambda tree: tree.delete(layout.broker_path(self._broker_id)))
        except TreeError as fault:
            logs.SERVER.info("The registration goes with its session: %s", fault)

    async def leave(self) -> None:
        """End the session."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        try:
            await self._session.close()
        except (SessionLost, Unreachable) as fault:
            logs.SERVER.warning("The session ends by itself: %s", fault)
