"""The listeners of a broker, made from its settings."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from headrace.broker.net.listener import ConnectionLimits, Listener
from headrace.broker.watching import logs
from headrace.errors import ConfigError
from headrace.runtime.descriptors import connections_within, raise_limit

if TYPE_CHECKING:
    from headrace.broker.net.reporter import Reporter
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
    limits = read_limits(config)
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


def read_limits(config: BrokerConfig) -> ConnectionLimits:
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
