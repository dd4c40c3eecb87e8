"""The machine of this process: its clock, its disk, its sockets."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from headrace.broker.net.dialling import Dialler
from headrace.broker.net.listening import bind
from headrace.coordination.sqlite import SqliteTree
from headrace.runtime.clock import Clock, SystemClock
from headrace.runtime.descriptors import files_within, raise_limit
from headrace.runtime.os_disk import OsDisk

if TYPE_CHECKING:
    from uuid import UUID

    from headrace.broker.net.listener import Listener
    from headrace.broker.net.reporter import Reporter
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.cluster.controller import Controllership
    from headrace.coordination.tree import Op, Tree
    from headrace.runtime.disk import Disk

TREE_FILE: Final = "__coordination.sqlite"


class OsMachine:
    """What production uses."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock: Final[Clock] = clock or SystemClock()
        self.chance: Final = random.SystemRandom()
        self.connect: Final = Dialler().connect

    def new_id(self) -> UUID:
        return uuid.uuid4()

    def stopwatch(self) -> float:
        return time.monotonic()

    def threads(self, count: int, name: str) -> Executor:
        return ThreadPoolExecutor(count, thread_name_prefix=name)

    def listen(self, config: BrokerConfig, reporter: Reporter) -> list[Listener]:
        return bind(config, asyncio.get_running_loop(), reporter)

    def open_disk(self) -> Disk:
        return OsDisk(files_within(raise_limit()))

    def tree_opener(self, config: BrokerConfig, disk: Disk, folder: str) -> Callable[[], Tree]:
        """ZooKeeper's, or a file in the broker's first directory."""
        hosts = config.get("zookeeper.connect")
        if not hosts:
            disk.make_folder(folder)
            return lambda: SqliteTree(f"{folder}/{TREE_FILE}")
        session_timeout_ms = config.get_int("zookeeper.session.timeout.ms")
        connection_timeout_ms = config.get("zookeeper.connection.timeout.ms") or session_timeout_ms

        def connect() -> Tree:
            # kazoo is loaded only where there is a ZooKeeper.
            from headrace.coordination import zookeeper

            return zookeeper.connect(
                hosts,
                session_timeout_ms=session_timeout_ms,
                connection_timeout_ms=connection_timeout_ms,
            )

        return connect

    def on_decision(self, ops: Sequence[Op], controllership: Controllership) -> None:
        """Nobody wants to know."""
