"""uvicorn with limits: the head of a request comes in time and stays small, or is answered so.

uvicorn bounds neither how long a client may take to send the head of a request nor how long that
may be, and answers what is no HTTP with plain text. Here such clients are cut off, and every answer
is JSON. The body is the application's business.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from headrace.errors import ConfigError
from headrace.http.settings import HttpSettings

_MAX_HEAD_BYTES: Final = 64 << 10
_MAX_FRAME_BYTES: Final = 1 << 20
_GRACE_S: Final = 5
_CLIENT_CERTIFICATES: Final = {
    "NONE": ssl.CERT_NONE,
    "REQUESTED": ssl.CERT_OPTIONAL,
    "REQUIRED": ssl.CERT_REQUIRED,
}


class PatientProtocol(HttpToolsProtocol):
    """One connection."""

    head_timeout_s = 30.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_bytes = 0
        self._in_head = True
        self._timer: asyncio.TimerHandle | None = None
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > _MAX_HEAD_BYTES:
            self._refuse(431, "The head of the request is larger than 64 KiB")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = 0
        self._in_head = True
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Whatever this was, it was no HTTP request."""
        self._refuse(400, msg)

    def _expect_head(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.head_timeout_s, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self._refuse(408, "The head of the request did not come in time")

    def _refuse(self, status: int, message: str) -> None:
        body = b'{"error_code":%d,"message":"%s"}' % (status, message.encode())
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + head % len(body) + body)
        self.transport.close()


class QuietServer(uvicorn.Server):
    """A server that leaves signals to whoever runs several of them."""

    def capture_signals(self) -> Any:
        """No signal is caught here."""
        return _Nothing()


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *caught: object) -> None:
        return None


def build_server(
    app: Any,
    settings: HttpSettings,
    scheme: str,
    *,
    websockets: bool = False,
    connections_max: int | None = None,
) -> QuietServer:
    """A server for the listeners of one scheme; more connections than it may have get 503."""

    class BoundedProtocol(PatientProtocol):
        head_timeout_s = settings.request_timeout_ms / 1000

    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="auto" if websockets else "none",
        ws_max_size=_MAX_FRAME_BYTES,
        loop="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=connections_max,
        timeout_keep_alive=max(1, settings.idle_timeout_ms // 1000),
        timeout_graceful_shutdown=_GRACE_S,
    )
    config.load()
    if scheme == "https":
        config.ssl = server_context(settings)
    return QuietServer(config)


def server_context(settings: HttpSettings) -> ssl.SSLContext:
    """What `https` listeners serve with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    assert settings.ssl_certificate_location is not None, "settings are checked"
    try:
        context.load_cert_chain(
            settings.ssl_certificate_location,
            settings.ssl_key_location,
            settings.ssl_key_password or "",
        )
        if settings.ssl_ca_location is not None:
            context.load_verify_locations(settings.ssl_ca_location)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"ssl.keystore.location={settings.ssl_certificate_location!r} cannot be used ({error}):"
            " PEM files with the key and its certificates, and ssl.key.password, are expected"
        ) from None
    context.verify_mode = _CLIENT_CERTIFICATES[settings.ssl_client_authentication]
    return context
