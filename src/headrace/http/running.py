"""A service as a process, which serves until SIGTERM or Ctrl-C, or in a thread of another program.

On the way down no new connection is taken, requests under way are answered, and then the service is
closed.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, TypeAlias

from starlette.applications import Starlette

from headrace.http.listeners import BACKLOG, bind
from headrace.http.server import build_server
from headrace.http.service import Service

Build: TypeAlias = Callable[[], tuple[Service, Starlette]]
Stop: TypeAlias = Callable[[], None]
_LOG: Final = logging.getLogger(__name__)


def print_ready(line: str) -> None:
    """The line for whoever started the process."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def serve(
    build: Build,
    announce: Callable[[str], Any] | None = None,
    **limits: Any,
) -> int:
    """Serve until the process is told to stop; returns the exit code.

    `build` is called in the event loop; `limits` are for `build_server`.
    """
    _run(build, announce or print_ready, _stop_at_signals, limits)
    return 0


class Beside:
    """A service in a thread, while the program does something else."""

    def __init__(self, build: Build, **limits: Any) -> None:
        self._build = build
        self._limits = limits
        self._listens: Future[None] = Future()
        self._stop: Stop = lambda: None
        self._thread = threading.Thread(target=self._serve, name="HTTP", daemon=True)

    def start(self) -> None:
        """Return when it listens; raises what keeps it from that."""
        self._thread.start()
        self._listens.result()

    def stop(self) -> None:
        """Return when requests under way are answered and the service is closed."""
        self._stop()
        self._thread.join()

    def _serve(self) -> None:
        try:
            _run(self._build, self._announce, self._stop_from_outside, self._limits)
        except Exception as fault:
            if self._listens.done():
                _LOG.error("HTTP is no longer served", exc_info=fault)
            else:
                self._listens.set_exception(fault)

    def _announce(self, _line: str) -> None:
        if not self._listens.done():
            self._listens.set_result(None)

    def _stop_from_outside(self, stop: Stop) -> None:
        loop = asyncio.get_running_loop()
        self._stop = partial(_call, loop, stop)


def _call(loop: asyncio.AbstractEventLoop, stop: Stop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(stop)


def _stop_at_signals(stop: Stop) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)


def _run(
    build: Build,
    announce: Callable[[str], Any],
    on_stop: Callable[[Stop], None],
    limits: dict[str, Any],
) -> None:
    import uvloop

    # What clients do wrong is answered, not logged.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    uvloop.run(_serve(build, announce, on_stop, limits))


async def _serve(
    build: Build,
    announce: Callable[[str], Any],
    on_stop: Callable[[Stop], None],
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

    on_stop(stop)
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
