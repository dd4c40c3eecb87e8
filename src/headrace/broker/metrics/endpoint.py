"""`/metrics` over HTTP/1.1, served by the broker's own event loop.

Prometheus asks a few times a minute, so this is the smallest responder that is safe to expose:
GET and HEAD of one path, a limit for everything that a stranger could send, and one scrape at a
time. Ten thousand partitions make a long answer: it is written in pieces, between which the
requests of clients have their turn. Web pages of other sites get nothing, and where only this
machine can ask, it must do so by a name of this machine (see http/gate).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Iterator
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Final

from headrace.broker.metrics.catalogue import METRICS
from headrace.broker.metrics.client_reports import client_families
from headrace.broker.metrics.declaration import Sources, family
from headrace.broker.metrics.distant_ends import ask_leaders
from headrace.broker.metrics.load import LoadMeter
from headrace.broker.watching import logs
from headrace.http.exposition import CONTENT_TYPE
from headrace.http.hosts import EVERY_NAME, OwnNames, is_loopback

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.cluster_role import ClusterRole
    from headrace.broker.net.dispatch import Dispatcher
    from headrace.broker.net.listener import Listener
    from headrace.broker.storage.cleaner import LogCleaner

_MAX_HEAD_BYTES: Final = 8 * 1024
_MAX_CONNECTIONS: Final = 32
_PATIENCE_S: Final = 30.0
_TURN_S: Final = 0.002  # how long a scrape may keep everybody else waiting
_LINES_PER_LOOK: Final = 50
_PATHS: Final = ("/metrics", "/")
_HEAD_END: Final = b"\r\n\r\n"
_OF_A_PAGE: Final = ("origin:", "sec-fetch-site:cross-site", "sec-fetch-site:same-site")


class MetricsEndpoint:
    """See the module."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.scrapes = 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._names = OwnNames([])
        self.host = ""
        self.port = 0

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/metrics"

    async def start(self, listening: socket.socket) -> None:
        """Answer on a socket that listens."""
        self.host, self.port = listening.getsockname()[:2]
        # Prometheus calls brokers on other machines by names that only its own settings have.
        self._names = OwnNames([self.host], () if is_loopback(self.host) else (EVERY_NAME,))
        self._server = await asyncio.start_server(
            self._on_connection, sock=listening, limit=_MAX_HEAD_BYTES
        )
        logs.SERVER.info("Metrics are served on %s", self.url)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    # -- HTTP -------------------------------------------------------------------------------------

    async def _on_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            pass  # The other side has gone, or never says what it wants.
        except asyncio.CancelledError:
            pass  # The broker stops.
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether there may be another one on this connection."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(_HEAD_END)
        except asyncio.LimitOverrunError:
            return await _refuse(writer, "431 Request Header Fields Too Large")
        if len(self._connections) > _MAX_CONNECTIONS:
            return await _refuse(writer, "503 Service Unavailable")
        line, *fields = head.decode("latin-1").split("\r\n")
        words = line.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return await _refuse(writer, "400 Bad Request")
        method, target, version = words
        headers = [field.lower().replace(" ", "") for field in fields]
        if method not in ("GET", "HEAD"):
            return await _refuse(writer, "405 Method Not Allowed", "Allow: GET, HEAD\r\n")
        if any(field.startswith("transfer-encoding:") for field in headers) or any(
            field.startswith("content-length:") and field != "content-length:0" for field in headers
        ):
            return await _refuse(writer, "400 Bad Request")  # nothing here takes a body
        if any(not self._names.has(field[5:]) for field in headers if field.startswith("host:")):
            return await _refuse(writer, "421 Misdirected Request")
        if any(field.startswith(_OF_A_PAGE) for field in headers):
            return await _refuse(writer, "403 Forbidden")
        if target.partition("?")[0] not in _PATHS:
            return await _refuse(writer, "404 Not Found")
        body = await self.scrape()
        stays = version != "HTTP/1.0" and "connection:close" not in headers
        writer.write(_response("200 OK", body, CONTENT_TYPE, stays=stays, sends=method == "GET"))
        async with asyncio.timeout(_PATIENCE_S):
            await writer.drain()
        return stays

    # -- the numbers ------------------------------------------------------------------------------

    async def scrape(self) -> bytes:
        """Everything that is known now."""
        async with self._turn:
            self.scrapes += 1
            sources = self.sources
            sources.load.look()
            sources.remote_ends = await ask_leaders(sources)
            return await _gathered(self._lines())

    def _lines(self) -> Iterator[str]:
        families = (family(metric, self.sources) for metric in METRICS)
        return chain(chain.from_iterable(families), client_families(self.sources))


def sources_of(
    broker: Broker,
    listeners: list[Listener],
    dispatcher: Dispatcher,
    cleaner: LogCleaner,
    role: ClusterRole | None,
) -> Sources:
    """What a running broker has to read from."""
    return Sources(
        broker=broker,
        listeners=listeners,
        dispatcher=dispatcher,
        cleaner=cleaner,
        role=role,
        telemetry=broker.telemetry,
        load=LoadMeter(),
        started_ms=broker.clock.now_ms(),
    )


async def _gathered(lines: Iterable[str]) -> bytes:
    """The lines as one text, made in turns."""
    parts: list[str] = []
    began = monotonic()
    for number, line in enumerate(lines):
        parts.append(line)
        if number % _LINES_PER_LOOK == 0 and monotonic() - began > _TURN_S:
            await asyncio.sleep(0)
            began = monotonic()
    return "".join(parts).encode()


async def _refuse(writer: asyncio.StreamWriter, status: str, headers: str = "") -> bool:
    body = f"{status}\n".encode()
    writer.write(_response(status, body, "text/plain", stays=False, headers=headers))
    async with asyncio.timeout(_PATIENCE_S):
        await writer.drain()
    return False


def _response(
    status: str,
    body: bytes,
    content_type: str,
    *,
    stays: bool,
    sends: bool = True,
    headers: str = "",
) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        f"Connection: {'keep-alive' if stays else 'close'}\r\n{headers}\r\n"
    )
    return head.encode() + (body if sends else b"")
