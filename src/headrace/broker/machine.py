"""The machine that a broker runs on, as an argument: time, chance, threads, disk, network, tree.

`app.start` asks a `Machine` for everything that is not the broker itself. Production has the one of
`os_machine`; a simulation brings its own and thereby decides what happens when.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor
    from uuid import UUID

    from headrace.broker.net.dialling import PeerSettings
    from headrace.broker.net.listener import Listener
    from headrace.broker.net.peer_connection import PeerConnection
    from headrace.broker.net.reporter import Reporter
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.cluster.controller import Controllership
    from headrace.cluster.image import Endpoint
    from headrace.cluster.placement import Chance
    from headrace.coordination.tree import Op, Tree
    from headrace.runtime.clock import Clock
    from headrace.runtime.disk import Disk


class Machine(Protocol):
    """What a broker asks for; the order of its questions is the order in which it starts."""

    @property
    def clock(self) -> Clock: ...

    @property
    def chance(self) -> Chance:
        """What nobody can foresee: placements, ids of sessions."""

    def new_id(self) -> UUID:
        """An id that nothing else has."""

    def stopwatch(self) -> float:
        """Seconds, for how long something takes."""

    def threads(self, count: int, name: str) -> Executor:
        """Threads for what blocks."""

    def listen(self, config: BrokerConfig, reporter: Reporter) -> list[Listener]:
        """Take the addresses of a broker, without accepting yet."""

    def open_disk(self) -> Disk: ...

    def tree_opener(self, config: BrokerConfig, disk: Disk, folder: str) -> Callable[[], Tree]:
        """What opens a session with the cluster's tree, each time that it is called."""

    async def connect(
        self, endpoint: Endpoint, client_id: str, settings: PeerSettings
    ) -> PeerConnection:
        """A connection to another broker that knows its versions; OSError or PeerLost."""

    def on_decision(self, ops: Sequence[Op], controllership: Controllership) -> None:
        """The controller is about to write this."""
