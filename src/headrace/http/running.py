"""A service as a process: it listens, says so, and serves until SIGTERM or Ctrl-C.

On the way down no new connection is taken, requests under way are answered, and then the service is
closed.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette

from headrace.http.listeners import BACKLOG, bind
from headrace.http.server import build_server
from headrace.http.service import Service


def print_ready(line: str) -> None:
    """The line for whoever started the process."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def serve(
    build: Callable[[], tuple[Service, Starlette]],
    announce: Callable[[str], Any] | None = None,
    **limits: Any,
) -> int:
    """Serve until the process is told to stop; returns the exit code.

    `build` is called in the event loop; `limits` are for `build_server`.
    """
    import uvloop

    # What clients do wrong is answered, not logged.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    uvloop.run(_serve(build, announce or print_ready, limits))
    return 0


async def _serve(
    build: Callable[[], tuple[Service, Starlette]],
    announce: Callable[[str], Any],
    limits: dict[str, Any],
) -> None:
    service, app = build()
    settings = service.settings
    servers = {
        scheme: build_server(app, settings, scheme, **limits)
        for scheme in sorted({listener.scheme for listener in settings.listeners})
    }

    def stop() -> None:
        service.stop()
        for server in servers.values():
            server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    bound = [bind(listener) for listener in settings.listeners]
    try:
        await service.open()
        for socket, _ in bound:
            # Whoever connects from now on is served in a moment.
            socket.listen(BACKLOG)
        service.listening([where for _, where in bound])
        for _, where in bound:
            announce(f"ready {service.name} {where.url}")
        await asyncio.gather(
            *(
                server.serve([socket for socket, where in bound if where.scheme == scheme])
                for scheme, server in servers.items()
            )
        )
    finally:
        await service.close()
        for socket, _ in bound:
            socket.close()
