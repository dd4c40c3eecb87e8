"""The other brokers of the cluster, as this one reaches them.

A broker is reached at the endpoint of the inter-broker listener in the image, over one connection
for each channel: a channel is a conversation of its own (a replica fetcher, the sender of markers),
so that a long poll of one never holds up the others. A connection belongs to one life of its
broker: when the broker registers anew, perhaps elsewhere, the next question goes to the new address
at once. Nothing is asked twice here; who asks decides whether to ask again.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from headrace.broker.net.peer_connection import PeerConnection, PeerLost
from headrace.errors import Error, HeadraceError

if TYPE_CHECKING:
    from headrace.broker.net.dialling import Connect, PeerSettings
    from headrace.cluster.image import BrokerRegistration, ClusterImage, Endpoint

_MIN_BACKOFF_S: Final = 0.05  # as Kafka's clients: reconnect.backoff.ms
_MAX_BACKOFF_S: Final = 1.0  # reconnect.backoff.max.ms


class PeerUnreachable(HeadraceError):
    """Another broker did not answer; the text names it, its address and the cause."""

    def __init__(self, broker_id: int, address: str, cause: str) -> None:
        super().__init__(f"broker {broker_id} ({address}) did not answer: {cause}")
        self.broker_id = broker_id
        self.address = address
        self.cause = cause


def error_named(code: int) -> Error:
    """The error of another broker, which may be newer and know more of them."""
    try:
        return Error(code)
    except ValueError:
        return Error.UNKNOWN_SERVER_ERROR


class Peers:
    """Connections to other brokers; `image` gives the cluster as it is known now."""

    def __init__(
        self,
        broker_id: int,
        image: Callable[[], ClusterImage],
        settings: PeerSettings,
        connect: Connect,
    ) -> None:
        self.broker_id = broker_id  # whom all others know us as
        self.image = image
        self._settings = settings
        self._connect = connect
        self._channels: dict[tuple[int, str], _Channel] = {}
        self._closed = False

    async def ask(
        self, broker_id: int, request: Any, *, timeout_ms: int, channel: str = "main"
    ) -> Any:
        """The answer of another broker, in the newest version that both know."""
        timeout_s = timeout_ms / 1000
        line = self._channels.get((broker_id, channel))
        if line is None:
            line = self._channels[broker_id, channel] = _Channel(self, broker_id, channel)
        return await line.ask(request, timeout_s)

    def forget(self, broker_id: int, channel: str) -> None:
        """Close a channel that is not needed any more."""
        line = self._channels.pop((broker_id, channel), None)
        if line is not None:
            line.close("the channel is not needed any more")

    async def close(self) -> None:
        """Close every connection; whoever waits is told."""
        self._closed = True
        channels, self._channels = self._channels, {}
        for line in channels.values():
            line.close("this broker is shutting down")
        await asyncio.sleep(0)  # transports tell their protocols on the next turn of the loop

    # -- for channels -----------------------------------------------------------------------------

    def registration(self, broker_id: int) -> tuple[BrokerRegistration, Endpoint]:
        """The life that a broker lives now, and where; PeerUnreachable if it lives none."""
        if self._closed:
            raise PeerUnreachable(broker_id, "no address", "this broker is shutting down")
        broker = self.image().brokers.get(broker_id)
        if broker is None:
            raise PeerUnreachable(broker_id, "no address", "it is not registered in the cluster")
        endpoint = broker.endpoints.get(self._settings.listener)
        if endpoint is None:
            raise PeerUnreachable(
                broker_id,
                "no address",
                f"it has no listener {self._settings.listener}; every broker needs the same "
                "inter.broker.listener.name",
            )
        return broker, endpoint

    async def connect(self, endpoint: Endpoint, channel: str) -> PeerConnection:
        """A new connection that knows the versions of the other side; OSError or PeerLost."""
        client_id = f"broker-{self.broker_id}-{channel}"
        return await self._connect(endpoint, client_id, self._settings)


class _Channel:
    """One conversation with one broker, over one connection at a time."""

    __slots__ = (
        "_backoff_s",
        "_broker_id",
        "_closed",
        "_connected_to",
        "_connecting",
        "_connection",
        "_name",
        "_peers",
        "_refused_by",
        "_refused_until",
        "_refused_why",
    )

    def __init__(self, peers: Peers, broker_id: int, name: str) -> None:
        self._peers = peers
        self._broker_id = broker_id
        self._name = name
        self._connection: PeerConnection | None = None
        self._connected_to: tuple[int, Endpoint] | None = None  # (broker epoch, where)
        self._connecting: asyncio.Task[PeerConnection] | None = None
        self._refused_by: tuple[int, Endpoint] | None = None
        self._refused_until = 0.0
        self._refused_why = ""
        self._backoff_s = _MIN_BACKOFF_S
        self._closed = ""

    async def ask(self, request: Any, timeout_s: float) -> Any:
        broker, endpoint = self._peers.registration(self._broker_id)
        life = (broker.epoch, endpoint)
        connection = self._connection
        try:
            if connection is None or connection.closed_because or self._connected_to != life:
                connection = await self._connected(life, timeout_s)
            return await connection.ask(request, timeout_s)
        except PeerLost as fault:
            raise self._unreachable(endpoint, str(fault)) from None

    async def _connected(self, life: tuple[int, Endpoint], timeout_s: float) -> PeerConnection:
        """A connection to this life of the broker; several askers share one attempt."""
        if self._closed:
            raise PeerLost(self._closed)
        loop = asyncio.get_running_loop()
        if self._refused_by == life and loop.time() < self._refused_until:
            raise PeerLost(self._refused_why)
        if self._connecting is None:
            self._connecting = loop.create_task(self._connect(life))
            self._connecting.add_done_callback(self._on_connected)
        attempt = self._connecting
        try:
            async with asyncio.timeout(timeout_s):
                # Whoever stops waiting does not stop the attempt: others wait for it too.
                return await asyncio.shield(attempt)
        except TimeoutError:
            raise PeerLost("it did not accept the connection in time") from None
        except asyncio.CancelledError:
            if attempt.cancelled() and self._closed:
                raise PeerLost(self._closed) from None
            raise

    async def _connect(self, life: tuple[int, Endpoint]) -> PeerConnection:
        if self._connection is not None:
            self._connection.abort("the broker has registered again")
            self._connection = None
        try:
            connection = await self._peers.connect(life[1], self._name)
        except (OSError, PeerLost) as fault:
            self._refused_by = life
            self._refused_why = _words(fault)
            self._refused_until = asyncio.get_running_loop().time() + self._backoff_s
            self._backoff_s = min(self._backoff_s * 2, _MAX_BACKOFF_S)
            raise PeerLost(self._refused_why) from None
        self._connection = connection
        self._connected_to = life
        self._refused_by = None
        self._backoff_s = _MIN_BACKOFF_S
        return connection

    def _on_connected(self, attempt: asyncio.Task[PeerConnection]) -> None:
        self._connecting = None
        if not attempt.cancelled():
            attempt.exception()  # seen, even if everybody who waited for it has gone

    def close(self, reason: str) -> None:
        self._closed = reason
        if self._connecting is not None:
            self._connecting.cancel()
        if self._connection is not None:
            self._connection.abort(reason)

    def _unreachable(self, endpoint: Endpoint, cause: str) -> PeerUnreachable:
        return PeerUnreachable(self._broker_id, f"{endpoint.host}:{endpoint.port}", cause)


def _words(fault: Exception) -> str:
    if isinstance(fault, TimeoutError) and fault.errno is None:
        return "it did not accept the connection in time"
    if isinstance(fault, OSError) and fault.errno and not isinstance(fault, socket.gaierror):
        return os.strerror(fault.errno)
    return str(fault) or type(fault).__name__
