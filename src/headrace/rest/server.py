"""HTTP servers for the listeners: uvicorn with limits that it does not have by itself.

A connection that does not complete a request's head in time is closed, so that slow clients cannot
hold the table of connections; more connections than `connections.max` are answered 503. Which
application is served is not known here.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import ConfigError
from headrace.rest.settings import Listener

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from uvicorn import Server

    from headrace.rest.settings import RestSettings

_BACKLOG: Final = 1024
_VERIFY: Final = {
    "NONE": ssl.CERT_NONE,
    "REQUESTED": ssl.CERT_OPTIONAL,
    "REQUIRED": ssl.CERT_REQUIRED,
}


def bind(listener: Listener) -> tuple[socket.socket, Listener]:
    """A listening socket and where it is; `ConfigError` if the address cannot be had."""
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((listener.host, listener.port))
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"listeners: {listener.url} cannot be had ({error.strerror or error}): "
            "choose another port, or end what uses it"
        ) from None
    bound.setblocking(False)
    return bound, Listener(listener.scheme, listener.host, bound.getsockname()[1])


def build_server(app: Starlette, settings: RestSettings, scheme: str) -> Server:
    """A server for the listeners of one scheme."""
    import uvicorn

    tls: dict[str, Any] = {}
    if scheme == "https":
        tls = {
            "ssl_certfile": settings.ssl_certificate_location,
            "ssl_keyfile": settings.ssl_key_location or settings.ssl_certificate_location,
            "ssl_keyfile_password": settings.ssl_key_password,
            "ssl_ca_certs": settings.ssl_ca_location,
            "ssl_cert_reqs": _VERIFY[settings.ssl_client_authentication],
        }
    config = uvicorn.Config(
        app,
        loop="none",
        http=_bounded_protocol(settings.request_timeout_ms / 1000),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=settings.connections_max,
        timeout_keep_alive=max(1, settings.idle_timeout_ms // 1000),
        timeout_graceful_shutdown=5,
        ws_max_size=1 << 20,
        **tls,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"ssl.keystore.location={settings.ssl_certificate_location!r} cannot be used "
            f"({error}): a PEM file with the key and its certificates is expected"
        ) from None
    return _quiet_server()(config)


def _quiet_server() -> type[Server]:
    import uvicorn

    class QuietServer(uvicorn.Server):
        """One of several in a process: signals are `run`'s business."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return QuietServer


def _bounded_protocol(head_timeout_s: float) -> Any:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class BoundedProtocol(HttpToolsProtocol):
        """Closes a connection whose next request has begun and does not get to its body."""

        _waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._has_head()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._expect_head()

        def on_headers_complete(self) -> None:
            self._has_head()
            super().on_headers_complete()

        def _expect_head(self) -> None:
            self._has_head()
            self._waiting = self.loop.call_later(head_timeout_s, self.transport.close)

        def _has_head(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

    return BoundedProtocol


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
