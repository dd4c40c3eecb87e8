"""How a broker connects to another one."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.broker.net.peer_connection import PeerConnection
from headrace.wire.frame import FrameReader

if TYPE_CHECKING:
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.cluster.image import Endpoint

_SCRATCH_BYTES: Final = 64 * 1024
# Closing drops what was not delivered. The kernel would go on sending it for minutes, and a marker
# that arrives after its transaction, because it was asked for anew, would end the next one.
_DISCARD: Final = struct.pack("ii", 1, 0)  # struct linger: on, for 0 seconds
# A response may exceed replica.fetch.response.max.bytes by one batch, and has headers besides.
_SLACK_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """What a broker's settings say about its connections to others."""

    listener: str  # the name of the inter-broker listener
    connect_timeout_ms: int = 10_000
    receive_buffer_bytes: int = -1  # -1: as the system likes
    max_response_bytes: int = (10 << 20) + _SLACK_BYTES

    @classmethod
    def of(cls, config: BrokerConfig) -> PeerSettings:
        return cls(
            listener=config.inter_broker_listener,
            connect_timeout_ms=min(config.get_int("replica.socket.timeout.ms"), 10_000),
            receive_buffer_bytes=config.get_int("replica.socket.receive.buffer.bytes"),
            max_response_bytes=config.get_int("replica.fetch.response.max.bytes") + _SLACK_BYTES,
        )


Connect = Callable[["Endpoint", str, PeerSettings], Awaitable[PeerConnection]]
"""Where to, as whom, and how."""


class Dialler:
    """Makes connections that share one buffer for what arrives."""

    def __init__(self) -> None:
        self._scratch = bytearray(_SCRATCH_BYTES)  # see FrameReader

    async def connect(
        self, endpoint: Endpoint, client_id: str, settings: PeerSettings
    ) -> PeerConnection:
        """A new connection that knows the versions of the other side; OSError or PeerLost."""
        loop = asyncio.get_running_loop()
        timeout_s = settings.connect_timeout_ms / 1000
        async with asyncio.timeout(timeout_s):
            sock = await _open_socket(endpoint, settings)
            try:
                _, connection = await loop.create_connection(
                    lambda: PeerConnection(
                        loop,
                        client_id,
                        FrameReader(
                            settings.max_response_bytes,
                            self._scratch,
                            grain=settings.max_response_bytes,
                        ),
                    ),
                    sock=sock,
                )
            except BaseException:
                sock.close()
                raise
            try:
                await connection.negotiate(timeout_s)
            except BaseException:
                connection.abort("it did not report its versions")
                raise
        return connection


async def _open_socket(endpoint: Endpoint, settings: PeerSettings) -> socket.socket:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    fault: OSError | None = None
    for family, kind, protocol, _, address in found:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DISCARD)
            if settings.receive_buffer_bytes > 0:
                # Before connect: the window that is offered depends on it.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, settings.receive_buffer_bytes)
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            fault = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise fault or OSError("its name has no address")
