"""One life of one broker: the real composition root, on a simulated machine.

What runs is `headrace.broker.app.start` and everything that it wires: handlers, coordinators,
replicas, fetchers, the controller. Only the machine is another one: the loop and its threads, the
clock, the disk, ZooKeeper, and what lies between brokers (`headrace.broker.machine`).

A life ends by `kill`, in the middle of anything, or by `shut_down`, in order. The disk outlives it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final
from uuid import UUID

from headrace.broker import app
from headrace.broker.app import RunningBroker
from headrace.broker.handlers import HANDLERS
from headrace.broker.net.dialling import PeerSettings
from headrace.broker.net.dispatch import Dispatcher
from headrace.broker.net.listener import ConnectionLimits
from headrace.broker.net.peer_connection import PeerLost
from headrace.broker.net.reporter import Reporter
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.controller import Controllership
from headrace.cluster.image import Endpoint
from headrace.coordination.tree import Op
from headrace.testing import MemoryDisk
from headrace.testing.random_streams import RandomStreams
from headrace.testing.schedule import Schedule
from headrace.testing.simulated_loop import DiskThreads, SimulatedLoop
from headrace.testing.simulated_network import Link, Served, ServerConnection, SimulatedNetwork
from headrace.wire.registry import by_key
from headrace.wire.schema import info
from tests.simulation.cluster.keeper import Keeper, SimulatedTree, TreeThreads
from tests.simulation.storage import PATH, KillableDisk

_VERSIONS: Final = {handler.key: handler.versions[1] for handler in HANDLERS}
_LONGEST_FSYNC_MS: Final = 12
_LONGEST_SLOW_FSYNC_MS: Final = 300


class MachineClock:
    """The wall clock of one machine, which may be wrong and may be set; and one that only runs."""

    def __init__(self, schedule: Schedule) -> None:
        self.skew_ms = 0
        self._schedule = schedule

    def now_ms(self) -> int:
        return self._schedule.now_ms + self.skew_ms

    def monotonic_ms(self) -> int:
        return self._schedule.elapsed_ms


class BrokerDisk(KillableDisk):
    """A disk that goes on under another object when its broker ends, so that no remains of the
    dead one ever write to it.
    """

    @property
    def is_crashed(self) -> bool:
        return self._crashed

    def after_kill(self) -> BrokerDisk:
        """As the operating system has it: everything that was written, synced or not."""
        return self._taken_over(self._root, self._journal)

    def after_power_cut(self, rng: Random | None, *, torn_pages: bool) -> BrokerDisk:
        cut: Any = self.crash(rng, torn_pages=torn_pages)
        return self._taken_over(cut._root, cut._journal)

    def _taken_over(self, root: Any, journal: Any) -> BrokerDisk:
        disk = BrokerDisk()
        disk._root, disk._journal = root, journal
        self._crashed = True
        return disk


class _Listener:
    """Where the network finds the dispatcher of a broker."""

    name: Final = "PLAINTEXT"
    port: Final = 9092

    def __init__(self, life: BrokerLife) -> None:
        self.host = life.name
        self.limits = ConnectionLimits(sys.maxsize, sys.maxsize, {})
        self._life = life

    async def start(self, dispatcher: Dispatcher) -> None:
        dispatch: Any = dispatcher.on_frame

        def on_frame(connection: ServerConnection, frame: bytes) -> None:
            self._life.loop.call_soon_threadsafe(dispatch, connection, frame)

        self._life.on_frame = on_frame
        self._life.network.servers[self._life.name] = self._life

    def stop_accepting(self) -> None: ...

    async def drain(self) -> None: ...

    def close_idle(self) -> int:
        return 0

    def close_all(self) -> None:
        self._life.network.break_node(self._life.name)


class BrokerLife(Served):
    """See the module."""

    def __init__(
        self,
        broker_id: int,
        config: BrokerConfig,
        disk: BrokerDisk,
        clock: MachineClock,
        keeper: Keeper,
        network: SimulatedNetwork,
        schedule: Schedule,
        chance: RandomStreams,
    ) -> None:
        self.id = broker_id
        self.name = f"b{broker_id}"
        self.disk = disk
        self.clock = clock
        self.network = network
        self.rng = chance.of("broker", broker_id)
        self.loop = SimulatedLoop(self.name, schedule)
        self.running: RunningBroker | None = None
        self.fault: BaseException | None = None  # why it ended by itself
        self.tree: SimulatedTree | None = None
        self.is_ending = False
        self.on_decision: Callable[[Sequence[Op], Controllership], None] = lambda *_: None
        self.looked_at: dict[Any, tuple[int, ...]] = {}  # replicas as the witness saw them last
        self._stopwatch_s = 0.0
        self._config = config
        self._keeper = keeper
        self._fsyncs = DiskThreads(schedule, self._fsync_ms)
        self._calls = TreeThreads(keeper)

    @property
    def is_dead(self) -> bool:
        return self.loop.is_dead

    @property
    def has_died(self) -> bool:  # type: ignore[override]
        """Whether it is over, even if its last turn is not."""
        return self.loop.is_dead or self.disk.is_crashed

    @property
    def is_stopped(self) -> bool:  # type: ignore[override]
        return self.loop.is_stopped

    def begin(self) -> None:
        """Start; it serves when `running` is there, or ends with a `fault`."""
        self.loop.call_soon(self._start)

    def _start(self) -> None:
        task = self.loop.create_task(app.start(self._config, self))
        task.add_done_callback(self._on_started)

    def _on_started(self, task: asyncio.Task[RunningBroker]) -> None:
        self.fault = task.exception()
        if self.fault is None:
            self.running = task.result()

    def shut_down(self, on_end: Callable[[], None]) -> None:
        """SIGTERM: end in order, if it has come so far as to serve."""
        running = self.running
        if running is None or self.is_ending:
            return
        self.is_ending = True

        async def stop() -> None:
            await running.stop()
            on_end()

        self.loop.call_soon(lambda: self.loop.create_task(stop()))

    def kill(self) -> None:
        """SIGKILL, or the power."""
        self.loop.end()
        self.network.break_node(self.name)
        self._keeper.look_at_links()

    # What the broker asks of its machine.

    @property
    def chance(self) -> Random:
        return self.rng

    def new_id(self) -> UUID:
        return UUID(int=self.rng.getrandbits(128), version=4)

    def threads(self, _count: int, name: str) -> Any:
        return self._calls if name.endswith("tree") else self._fsyncs

    def listen(self, _config: BrokerConfig, _reporter: Reporter) -> list[Any]:
        return [_Listener(self)]

    def open_disk(self) -> BrokerDisk:
        return self.disk

    def tree_opener(self, *_: object) -> Callable[[], SimulatedTree]:
        return self._open_tree

    def _open_tree(self) -> SimulatedTree:
        self.tree = self._keeper.session(self.loop)
        return self.tree

    async def connect(self, endpoint: Endpoint, _client_id: str, settings: PeerSettings) -> Any:
        """To another broker, over the world's network."""
        network = self.network
        delay_ms = self.rng.randrange(1, 5)
        await asyncio.sleep(delay_ms / 1000)
        for pair in ((self.name, endpoint.host), (endpoint.host, self.name)):
            if pair in network.cuts:
                await asyncio.sleep(settings.connect_timeout_ms / 1000)
                raise TimeoutError
        if endpoint.host not in network.servers:
            raise OSError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        return _PeerConnection(self, network.connect(self.name, endpoint.host))

    def stopwatch(self) -> float:
        """How long something takes, for who wants to know whether it takes too long."""
        self._stopwatch_s += self.rng.expovariate(1_000)
        return self._stopwatch_s

    def _fsync_ms(self) -> int:
        is_slow = self.rng.random() < 0.05
        return self.rng.randrange(1, _LONGEST_SLOW_FSYNC_MS if is_slow else _LONGEST_FSYNC_MS)


class _PeerConnection:
    """A connection of one broker to another, over the world's network."""

    def __init__(self, life: BrokerLife, link: Link) -> None:
        self.closed_because = ""
        self._life = life
        self._link = link

    async def ask(self, request: Any, timeout_s: float) -> Any:
        if self.closed_because or not self._link.is_open:
            raise PeerLost(self.closed_because or "the connection was broken")
        key = info(type(request)).key
        version = min(by_key(key).max_version, _VERSIONS[key])
        answer: asyncio.Future[Any] = self._life.loop.create_future()

        def on_reply(response: Any) -> None:
            self._life.loop.call_soon_threadsafe(put, response)

        def put(response: Any) -> None:
            if response is None:
                self.closed_because = self.closed_because or "the connection was broken"
            if answer.done():
                return
            if response is None:
                answer.set_exception(PeerLost(self.closed_because))
            else:
                answer.set_result(response)

        self._life.network.send(self._link, request, version, None, on_reply)
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            self.abort("it did not answer in time")
            raise PeerLost(self.closed_because) from None

    def abort(self, reason: str) -> None:
        self.closed_because = self.closed_because or reason
        if self._link.is_open:
            self._life.network.give_up(self._link)


def data_disk() -> BrokerDisk:
    return BrokerDisk(folders=[PATH])


def folders_of(disk: MemoryDisk) -> list[str]:
    return disk.list(PATH)
