"""The controller, where this broker is it: elected through the tree, fenced by its epoch.

What to do is decided in `headrace.cluster.controller`; here are the duties of the event loop: to
stand for election when there is no controller, to ask for decisions after every change, to write
them as the controller of this epoch, and to stop when another broker is the controller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

from headrace.broker.membership.metadata import ControllerMoved
from headrace.broker.watching import logs
from headrace.broker.watching.durations import Durations
from headrace.cluster import layout, store
from headrace.cluster.controller import (
    Controllership,
    Policy,
    balance_leaders,
    decide,
    take_over,
)
from headrace.cluster.image import (
    NO_CONTROLLER,
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    ClusterImage,
    ControllerChanged,
    PartitionChanged,
)
from headrace.coordination.tree import (
    Check,
    Delete,
    NoNode,
    Op,
    SessionLost,
    Tree,
    TreeError,
)
from headrace.errors import ClientFault, HeadraceError
from headrace.types import NO_LEADER

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.membership.session import TreeSession
    from headrace.runtime.clock import Clock

Duty = Callable[[], Awaitable[None]]

_RETRY_S: Final = 0.5
_SWEEP_S: Final = 5.0


class Controller:
    """See the module."""

    def __init__(
        self, broker_id: int, session: TreeSession, metadata: Metadata, clock: Clock
    ) -> None:
        self.held: Controllership | None = None
        self._broker_id = broker_id
        self._session = session
        self._metadata = metadata
        self._clock = clock
        self.policy = Policy(unclean_allowed=self._unclean_allowed)
        self._news: list[Change] = []
        self._has_taken_over = False
        self.election_times = Durations(1)
        self.unclean_elections = 0
        self._woken = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Stand for election, now and whenever there is no controller."""
        self._metadata.watchers.append(self._on_changes)
        interval_s = self._metadata.settings.config.get_int(
            "leader.imbalance.check.interval.seconds"
        )
        self._tasks = [
            asyncio.create_task(self._run()),
            asyncio.create_task(self._repeat(self._balance, interval_s)),
            asyncio.create_task(self._repeat(self._sweep, _SWEEP_S)),
        ]
        self._woken.set()

    async def stop(self) -> None:
        """Decide nothing more; another broker can be the controller at once."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        held, self.held = self.held, None
        if held is not None:
            ops: list[Op] = [
                Check(layout.CONTROLLER_EPOCH, held.epoch_version),
                Delete(layout.CONTROLLER),
            ]
            try:
                await self._session.call(lambda tree: tree.multi(ops))
            except TreeError as fault:
                logs.CONTROLLER.info("The controller goes with its session: %s", fault)

    def on_session_lost(self) -> None:
        self._resign("its session has expired")

    def on_session(self) -> None:
        """There is a new session: stand for election in it."""
        self._woken.set()

    def _unclean_allowed(self, topic: str) -> bool:
        return self._metadata.settings.log_config(topic).unclean_leader_election_enable

    def _resign(self, reason: str) -> None:
        if self.held is not None:
            logs.CONTROLLER.info(
                "Resigned as the controller of epoch %d: %s", self.held.epoch, reason
            )
        self.held = None
        self._news.clear()

    def _on_changes(self, changes: Sequence[Change]) -> None:
        if self.held is not None:
            self._news += changes
            for change in changes:
                _log(change)
        for change in changes:
            if isinstance(change, ControllerChanged) and change.controller_id != self._broker_id:
                self._resign(f"the controller is {change.controller_id}")
        self._woken.set()

    # -- duties -----------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            if not await self._try(self._act):
                await asyncio.sleep(_RETRY_S)
                self._woken.set()

    async def _repeat(self, duty: Duty, pause_s: float) -> None:
        while True:
            await asyncio.sleep(pause_s)
            if self.held is not None:
                await self._try(duty)

    async def _try(self, duty: Duty) -> bool:
        """Do a duty; False if it should be tried again soon."""
        try:
            await duty()
        except ControllerMoved as fault:
            self._resign(str(fault))
        except SessionLost:
            return True  # The next session wakes us.
        except HeadraceError as fault:
            logs.CONTROLLER.warning("The controller could not act: %s", fault)
            return False
        except Exception:
            logs.CONTROLLER.exception("The controller could not act")
            return False
        return True

    async def _act(self) -> None:
        if self.held is None:
            await self._stand_for_election()
        if self.held is not None and not self._has_taken_over:
            await self._make_true(lambda image: take_over(image, self.policy))
            self._has_taken_over = True
        if self.held is not None and self._news:
            news, self._news = self._news, []
            try:
                await self._make_true(lambda image: decide(image, news, self.policy))
            except (ClientFault, TreeError):
                self._news[:0] = news
                raise

    async def _make_true(self, decision: Callable[[ClusterImage], Sequence[Change]]) -> None:
        began_ns = perf_counter_ns()
        elected: list[bool] = []  # for each new leader whether it was out of sync

        def noting(image: ClusterImage) -> Sequence[Change]:
            changes = decision(image)
            elected[:] = _elections(image, changes)
            return changes

        await self._metadata.change(noting, controllership=self.held)
        if elected:
            self.election_times.add((perf_counter_ns() - began_ns,))
            self.unclean_elections += sum(elected)

    async def _stand_for_election(self) -> None:
        controller_id = self._metadata.image.controller_id
        if controller_id == self._broker_id:
            # Whoever holds the id now holds its directories: that controller was its earlier life.
            await self._session.call(self._fence_earlier_life)
        elif controller_id != NO_CONTROLLER:
            return
        now_ms = self._clock.now_ms()
        held = await self._session.call(
            lambda tree: store.elect_controller(tree, self._broker_id, now_ms)
        )
        if held is None:
            logs.CONTROLLER.debug("Another broker was elected as the controller")
            return
        self.held = held
        self._has_taken_over = False
        self._news.clear()
        logs.CONTROLLER.info(
            "%d successfully elected as the controller. Epoch incremented to %d",
            self._broker_id,
            held.epoch,
        )
        await self._metadata.learn([ControllerChanged(self._broker_id)])

    def _fence_earlier_life(self, tree: Tree) -> None:
        try:
            node = tree.get(layout.CONTROLLER)
            if store.read_controller_id(tree) == self._broker_id:
                tree.delete(layout.CONTROLLER, node.version)
        except NoNode:
            pass

    async def _balance(self) -> None:
        config = self._metadata.settings.config
        if config.get_bool("auto.leader.rebalance.enable"):
            percentage = config.get_int("leader.imbalance.per.broker.percentage")
            await self._make_true(
                lambda image: balance_leaders(image, imbalance_percentage=percentage)
            )

    async def _sweep(self) -> None:
        """Remove the notes of leaders that changed their ISR: the states themselves are heard."""
        held = self.held
        if held is not None:
            await self._session.call(lambda tree: store.clear_isr_changes(tree, held))


def _elections(image: ClusterImage, changes: Sequence[Change]) -> list[bool]:
    """One entry for each partition that gets another leader: whether that one was out of sync."""
    found = []
    for change in changes:
        if isinstance(change, PartitionChanged):
            before = image.partition(change.topic, change.partition)
            leader = change.image.leader
            if before is not None and leader not in (NO_LEADER, before.leader):
                found.append(leader not in before.isr)
    return found


def _log(change: Change) -> None:
    match change:
        case BrokerRegistered(broker):
            logs.CONTROLLER.info("New broker startup callback for %d", broker.id)
        case BrokerUnregistered(broker_id):
            logs.CONTROLLER.info("Broker failure callback for %d", broker_id)
        case PartitionChanged(topic, partition, image):
            logs.CONTROLLER.info(
                "Partition %s-%d: leader %d, leader epoch %d, isr %s",
                topic,
                partition,
                image.leader,
                image.leader_epoch,
                list(image.isr),
            )
        case _:
            pass
