"""Listeners: the sockets that accept clients, and the limits on how many there may be."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections import Counter
from typing import TYPE_CHECKING, Final

from headrace.broker.net.connection import Connection
from headrace.broker.net.turns import Turns
from headrace.broker.watching import logs
from headrace.errors import ConfigError
from headrace.wire.frame import FrameReader

if TYPE_CHECKING:
    from headrace.broker.net.connection_gate import ConnectionGate
    from headrace.broker.net.dispatch import Dispatcher
    from headrace.broker.net.reporter import Reporter

_SCRATCH_BYTES: Final = 128 * 1024
_BACKLOG: Final = 1024
_MAX_PENDING: Final = 128


class ConnectionLimits:
    """How many connections the broker holds, in all and from one address; `room` is how many the
    process has descriptors for.
    """

    def __init__(self, max_connections: int, max_per_ip: int, overrides: dict[str, int]) -> None:
        self.max_connections = max_connections
        self.room = sys.maxsize
        self.max_per_ip = max_per_ip
        self.overrides = overrides
        self.total = 0
        self.by_host: Counter[str] = Counter()

    def adopt(self, other: ConnectionLimits) -> None:
        """Hold new connections to the limits of `other`; those that are open stay."""
        self.max_connections = other.max_connections
        self.max_per_ip = other.max_per_ip
        self.overrides = other.overrides

    def refusal(self, host: str) -> str:
        """Why one more connection from `host` is refused, or the empty string."""
        if self.total >= self.room:
            return f"the limit of open files has room for {self.room}; raise it with ulimit -n"
        if self.total >= self.max_connections:
            return f"max.connections={self.max_connections} is reached"
        allowed = self.overrides.get(host, self.max_per_ip)
        if self.by_host[host] >= allowed:
            return f"max.connections.per.ip={allowed} is reached for {host}"
        return ""

    def take(self, host: str) -> None:
        self.total += 1
        self.by_host[host] += 1

    def give_back(self, host: str) -> None:
        self.total -= 1
        self.by_host[host] -= 1
        if not self.by_host[host]:
            del self.by_host[host]


class Listener:
    """One named listener: its socket and its connections."""

    def __init__(
        self,
        name: str,
        loop: asyncio.AbstractEventLoop,
        limits: ConnectionLimits,
        reporter: Reporter,
        *,
        max_request_bytes: int,
        max_idle_ms: int,
        max_pending: int,
    ) -> None:
        self.name = name
        self.loop = loop
        self.reporter = reporter
        self.turns = Turns(loop)
        self.max_pending = min(max_pending, _MAX_PENDING)  # unanswered requests of one connection
        self.connections: set[Connection] = set()
        self.accepted = 0
        self.host = ""
        self.port = 0
        self.limits = limits
        self._max_request_bytes = max_request_bytes
        self._max_idle_s = max_idle_ms / 1000
        # Shared by all connections: see FrameReader.
        self._scratch = bytearray(_SCRATCH_BYTES)
        self._server: asyncio.Server | None = None
        self.gate: ConnectionGate | None = None  # how fast connections may come
        self._socket: socket.socket | None = None

    def bind(self, host: str, port: int) -> None:
        """Take the address, without accepting yet; port 0 takes a free one."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host or "0.0.0.0", port))
        except OSError as fault:
            sock.close()
            raise ConfigError(
                f"cannot listen on {host or '0.0.0.0'}:{port}: {fault.strerror}; "
                f"stop whatever uses the port or change `listeners` (headrace doctor finds it)"
            ) from fault
        sock.setblocking(False)
        self._socket = sock
        self.host = host
        self.port = sock.getsockname()[1]

    async def start(self, dispatcher: Dispatcher) -> None:
        """Begin to accept clients."""
        assert self._socket is not None, "bind comes first"

        def connect() -> Connection:
            reader = FrameReader(self._max_request_bytes, self._scratch)
            return Connection(self, dispatcher, reader)

        self._server = await self.loop.create_server(connect, sock=self._socket, backlog=_BACKLOG)

    def admit(self, connection: Connection) -> bool:
        """Count a new connection in, or say no."""
        host = connection.peer_host
        gate = self.gate
        if gate is not None and gate.active and not gate.admit(self.name, connection):
            return True  # it is told nothing, and closed when its time has come
        refusal = self.limits.refusal(host)
        if refusal:
            self.reporter.connections_refused += 1
            logs.SOCKET_SERVER.warning("Refused connection from %s: %s", host, refusal)
            return False
        self.limits.take(host)
        self.connections.add(connection)
        self.accepted += 1
        self.reporter.connections_accepted += 1
        return True

    def forget(self, connection: Connection) -> None:
        if connection in self.connections:
            self.connections.discard(connection)
            self.limits.give_back(connection.peer_host)

    def close_idle(self) -> int:
        """Close connections on which nothing happened for connections.max.idle.ms, and those whose
        client has taken nothing of its answers for so long.
        """
        oldest = self.loop.time() - self._max_idle_s
        idle = [c for c in self.connections if c.last_active < oldest and c.idle]
        stuck = [c for c in self.connections if c.is_stuck(oldest)]
        for connection in idle:
            connection.close()
        for connection in stuck:
            logs.SOCKET_SERVER.warning(
                "Closing connection from %s: its client took no bytes of its answers for "
                "connections.max.idle.ms=%d",
                connection.peer_host,
                self._max_idle_s * 1000,
            )
            connection.abort()
        return len(idle) + len(stuck)

    def stop_accepting(self) -> None:
        if self._server is not None:
            self._server.close()
        elif self._socket is not None:
            self._socket.close()

    async def drain(self) -> None:
        """Wait until every connection has sent what it owes."""
        for connection in tuple(self.connections):
            await connection.drained()

    def close_all(self) -> None:
        for connection in tuple(self.connections):
            connection.close()
