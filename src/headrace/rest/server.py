"""Several servers under one pair of signals: they run until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uvicorn import Server


async def run(
    servers: list[tuple[Server, list[socket.socket]]], *, on_stop: Callable[[], None]
) -> None:
    """Serve until SIGTERM or SIGINT; `on_stop` ends the answers that would go on for ever."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        on_stop()
        for server, _ in servers:
            server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        await asyncio.gather(*(server.serve(sockets) for server, sockets in servers))
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
