"""The gate of new connections: how fast they may come, in all and from one address (KIP-612).

Kafka's acceptor sleeps when connections come too fast, and those behind it wait in the kernel. Here
a connection is accepted and waits unread until its turn has come; the order is the same. An address
that comes faster than its quota waits too, and is closed then. While no rate is limited the gate is
open and costs one look.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from headrace.broker.watching import logs
from headrace.cluster.client_quotas import IP, all_quotas, entity_of
from headrace.cluster.image import ConfigChanged, changes_broker_configs
from headrace.quotas.connections import UNLIMITED, ConnectionRates
from headrace.quotas.limits import CONNECTION_CREATION_RATE, Limits
from headrace.quotas.rates import QuotaWindow

if TYPE_CHECKING:
    from headrace.broker.net.connection import Connection
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.cluster.image import Change, ClusterImage
    from headrace.runtime.clock import Clock

_RATE: Final = "max.connection.creation.rate"
# Whoever would wait longer than this is turned away: its client gave up before.
_LONGEST_QUEUE_MS: Final = 30_000


class ConnectionGate:
    """See the module. `delayed` and `refused` count connections."""

    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        image: ClusterImage,
        limits: Limits,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        settings = config()
        window = QuotaWindow(
            settings.get_int("quota.window.num"),
            settings.get_int("quota.window.size.seconds") * 1000,
        )
        self.active = False
        self.delayed = 0
        self.refused = 0
        self._config = config
        self._limits = limits
        self._rates = ConnectionRates(limits, window)
        self._clock = clock
        self._loop = loop
        self._next_turn_ms: dict[str, int] = {}  # by listener
        self._names: dict[str, str] = {}  # quotas of machines by name, by their addresses
        self._resolving: set[asyncio.Task[None]] = set()
        self._refresh()
        for entity, _ in all_quotas(image):
            self._look_up(*entity[0])

    def on_changes(self, changes: Sequence[Change]) -> None:
        """Settings or quotas have changed; `limits` knows already."""
        is_concerned = changes_broker_configs(changes)
        for change in changes:
            if isinstance(change, ConfigChanged) and (entity := entity_of(change.owner)):
                self._look_up(*entity[0])
                is_concerned = True
        if is_concerned:
            self._refresh()

    def _refresh(self) -> None:
        config, rates = self._config(), self._rates
        rates.broker = config.get_int(_RATE)
        rates.listeners = {}
        for listener in config.listeners:
            key = f"listener.name.{listener.name.lower()}.{_RATE}"
            if config.is_set(key):
                rates.listeners[listener.name] = config.get_int(key)
        is_limited = rates.broker < UNLIMITED or bool(rates.listeners)
        self.active = is_limited or CONNECTION_CREATION_RATE in self._limits

    def admit(self, listener: str, connection: Connection) -> bool:
        """Let a connection in, perhaps later; False if it is not to be served at all."""
        now_ms = self._clock.monotonic_ms()
        turn_ms = max(self._next_turn_ms.get(listener, 0), now_ms)
        if turn_ms - now_ms > _LONGEST_QUEUE_MS:
            self.refused += 1
            logs.SOCKET_SERVER.warning("Too many new connections: %s", connection.peer_host)
            connection.abort()
            return False
        config = self._config()
        is_protected = listener == config.inter_broker_listener and len(config.listeners) > 1
        turn_ms += self._rates.delay_ms(listener, turn_ms, is_protected=is_protected)
        self._next_turn_ms[listener] = turn_ms
        host = connection.peer_host
        refusal_ms = self._rates.refusal_ms(self._names.get(host, host), turn_ms)
        wait_ms = turn_ms - now_ms + refusal_ms
        if refusal_ms:
            self.refused += 1
            connection.turn_away(wait_ms)
            return False
        if wait_ms:
            self.delayed += 1
            connection.mute(wait_ms)
        return True

    def _look_up(self, kind: str, name: str | None) -> None:
        """A machine with a quota may be known by its name."""
        if kind != IP or name is None:
            return
        try:
            ipaddress.ip_address(name)
        except ValueError:
            task = self._loop.create_task(self._resolve(name))
            self._resolving.add(task)
            task.add_done_callback(self._resolving.discard)

    async def _resolve(self, name: str) -> None:
        try:
            found = await self._loop.getaddrinfo(name, None, family=socket.AF_INET)
        except (OSError, UnicodeError) as fault:
            logs.SOCKET_SERVER.warning("The quota of %s has no address: %s", ascii(name), fault)
            return
        for _, _, _, _, address in found:
            self._names[str(address[0])] = name
