"""A broker in a thread of the test's own process, for what only shows from the inside.

It is built by the same function as every broker; the test can then watch which system calls the
event loop makes, or hold the disk back.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop

from headrace.broker import app
from headrace.broker.os_machine import OsMachine
from headrace.cluster.broker_config import BrokerConfig

TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class InProcessBroker:
    """Where it is, and a way into its event loop."""

    bootstrap_servers: str
    loop: asyncio.AbstractEventLoop

    def call(self, function: Callable[[], None]) -> None:
        """Run a function in the thread of the event loop and wait for it."""
        done = threading.Event()

        def run() -> None:
            function()
            done.set()

        self.loop.call_soon_threadsafe(run)
        assert done.wait(TIMEOUT_SECONDS), "the event loop does not answer"


@contextlib.contextmanager
def in_process_broker(data: Path, **settings: str) -> Iterator[InProcessBroker]:
    """Run a broker until the context ends; settings with `_` for `.`."""
    config = BrokerConfig(
        {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(data),
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )
    started: list[InProcessBroker] = []
    ready = threading.Event()
    stop = asyncio.Event()

    async def main() -> None:
        running = await app.start(config, OsMachine())
        address = f"127.0.0.1:{running.listeners[0].port}"
        started.append(InProcessBroker(address, asyncio.get_running_loop()))
        ready.set()
        await stop.wait()
        await running.stop()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(main())
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="broker")
    thread.start()
    assert ready.wait(TIMEOUT_SECONDS), "the broker did not start in time"
    assert started, "the broker did not start"
    try:
        yield started[0]
    finally:
        started[0].loop.call_soon_threadsafe(stop.set)
        thread.join(TIMEOUT_SECONDS)
        assert not thread.is_alive(), "the broker did not stop"


class HeldDisk:
    """Stands in for `os.fdatasync`: a disk that, once held, makes nothing durable until let go."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._free = threading.Event()
        self._free.set()
        self._sync = os.fdatasync

    def hold(self) -> None:
        self._free.clear()
        self.asked.clear()

    def let_go(self) -> None:
        self._free.set()

    def __call__(self, descriptor: int) -> None:
        self.asked.set()
        if not self._free.wait(TIMEOUT_SECONDS):
            raise TimeoutError("the disk was not let go")
        self._sync(descriptor)
