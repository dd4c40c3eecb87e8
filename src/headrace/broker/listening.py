"""The listeners of a broker, made from its settings."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from headrace.broker import logs
from headrace.broker.server import ConnectionLimits, Listener
from headrace.cluster.image import BrokerConfigChanged, Change
from headrace.errors import ConfigError
from headrace.runtime.descriptors import connections_within, raise_limit

if TYPE_CHECKING:
    from headrace.broker.connection_gate import ConnectionGate
    from headrace.broker.metadata import Metadata
    from headrace.broker.reporter import Reporter
    from headrace.cluster.broker_config import BrokerConfig


def bind(
    config: BrokerConfig, loop: asyncio.AbstractEventLoop, reporter: Reporter
) -> list[Listener]:
    """Take every address, without accepting yet."""
    logs.SERVER.info(
        "Brokers reach each other over %s, the controller over %s",
        config.inter_broker_listener,
        config.control_plane_listener or config.inter_broker_listener,
    )
    limits = _read_limits(config)
    limits.room = _room_for_connections(config)
    listeners: list[Listener] = []
    for wanted in config.listeners:
        if wanted.security_protocol != "PLAINTEXT":
            raise ConfigError(
                f"listener {wanted.name} asks for {wanted.security_protocol}, but this version "
                "serves PLAINTEXT only; change `listeners` or `listener.security.protocol.map`"
            )
        listener = Listener(
            wanted.name,
            loop,
            limits,
            reporter,
            max_request_bytes=config.get_int("socket.request.max.bytes"),
            max_idle_ms=config.get_int("connections.max.idle.ms"),
            max_pending=config.get_int("queued.max.requests"),
        )
        listener.bind(wanted.host, wanted.port)
        listeners.append(listener)
    return listeners


def follow_limits(
    listeners: Sequence[Listener], metadata: Metadata, gate: ConnectionGate, executor: Executor
) -> None:
    """Let the limits on connections follow the settings that may change while the broker runs."""
    for listener in listeners:
        listener.gate = gate

    async def adopt(config: BrokerConfig) -> None:
        try:
            # Names of hosts are looked up, which may take a while.
            loop = asyncio.get_running_loop()
            limits = await loop.run_in_executor(executor, _read_limits, config)
        except ConfigError as fault:
            logs.SERVER.error("The limits on connections stay as they are: %s", fault)
            return
        if config is metadata.config:
            for listener in listeners:
                listener.limits.adopt(limits)

    tasks: set[asyncio.Task[None]] = set()

    def on_changes(changes: Sequence[Change]) -> None:
        if any(isinstance(each, BrokerConfigChanged) for each in changes):
            task = asyncio.get_running_loop().create_task(adopt(metadata.config))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    metadata.watchers.append(on_changes)


def _read_limits(config: BrokerConfig) -> ConnectionLimits:
    return ConnectionLimits(
        config.get_int("max.connections"),
        config.get_int("max.connections.per.ip"),
        _per_ip_overrides(config),
    )


def bind_metrics(config: BrokerConfig) -> socket.socket | None:
    """Take the address of the metrics; None if they are not served."""
    listener = config.get_str("metrics.listener")
    if not listener:
        return None
    host, _, port = listener.rpartition(":")
    host = host.strip("[]")
    try:
        return socket.create_server(
            (host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except (OSError, OverflowError) as fault:
        raise ConfigError(
            f"cannot serve metrics on {listener}: {fault}; change `metrics.listener`, or leave it "
            "empty to do without"
        ) from None


def _room_for_connections(config: BrokerConfig) -> int:
    """How many connections the process has descriptors for, whatever max.connections allows."""
    limit = raise_limit()
    room = connections_within(limit)
    if config.is_set("max.connections") and config.get_int("max.connections") > room:
        logs.SOCKET_SERVER.warning(
            "max.connections=%d is more than %d, for which the limit of %d open files has room; "
            "raise it with ulimit -n (LimitNOFILE under systemd)",
            config.get_int("max.connections"),
            room,
            limit,
        )
    return room


def _per_ip_overrides(config: BrokerConfig) -> dict[str, int]:
    """`max.connections.per.ip.overrides`: `host:count` pairs, names resolved when it is read."""
    overrides = {}
    for entry in (config.get("max.connections.per.ip.overrides") or "").split(","):
        if not entry.strip():
            continue
        host, _, count = entry.strip().rpartition(":")
        try:
            overrides[socket.gethostbyname(host)] = int(count)
        except (OSError, ValueError) as fault:
            raise ConfigError(
                f"Invalid value {entry} for configuration max.connections.per.ip.overrides: "
                f"allowed is host:count ({fault})"
            ) from None
    return overrides
